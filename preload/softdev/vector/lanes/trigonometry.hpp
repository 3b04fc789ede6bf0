// v_trig_preop_f64: 53-bit segments of 2/pi, from which libraries reduce large angles.
#pragma once

#include <cmath>

#include "vector/lanes/real_math.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// The first 1201 fractional bits of 2/pi, most significant first, and zeroes after them.
constexpr uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};

inline uint64_t two_over_pi_bits(unsigned first) {
  constexpr unsigned words = sizeof two_over_pi / sizeof two_over_pi[0];
  const unsigned word = first / 64;
  const unsigned shift = first % 64;
  const uint64_t high = word < words ? two_over_pi[word] : 0;
  const uint64_t low = word + 1 < words ? two_over_pi[word + 1] : 0;
  return shift == 0 ? high : high << shift | low >> (64 - shift);
}

// Segment `segment` of the bits that matter for an angle with this exponent, as a double at its own scale.
inline double two_over_pi_segment(double angle, uint32_t segment) {
  const int exponent = exponent_field(angle);
  const int shift = static_cast<int>(segment & 31u) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  const uint64_t bits = two_over_pi_bits(static_cast<unsigned>(shift)) >> 11;
  const int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  return std::ldexp(static_cast<double>(bits), scale);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
