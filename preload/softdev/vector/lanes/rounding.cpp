#include "vector/lanes/rounding.hpp"

#include <cfenv>

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

int enter_rounding(uint32_t direction) {
  constexpr int host_direction[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const int before = std::fegetround();
  std::fesetround(host_direction[direction & 3u]);
  return before;
}

void leave_rounding(int before) { std::fesetround(before); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
