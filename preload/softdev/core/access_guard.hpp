// What happens if memory that a kernel may access goes away while it runs: another thread of the program may
// unmap it at any time.
#pragma once

#include <cstdint>
#include <functional>

namespace ktrace::softdev {

class AddressSpace;

// While there is one, faults of accesses are asked about. What runs under it begins faster.
class AccessGuard {
 public:
  AccessGuard();
  ~AccessGuard();
  AccessGuard(const AccessGuard&) = delete;
  AccessGuard& operator=(const AccessGuard&) = delete;
};

// Does the work. False if it was broken off by an access to memory that `memory` has met and that is not
// there any more, at `address`. The work's frames are left without their destructors: what accesses the
// kernel's memory owns nothing. Every other fault goes to whoever handled it before.
bool run_guarded(const AddressSpace& memory, const std::function<void()>& work, uint64_t& address);

}  // namespace ktrace::softdev
