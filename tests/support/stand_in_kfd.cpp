// A stand-in for the kernel's GPU driver, preloaded: /dev/kfd and its folder in /sys are in STAND_IN_KFD, and
// its clock counters lie on a known line.
//
// Tick t is at STAND_IN_ORIGIN + 10 t of CLOCK_BOOTTIME, in nanoseconds. An ioctl that is not exactly this
// one ends the program.
#include <dirent.h>
#include <dlfcn.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

// As linux/kfd_ioctl.h has it, whose own includes are not everywhere.
struct kfd_ioctl_get_clock_counters_args {
  std::uint64_t gpu_clock_counter;
  std::uint64_t cpu_clock_counter;
  std::uint64_t system_clock_counter;
  std::uint64_t system_clock_freq;
  std::uint32_t gpu_id;
  std::uint32_t pad;
};
constexpr unsigned long AMDKFD_IOC_GET_CLOCK_COUNTERS = _IOWR('K', 0x05, kfd_ioctl_get_clock_counters_args);

int driver = -1;

std::string redirected(const char* path) {
  const char* root = std::getenv("STAND_IN_KFD");
  const bool is_ours = std::strcmp(path, "/dev/kfd") == 0 || std::strncmp(path, "/sys/class/kfd", 14) == 0;
  return root && is_ours ? std::string(root) + path : path;
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::uint64_t number_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u + static_cast<std::uint64_t>(time.tv_nsec);
}

int get_clock_counters(kfd_ioctl_get_clock_counters_args* counters) {
  if (counters->gpu_id != number_of("STAND_IN_GPU_ID")) return errno = EINVAL, -1;
  const std::uint64_t now = now_ns();
  counters->gpu_clock_counter = (now - number_of("STAND_IN_ORIGIN")) / 10;
  counters->system_clock_counter = now;
  counters->system_clock_freq = 1000000000;
  return 0;
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = va_arg(list, int);
  va_end(list);
  const int file = next(&open, "open")(redirected(path).c_str(), flags, mode);
  if (std::strcmp(path, "/dev/kfd") == 0) driver = file;
  return file;
}

extern "C" DIR* opendir(const char* path) { return next(&opendir, "opendir")(redirected(path).c_str()); }

extern "C" int ioctl(int file, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  if (file != driver || driver < 0) return next(&ioctl, "ioctl")(file, request, argument);
  if (request != AMDKFD_IOC_GET_CLOCK_COUNTERS) std::abort();
  return get_clock_counters(static_cast<kfd_ioctl_get_clock_counters_args*>(argument));
}
