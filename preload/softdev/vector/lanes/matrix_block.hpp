// One block of a matrix product, as plain arrays: for the instructions whose operands do not lie in registers
// as those of dense products do (sparse, scaled) or are not used as they lie there (xf32).
#pragma once

#include "vector/lanes/operand.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

// The accumulator of a block of 16x16 or 32x32.
template <class Sum, unsigned size>
struct MatrixSums {
  static constexpr unsigned items = size * size / lanes;  // registers
  Sum at[size][size];

  // Row r is in register `item`, its column 0 in lane `first`.
  static constexpr unsigned item_of(unsigned row) { return size == 32 ? row / 8 * 4 + row % 4 : row % 4; }
  static constexpr unsigned first_lane(unsigned row) { return size == 32 ? row / 4 % 2 * 32 : row / 4 * 16; }

  void load(Wave& wave, unsigned reg) {
    for (unsigned row = 0; row < size; ++row) {
      std::memcpy(at[row], wave.vgpr(reg + item_of(row)) + first_lane(row), sizeof at[row]);
    }
  }
  void fill(uint32_t value) {
    for (auto& row : at) {
      for (Sum& sum : row) {
        sum = bits_as<Sum>(value);
      }
    }
  }
  void store(Wave& wave, unsigned reg) const {
    for (unsigned row = 0; row < size; ++row) {
      std::memcpy(wave.vgpr(reg + item_of(row)) + first_lane(row), at[row], sizeof at[row]);
    }
  }
};

// Element `number` of a lane, of `width` bits, in consecutive registers.
inline uint32_t matrix_element(const uint32_t* rows, unsigned number, unsigned width, unsigned lane) {
  const unsigned bit = number * width;
  const uint32_t* row = rows + size_t{bit / 32} * lanes;
  uint64_t bits = row[lane];
  if (bit % 32 + width > 32) {
    bits |= uint64_t{row[lanes + lane]} << 32;
  }
  return static_cast<uint32_t>(bits >> (bit % 32) & ((uint64_t{1} << width) - 1));
}

// The registers of a matrix operand.
inline const uint32_t* matrix_operand(const Wave& wave, const Inst& inst, unsigned n) {
  if (inst.src[n] < code_vgpr) {
    fault(wave, inst, "a matrix operand is not a vector register");
  }
  return wave.vgpr(inst.src[n] - code_vgpr);
}

// The third operand of a product that adds to anything: registers, or a constant for all elements.
template <class Sum, unsigned size>
void load_addend(Wave& wave, const Inst& inst, MatrixSums<Sum, size>& sums) {
  if (inst.src[2] >= code_vgpr) {
    sums.load(wave, inst.src[2] - code_vgpr);
  } else {
    sums.fill(read_scalar(wave, inst, inst.src[2]));
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
