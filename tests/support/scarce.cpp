// Preloaded: the interposer gets only SCARCE_THREADS threads, and its thread named SCARCE_MEMORY no memory
// for anything of SCARCE_SIZE bytes or more. The program's own are as always.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

bool is_of_interposer(const void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "libktrace_preload");
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);

void* malloc(std::size_t size) {
  static const char* const poor = std::getenv("SCARCE_MEMORY");
  static const char* const least = std::getenv("SCARCE_SIZE");
  if (poor && least && size >= std::strtoul(least, nullptr, 10)) {
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    if (std::strcmp(name, poor) == 0 && is_of_interposer(__builtin_return_address(0))) return nullptr;
  }
  return __libc_malloc(size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  static const char* const most = std::getenv("SCARCE_THREADS");
  static int made = 0;
  if (most && is_of_interposer(__builtin_return_address(0)) && made++ >= std::atoi(most)) return EAGAIN;
  return create(thread, attributes, run, argument);
}

}  // extern "C"
