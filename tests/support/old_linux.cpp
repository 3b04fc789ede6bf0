// Linux before 6.11, for whoever is started with this preloaded: PROCMAP_QUERY is no request that it knows.
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

namespace {

unsigned long refused = 0;

bool is_query(unsigned long request) {
  constexpr unsigned long type_and_number = 'f' << 8 | 17;
  return (request & 0xffff) == type_and_number;
}

}  // namespace

extern "C" int ioctl(int file, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (is_query(request)) {
    ++refused;
    errno = ENOTTY;
    return -1;
  }
  using Ioctl = int (*)(int, unsigned long, ...);
  static const auto original = reinterpret_cast<Ioctl>(dlsym(RTLD_NEXT, "ioctl"));
  return original(file, request, argument);
}

__attribute__((destructor)) static void tell() { fprintf(stderr, "queries refused: %lu\n", refused); }
