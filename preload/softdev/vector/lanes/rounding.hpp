// MODE's rounding direction. Host arithmetic follows the host's own control register, so an instruction
// under a direction other than nearest sets that register for as long as it computes.
#pragma once

#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

template <class Result>
constexpr uint32_t rounding_mask = 0;
template <>
inline constexpr uint32_t rounding_mask<F32> = mode_round_f32;
template <>
inline constexpr uint32_t rounding_mask<F16> = mode_round_f64_f16;
template <>
inline constexpr uint32_t rounding_mask<F64> = mode_round_f64_f16;

// Out of line: the compiler then cannot move arithmetic across them.
int enter_rounding(uint32_t direction);  // returns what to leave with
void leave_rounding(int before);

template <class Result>
class RoundingScope {
 public:
  explicit RoundingScope(const Wave& wave) : m_direction(wave.mode & rounding_mask<Result>) {
    if (__builtin_expect(m_direction != 0, 0)) {
      m_before = enter_rounding(m_direction > 3 ? m_direction >> 2 : m_direction);
    }
  }
  ~RoundingScope() {
    if (__builtin_expect(m_direction != 0, 0)) {
      leave_rounding(m_before);
    }
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  const uint32_t m_direction;
  int m_before = 0;
};

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
