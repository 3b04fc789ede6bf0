// Dense matrix instructions: D = A * B + C, wave-wide, whatever EXEC says.
//
// In registers, element e of lane `group * size * blocks + block * size + row` is A[block][row][k] with
// k = group * per_lane + e, and B likewise by column. So for one k the values of a block lie side by side in
// one row of converted elements (a plane), and D's rows of adjacent columns lie in adjacent lanes: a
// product is a sum of outer products of contiguous vectors, without any transposition.
#include <type_traits>

#include "vector/lanes/families.hpp"
#include "vector/lanes/float8.hpp"
#include "vector/lanes/matrix_tiles.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// ---- elements

struct ElementF32 {
  using Value = float;
  using Sum = float;
  static constexpr unsigned bits = 32;
};
struct ElementF16 : ElementF32 {
  static constexpr unsigned bits = 16;
};
struct ElementBf16 : ElementF16 {};
struct ElementF64 {
  using Value = double;
  using Sum = double;
  static constexpr unsigned bits = 64;
};
struct ElementI8 {
  using Value = int32_t;
  using Sum = int32_t;
  static constexpr unsigned bits = 8;
};
template <Float8 kind>
struct ElementF8 : ElementF32 {
  static constexpr unsigned bits = 8;
};

template <class Value>
struct alignas(64) Plane {
  Value at[lanes];
};

// Converts one register (two for f64) into the planes of the elements in it.
void unpack(Arch, ElementF32, const uint32_t* from, Plane<float>* to) {
  std::memcpy(to->at, from, sizeof to->at);
}
void unpack(Arch, ElementF16, const uint32_t* from, Plane<float>* to) {
  Row high;
  KTRACE_EACH_LANE(l) { high.at[l] = from[l] >> 16; }
  widen_half_row(from, to[0].at);
  widen_half_row(high.at, to[1].at);
}
void unpack(Arch, ElementBf16, const uint32_t* from, Plane<float>* to) {
  KTRACE_EACH_LANE(l) { to[0].at[l] = widen_bfloat(from[l]); }
  KTRACE_EACH_LANE(l) { to[1].at[l] = bits_as<float>(from[l] & 0xffff0000u); }
}
void unpack(Arch, ElementF64, const uint32_t* from, Plane<double>* to) {
  KTRACE_EACH_LANE(l) { to->at[l] = bits_as<double>(from[l] | uint64_t{from[lanes + l]} << 32); }
}
void unpack(Arch, ElementI8, const uint32_t* from, Plane<int32_t>* to) {
  for (unsigned n = 0; n < 4; ++n) {
    KTRACE_EACH_LANE(l) { to[n].at[l] = static_cast<int32_t>(from[l] << (24 - 8 * n)) >> 24; }
  }
}
template <Float8 kind>
void unpack(Arch arch, ElementF8<kind>, const uint32_t* from, Plane<float>* to) {
  const float* values = float8_values(arch, kind);
  for (unsigned n = 0; n < 4; ++n) {
    for (unsigned l = 0; l < lanes; ++l) {
      to[n].at[l] = values[from[l] >> (8 * n) & 0xffu];
    }
  }
}

// ---- shapes

template <unsigned size_, unsigned depth_, unsigned blocks_>
struct Shape {
  static constexpr unsigned size = size_;    // rows of A, columns of B
  static constexpr unsigned depth = depth_;  // the inner dimension
  static constexpr unsigned blocks = blocks_;
  static constexpr unsigned groups = lanes / (size * blocks);
  static constexpr unsigned per_lane = depth / groups;
  static constexpr unsigned results = size * size * blocks / lanes;  // per lane
};

struct Place {
  unsigned item;
  unsigned lane;  // of column 0
};

// Where a row of D is.
template <class S>
Place place_32(unsigned block, unsigned row) {
  if (S::size == 32) {
    return {row / 8 * 4 + row % 4 + 16 * block, row / 4 % 2 * 32};
  }
  if (S::size == 16) {
    return {row % 4 + 4 * block, row / 4 * 16};
  }
  return {row, block * 4};
}
template <class S>
Place place_64(unsigned block, unsigned row) {
  if (S::size == 16) {
    return {row / 4, row % 4 * 16};
  }
  return {0, block * 4 + row * 16};
}

// ---- the product

// blgp moves B's lanes before the product.
unsigned moved_lane(unsigned blgp, unsigned lane) {
  switch (blgp) {
    case 1:
      return lane & 31u;
    case 2:
      return lane | 32u;
    case 3:
      return (lane + 16) & 63u;
    case 4:
    case 5:
    case 6:
    case 7:
      return (lane & 15u) + (blgp - 4) * 16;
    default:
      return lane;
  }
}

template <class Value, size_t count>
void move_lanes(unsigned blgp, Plane<Value> (&planes)[count]) {
  for (Plane<Value>& plane : planes) {
    const Plane<Value> before = plane;
    for (unsigned l = 0; l < lanes; ++l) {
      plane.at[l] = before.at[moved_lane(blgp, l)];
    }
  }
}

// In f64 instructions blgp holds the signs of A, B and C instead.
template <class Planes, class Sums>
void negate_operands(const Wave& wave, const Inst& inst, Planes& a, Planes& b, Sums& c) {
  if (inst.blgp != 0 && wave.arch == Arch::gfx90a) {
    fault(wave, inst, "blgp of f64 matrix instructions is not implemented for this target");
  }
  const auto negate = [](auto& planes) {
    for (auto& plane : planes) {
      KTRACE_EACH_LANE(l) { plane.at[l] = -plane.at[l]; }
    }
  };
  if ((inst.blgp & 1u) != 0) {
    negate(a);
  }
  if ((inst.blgp & 2u) != 0) {
    negate(b);
  }
  if ((inst.blgp & 4u) != 0) {
    negate(c);
  }
}

template <class S, class Element>
void unpack_operand(const Wave& wave, const Inst& inst, unsigned n,
                    Plane<typename Element::Value> (&planes)[S::per_lane]) {
  if (inst.src[n] < code_vgpr) {
    fault(wave, inst, "a matrix operand is not a vector register");
  }
  constexpr unsigned words_per_step = Element::bits == 64 ? 2 : 1;
  constexpr unsigned elements_per_step = Element::bits >= 32 ? 1 : 32 / Element::bits;
  const uint32_t* from = wave.vgpr(inst.src[n] - code_vgpr);
  for (unsigned e = 0; e < S::per_lane; e += elements_per_step) {
    unpack(wave.arch, Element{}, from, planes + e);
    from += words_per_step * lanes;
  }
}

// D's registers, where the product is summed up: A and B have been read, and C is there already more often
// than not.
template <class S, class Sum>
class Result32 {
 public:
  Result32(Wave& wave, const Inst& inst) : m_items(wave.vgpr(inst.dst)) {
    const unsigned code = inst.src[2];
    if (code >= code_vgpr) {
      const uint32_t* from = wave.vgpr(code - code_vgpr);
      if (from != m_items) {
        std::memmove(m_items, from, S::results * sizeof(Row));  // they may overlap
      }
      return;
    }
    const uint32_t value = read_scalar(wave, inst, code);
    for (unsigned l = 0; l < S::results * lanes; ++l) {
      m_items[l] = value;
    }
  }
  Sum* row(unsigned block, unsigned row) const {
    const Place place = place_32<S>(block, row);
    return reinterpret_cast<Sum*>(m_items + place.item * lanes + place.lane);
  }
  void store(Wave&, const Inst&) const {}

 private:
  uint32_t* const m_items;
};

// C and D of f64: pairs of registers are one row of sums meanwhile.
template <class S>
class Result64 {
 public:
  Result64(Wave& wave, const Inst& inst) {
    const unsigned code = inst.src[2];
    for (unsigned item = 0; item < S::results; ++item) {
      if (code >= code_vgpr) {
        unpack(wave.arch, ElementF64{}, wave.vgpr(code - code_vgpr + 2 * item), &m_items[item]);
      } else {
        const auto value = bits_as<double>(read_scalar64(wave, inst, code, OperandType::real));
        KTRACE_EACH_LANE(l) { m_items[item].at[l] = value; }
      }
    }
  }
  double* row(unsigned block, unsigned row) {
    const Place place = place_64<S>(block, row);
    return m_items[place.item].at + place.lane;
  }
  Plane<double> (&items())[S::results] { return m_items; }
  void store(Wave& wave, const Inst& inst) const {
    for (unsigned item = 0; item < S::results; ++item) {
      uint32_t* low = wave.vgpr(inst.dst + 2 * item);
      KTRACE_EACH_LANE(l) {
        const uint64_t bits = bits_as<uint64_t>(m_items[item].at[l]);
        low[l] = static_cast<uint32_t>(bits);
        low[lanes + l] = static_cast<uint32_t>(bits >> 32);
      }
    }
  }

 private:
  Plane<double> m_items[S::results];
};

template <class S, class Value, class Result>
void multiply_planes(const Inst& inst, const Plane<Value>* a, const Plane<Value>* b, Result& result) {
  constexpr bool wide = sizeof(Value) == 8;
  for (unsigned block = 0; block < S::blocks; ++block) {
    // cbsz: groups of 2^cbsz blocks share the A of block `abid` in the group.
    const unsigned a_block = inst.cbsz == 0 || wide ? block : (block >> inst.cbsz << inst.cbsz) + inst.abid;
    const Value* a_at[S::depth];
    const Value* b_at[S::depth];
    for (unsigned k = 0; k < S::depth; ++k) {
      const unsigned group_start = k / S::per_lane * S::size * S::blocks;
      a_at[k] = a[k % S::per_lane].at + group_start + a_block % S::blocks * S::size;
      b_at[k] = b[k % S::per_lane].at + group_start + block * S::size;
    }
    constexpr unsigned tile = row_tile<S::size>;
    for (unsigned row = 0; row < S::size; row += tile) {
      Value* rows[tile];
      for (unsigned r = 0; r < tile; ++r) {
        rows[r] = result.row(block, row + r);
      }
      if constexpr (S::size >= 16) {
        accumulate_wide<S::size, S::depth>(a_at, b_at, row, rows);
      } else {
        accumulate<S::size, S::depth>(a_at, b_at, row, rows);
      }
    }
  }
}

template <class S, class A, class B = A>
void multiply_matrices(Wave& wave, const Inst& inst) {
  using Value = typename A::Value;
  constexpr bool wide = sizeof(Value) == 8;
  Plane<Value> a[S::per_lane];
  Plane<Value> b[S::per_lane];
  unpack_operand<S, A>(wave, inst, 0, a);
  unpack_operand<S, B>(wave, inst, 1, b);
  std::conditional_t<wide, Result64<S>, Result32<S, Value>> result(wave, inst);
  if constexpr (wide) {
    negate_operands(wave, inst, a, b, result.items());
  } else if (inst.blgp != 0) {
    move_lanes(inst.blgp, b);
  }
  multiply_planes<S>(inst, a, b, result);
  result.store(wave, inst);
}

// gfx950's f8f6f4 instructions name their formats in cbsz and blgp.
template <class S>
void multiply_f8f6f4(Wave& wave, const Inst& inst) {
  if (inst.scaled) {
    fault(wave, inst, "scaled matrix instructions are not implemented");
  }
  if (inst.cbsz > 1 || inst.blgp > 1) {
    fault(wave, inst, "f6 and f4 matrix operands (cbsz %u, blgp %u) are not implemented", unsigned{inst.cbsz},
          unsigned{inst.blgp});
  }
  using Fp8 = ElementF8<Float8::fp8>;
  using Bf8 = ElementF8<Float8::bf8>;
  constexpr Handler by_format[2][2] = {{multiply_matrices<S, Fp8, Fp8>, multiply_matrices<S, Fp8, Bf8>},
                                       {multiply_matrices<S, Bf8, Fp8>, multiply_matrices<S, Bf8, Bf8>}};
  Inst plain = inst;
  plain.cbsz = 0;
  plain.blgp = 0;
  by_format[inst.cbsz][inst.blgp](wave, plain);
}

// Numbers that mean another instruction, or none, on older targets.
template <Arch first, Handler handler>
void since(Wave& wave, const Inst& inst) {
  if (wave.arch < first) {
    fault(wave, inst, "this matrix instruction is not implemented for this target");
  }
  handler(wave, inst);
}

template <Handler handler>
void gfx90a_only(Wave& wave, const Inst& inst) {
  if (wave.arch != Arch::gfx90a) {
    fault(wave, inst, "this matrix instruction is not implemented for this target");
  }
  // Decoded as the sparse instruction of later targets, the third operand is left in the plain VGPRs.
  Inst dense_inst = inst;
  const bool in_agprs = inst.dst >= code_agpr - code_vgpr;
  if (in_agprs && inst.src[2] >= code_vgpr && inst.src[2] < code_agpr) {
    dense_inst.src[2] = static_cast<uint16_t>(inst.src[2] + (code_agpr - code_vgpr));
  }
  handler(wave, dense_inst);
}
// A number that gfx950 uses anew.
template <Handler gfx90a, Handler gfx950>
void reused(Wave& wave, const Inst& inst) {
  wave.arch == Arch::gfx90a ? gfx90a(wave, inst) : since<Arch::gfx950, gfx950>(wave, inst);
}

using Fp8 = ElementF8<Float8::fp8>;
using Bf8 = ElementF8<Float8::bf8>;

template <unsigned size, unsigned depth, unsigned blocks, class A, class B = A>
constexpr Handler dense = multiply_matrices<Shape<size, depth, blocks>, A, B>;
template <unsigned size, unsigned depth, unsigned blocks, class A, class B = A>
constexpr Handler dense_gfx942 = since<Arch::gfx942, dense<size, depth, blocks, A, B>>;
template <unsigned size, unsigned depth, unsigned blocks, class A, class B = A>
constexpr Handler dense_gfx950 = since<Arch::gfx950, dense<size, depth, blocks, A, B>>;

constexpr OpHandler matrix_ops[] = {
    {op::v_mfma_f32_32x32x1_2b_f32, dense<32, 1, 2, ElementF32>},
    {op::v_mfma_f32_16x16x1_4b_f32, dense<16, 1, 4, ElementF32>},
    {op::v_mfma_f32_4x4x1_16b_f32, dense<4, 1, 16, ElementF32>},
    {op::v_mfma_f32_32x32x2_f32, dense<32, 2, 1, ElementF32>},
    {op::v_mfma_f32_16x16x4_f32, dense<16, 4, 1, ElementF32>},
    {op::v_mfma_f32_32x32x4_2b_f16, dense<32, 4, 2, ElementF16>},
    {op::v_mfma_f32_16x16x4_4b_f16, dense<16, 4, 4, ElementF16>},
    {op::v_mfma_f32_4x4x4_16b_f16, dense<4, 4, 16, ElementF16>},
    {op::v_mfma_f32_32x32x8_f16, dense<32, 8, 1, ElementF16>},
    {op::v_mfma_f32_16x16x16_f16, dense<16, 16, 1, ElementF16>},
    {op::v_mfma_f32_32x32x16_f16, reused<dense<16, 16, 1, ElementI8>, dense<32, 16, 1, ElementF16>>},
    {op::v_mfma_f32_16x16x32_f16, reused<dense<32, 8, 1, ElementI8>, dense<16, 32, 1, ElementF16>>},
    {op::v_mfma_i32_32x32x4_2b_i8, dense<32, 4, 2, ElementI8>},
    {op::v_mfma_i32_16x16x4_4b_i8, dense<16, 4, 4, ElementI8>},
    {op::v_mfma_i32_4x4x4_16b_i8, dense<4, 4, 16, ElementI8>},
    {op::v_mfma_i32_32x32x16_i8, dense_gfx942<32, 16, 1, ElementI8>},
    {op::v_mfma_i32_16x16x32_i8, dense_gfx942<16, 32, 1, ElementI8>},
    {op::v_mfma_i32_32x32x32_i8, dense_gfx950<32, 32, 1, ElementI8>},
    {op::v_mfma_i32_16x16x64_i8, dense_gfx950<16, 64, 1, ElementI8>},
    {op::v_mfma_f32_32x32x4_2b_bf16, dense_gfx942<32, 4, 2, ElementBf16>},
    {op::v_mfma_f32_16x16x4_4b_bf16, dense_gfx942<16, 4, 4, ElementBf16>},
    {op::v_mfma_f32_4x4x4_16b_bf16, dense_gfx942<4, 4, 16, ElementBf16>},
    {op::v_mfma_f32_32x32x8_bf16, dense_gfx942<32, 8, 1, ElementBf16>},
    {op::v_mfma_f32_16x16x16_bf16, dense_gfx942<16, 16, 1, ElementBf16>},
    {op::v_mfma_f32_32x32x16_bf16, dense_gfx950<32, 16, 1, ElementBf16>},
    {op::v_mfma_f32_16x16x32_bf16, dense_gfx950<16, 32, 1, ElementBf16>},
    // gfx90a's bf16, with 4 and with 2 elements per lane; sparse instructions have some of these numbers
    // later.
    {op::v_mfma_f32_32x32x4bf16_1k, gfx90a_only<dense<32, 4, 2, ElementBf16>>},
    {op::v_smfmac_f32_32x32x16_f16, gfx90a_only<dense<16, 4, 4, ElementBf16>>},
    {op::v_mfma_f32_4x4x4bf16_1k, gfx90a_only<dense<4, 4, 16, ElementBf16>>},
    {op::v_smfmac_f32_16x16x32_bf16, gfx90a_only<dense<32, 8, 1, ElementBf16>>},
    {op::v_mfma_f32_16x16x16bf16_1k, gfx90a_only<dense<16, 16, 1, ElementBf16>>},
    {op::v_smfmac_f32_32x32x16_bf16, gfx90a_only<dense<32, 2, 2, ElementBf16>>},
    {op::v_mfma_f32_16x16x2bf16, gfx90a_only<dense<16, 2, 4, ElementBf16>>},
    {op::v_mfma_f32_4x4x2bf16, gfx90a_only<dense<4, 2, 16, ElementBf16>>},
    {op::v_smfmac_i32_32x32x32_i8, gfx90a_only<dense<32, 4, 1, ElementBf16>>},
    {op::v_mfma_f32_16x16x8bf16, gfx90a_only<dense<16, 8, 1, ElementBf16>>},
    {op::v_mfma_f64_16x16x4_f64, dense<16, 4, 1, ElementF64>},
    {op::v_mfma_f64_4x4x4_4b_f64, dense<4, 4, 4, ElementF64>},
    {op::v_mfma_f32_16x16x32_bf8_bf8, dense_gfx942<16, 32, 1, Bf8, Bf8>},
    {op::v_mfma_f32_16x16x32_bf8_fp8, dense_gfx942<16, 32, 1, Bf8, Fp8>},
    {op::v_mfma_f32_16x16x32_fp8_bf8, dense_gfx942<16, 32, 1, Fp8, Bf8>},
    {op::v_mfma_f32_16x16x32_fp8_fp8, dense_gfx942<16, 32, 1, Fp8, Fp8>},
    {op::v_mfma_f32_32x32x16_bf8_bf8, dense_gfx942<32, 16, 1, Bf8, Bf8>},
    {op::v_mfma_f32_32x32x16_bf8_fp8, dense_gfx942<32, 16, 1, Bf8, Fp8>},
    {op::v_mfma_f32_32x32x16_fp8_bf8, dense_gfx942<32, 16, 1, Fp8, Bf8>},
    {op::v_mfma_f32_32x32x16_fp8_fp8, dense_gfx942<32, 16, 1, Fp8, Fp8>},
    {op::v_mfma_f32_16x16x128_f8f6f4, multiply_f8f6f4<Shape<16, 128, 1>>},
    {op::v_mfma_f32_32x32x64_f8f6f4, multiply_f8f6f4<Shape<32, 64, 1>>},
};

}  // namespace

void add_matrix_ops(HandlerTable& table) { table.add(matrix_ops); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
