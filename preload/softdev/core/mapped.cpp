#include "core/mapped.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace ktrace::softdev {

bool is_mapped(const void* pointer, size_t size) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (size == 0) {
    return true;
  }
  if (address + size < address) {
    return false;
  }
  const uintptr_t begin = address / page * page;
  // Linux only looks for holes when it is asked like this; it writes nothing back. Not by msync(), where a
  // thread can be cancelled, as it cannot in the calls that lead here.
  return syscall(SYS_msync, begin, address + size - begin, MS_ASYNC) == 0;
}

}  // namespace ktrace::softdev
