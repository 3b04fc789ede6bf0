// gfx950's f8f6f4 matrix instructions, with scales or without, and gfx942's xf32.
//
// A lane holds 32 elements of a row of A (column of B). Those of 6 and 4 bits are consecutive; of 8-bit ones,
// two runs of 16: group g of G has those from 16 g and from 16 (g + G) on. So formats can be mixed. Elements
// 32 n to 32 n + 31 of a row are multiplied with the scale that group n has for the row: a power of two, from
// one byte of a register, of which op_sel says which.
#include <cmath>
#include <limits>

#include "vector/lanes/families.hpp"
#include "vector/lanes/matrix_block.hpp"
#include "vector/lanes/small_float.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

template <unsigned size_, unsigned depth_>
struct Shape {
  static constexpr unsigned size = size_;
  static constexpr unsigned depth = depth_;
  static constexpr unsigned groups = lanes / size;
};
constexpr unsigned per_lane = 32;  // elements, and as many to a scale
constexpr unsigned run = 16;

struct LanePlace {
  unsigned group;
  unsigned element;
};
template <class S>
LanePlace place_of(SmallFloat kind, unsigned k) {
  if (format_of(kind).width < 8) {
    return {k / per_lane, k % per_lane};
  }
  constexpr unsigned span = run * S::groups;
  return {k % span / run, k / span * run + k % run};
}

// E8M0: 2^(byte - 127), or NaN.
double scale_value(uint32_t byte) {
  return byte == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : bits_as<double>(uint64_t{byte + (1023u - 127u)} << 52);
}

template <class S>
struct Scales {
  double at[S::groups][S::size];
  Scales(const Wave& wave, const Inst& inst, unsigned n) {
    const unsigned code = inst.scale_src[n];
    const uint32_t constant = code < code_vgpr ? read_scalar(wave, inst, code) : 0;
    const unsigned shift = inst.scale_op_sel[n] * 8u;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const uint32_t word = code < code_vgpr ? constant : wave.vgpr(code - code_vgpr)[lane];
      at[lane / S::size][lane % S::size] = scale_value(word >> shift & 0xffu);
    }
  }
};

// An operand by its inner dimension first.
template <class S>
void unpack_operand(const Wave& wave, const Inst& inst, unsigned n, SmallFloat kind,
                    double (*values)[S::size]) {
  const uint32_t* rows = matrix_operand(wave, inst, n);
  const float* numbers = small_values(kind);
  for (unsigned k = 0; k < S::depth; ++k) {
    const LanePlace place = place_of<S>(kind, k);
    for (unsigned row = 0; row < S::size; ++row) {
      values[k][row] =
          numbers[matrix_element(rows, place.element, format_of(kind).width, place.group * S::size + row)];
    }
  }
  if (inst.scaled) {
    const Scales<S> scales(wave, inst, n);
    for (unsigned k = 0; k < S::depth; ++k) {
      for (unsigned row = 0; row < S::size; ++row) {
        values[k][row] *= scales.at[k / per_lane][row];
      }
    }
  }
}

SmallFloat format_in(const Wave& wave, const Inst& inst, unsigned field) {
  if (field >= small_float_count) {
    fault(wave, inst, "%u is no format of a matrix operand", field);
  }
  return static_cast<SmallFloat>(field);
}

// Products are exact in double, and only their sum is rounded to float.
template <class S>
void multiply_small(Wave& wave, const Inst& inst) {
  alignas(64) double a[S::depth][S::size];
  alignas(64) double b[S::depth][S::size];
  unpack_operand<S>(wave, inst, 0, format_in(wave, inst, inst.cbsz), a);
  unpack_operand<S>(wave, inst, 1, format_in(wave, inst, inst.blgp), b);
  MatrixSums<float, S::size> sums;
  load_addend(wave, inst, sums);
  for (unsigned row = 0; row < S::size; ++row) {
    double total[S::size];
    for (unsigned c = 0; c < S::size; ++c) {
      total[c] = sums.at[row][c];
    }
    for (unsigned k = 0; k < S::depth; ++k) {
      for (unsigned c = 0; c < S::size; ++c) {
        total[c] += a[k][row] * b[k][c];
      }
    }
    for (unsigned c = 0; c < S::size; ++c) {
      sums.at[row][c] = static_cast<float>(total[c]);
    }
  }
  sums.store(wave, inst.dst);
}

// The dense family's handlers for two 8-bit operands without scales, which are faster.
Handler dense_16x16 = nullptr;
Handler dense_32x32 = nullptr;

template <class S, Handler& dense>
void multiply_f8f6f4(Wave& wave, const Inst& inst) {
  if (!inst.scaled && inst.cbsz <= 1 && inst.blgp <= 1) {
    dense(wave, inst);
  } else {
    multiply_small<S>(wave, inst);
  }
}

// ---- xf32: f32 operands of which 10 fraction bits are used

float rounded_xf32(uint32_t bits) {
  constexpr uint32_t dropped = 0x1fff;
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  return bits_as<float>(finite ? (bits + (dropped >> 1) + (bits >> 13 & 1u)) & ~dropped : bits);
}

template <unsigned size, unsigned depth>
void multiply_xf32(Wave& wave, const Inst& inst) {
  constexpr unsigned elements = 2;  // of a lane
  const uint32_t* a = matrix_operand(wave, inst, 0);
  const uint32_t* b = matrix_operand(wave, inst, 1);
  MatrixSums<float, size> sums;
  load_addend(wave, inst, sums);
  for (unsigned k = 0; k < depth; ++k) {
    const unsigned at = k % elements * lanes + k / elements * size;
    for (unsigned row = 0; row < size; ++row) {
      const float factor = rounded_xf32(a[at + row]);
      for (unsigned c = 0; c < size; ++c) {
        sums.at[row][c] = std::fma(factor, rounded_xf32(b[at + c]), sums.at[row][c]);
      }
    }
  }
  sums.store(wave, inst.dst);
}

constexpr OpHandler scaled_ops[] = {
    {op::v_mfma_f32_16x16x128_f8f6f4, multiply_f8f6f4<Shape<16, 128>, dense_16x16>},
    {op::v_mfma_f32_32x32x64_f8f6f4, multiply_f8f6f4<Shape<32, 64>, dense_32x32>},
    {op::v_mfma_f32_16x16x8_xf32, multiply_xf32<16, 8>},
    {op::v_mfma_f32_32x32x4_xf32, multiply_xf32<32, 4>},
};

}  // namespace

void add_scaled_ops(HandlerTable& table) {
  dense_16x16 = table[op::v_mfma_f32_16x16x128_f8f6f4];
  dense_32x32 = table[op::v_mfma_f32_32x32x64_f8f6f4];
  table.add(scaled_ops);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
