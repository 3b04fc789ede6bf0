// Sparse matrix instructions: D += A * B, where of every four consecutive elements in a row of A only two are
// there, and the third operand says which.
//
// A lane holds one row of A (column of B) and consecutive elements of it: with G groups of lanes, group g has
// those from g * depth / G on. For each four of them the index register of A's lane has two numbers of 2
// bits, lowest first. Lanes that need fewer than 32 bits of indices find several sets there: abid says which
// one is used, unless cbsz is not 0, which means the first.
#include <cmath>
#include <utility>

#include "vector/lanes/families.hpp"
#include "vector/lanes/float8.hpp"
#include "vector/lanes/matrix_block.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

struct ElementF16 {
  using Value = float;
  static constexpr unsigned width = 16;
  static Value read(Arch, uint32_t bits) { return widen_half(bits); }
};
struct ElementBf16 : ElementF16 {
  static Value read(Arch, uint32_t bits) { return widen_bfloat(bits); }
};
struct ElementI8 {
  using Value = int32_t;
  static constexpr unsigned width = 8;
  static Value read(Arch, uint32_t bits) { return static_cast<int8_t>(bits); }
};
template <Float8 kind>
struct Element8 {
  using Value = float;
  static constexpr unsigned width = 8;
  static Value read(Arch arch, uint32_t bits) { return float8_values(arch, kind)[bits]; }
};
using Fp8 = Element8<Float8::fp8>;
using Bf8 = Element8<Float8::bf8>;

float add_product(float a, float b, float sum) { return std::fma(a, b, sum); }
int32_t add_product(int32_t a, int32_t b, int32_t sum) {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
}

template <unsigned size_, unsigned depth_>
struct Shape {
  static constexpr unsigned size = size_;
  static constexpr unsigned depth = depth_;  // of B; A has half of it
  static constexpr unsigned groups = lanes / size;
  static constexpr unsigned b_per_lane = depth / groups;
  static constexpr unsigned a_per_lane = b_per_lane / 2;
  static constexpr unsigned index_bits = b_per_lane;  // 4 bits for 4 elements
  static constexpr unsigned index_sets = 32 / index_bits;
};

// B by its inner dimension first, so that a row of D adds whole rows of it.
template <class S, class B>
void unpack_b(const Wave& wave, const Inst& inst, typename B::Value (*b)[S::size]) {
  const uint32_t* rows = matrix_operand(wave, inst, 1);
  for (unsigned k = 0; k < S::depth; ++k) {
    const unsigned first_lane = k / S::b_per_lane * S::size;
    for (unsigned column = 0; column < S::size; ++column) {
      const uint32_t bits = matrix_element(rows, k % S::b_per_lane, B::width, first_lane + column);
      b[k][column] = B::read(wave.arch, bits);
    }
  }
}

template <class S>
unsigned first_index_bit(const Inst& inst) {
  return inst.cbsz != 0 ? 0 : inst.abid % S::index_sets * S::index_bits % 32;
}

template <class S, class A, class B>
void multiply_sparse(Wave& wave, const Inst& inst) {
  using Value = typename A::Value;
  alignas(64) Value b[S::depth][S::size];
  alignas(64) MatrixSums<Value, S::size> sums;
  unpack_b<S, B>(wave, inst, b);
  sums.load(wave, inst.dst);
  const uint32_t* a = matrix_operand(wave, inst, 0);
  const uint32_t* indices = matrix_operand(wave, inst, 2);
  const unsigned first_bit = first_index_bit<S>(inst);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value* row = sums.at[lane % S::size];
    const unsigned first_k = lane / S::size * S::b_per_lane;
    for (unsigned e = 0; e < S::a_per_lane; ++e) {
      const uint32_t place = indices[lane] >> (first_bit + 2 * e) & 3u;
      const Value* from = b[first_k + e / 2 * 4 + place];
      const Value factor = A::read(wave.arch, matrix_element(a, e, A::width, lane));
      for (unsigned c = 0; c < S::size; ++c) {
        row[c] = add_product(factor, from[c], row[c]);
      }
    }
  }
  sums.store(wave, inst.dst);
}

template <unsigned size, unsigned depth, class A, class B = A>
constexpr Handler sparse = multiply_sparse<Shape<size, depth>, A, B>;

constexpr OpHandler sparse_ops[] = {
    {op::v_smfmac_f32_16x16x32_f16, sparse<16, 32, ElementF16>},
    {op::v_smfmac_i32_16x16x64_i8, sparse<16, 64, ElementI8>},
    {op::v_smfmac_f32_16x16x64_bf8_bf8, sparse<16, 64, Bf8, Bf8>},
    {op::v_smfmac_f32_16x16x64_bf8_fp8, sparse<16, 64, Bf8, Fp8>},
    {op::v_smfmac_f32_16x16x64_fp8_bf8, sparse<16, 64, Fp8, Bf8>},
    {op::v_smfmac_f32_16x16x64_fp8_fp8, sparse<16, 64, Fp8, Fp8>},
    {op::v_smfmac_f32_32x32x32_bf8_bf8, sparse<32, 32, Bf8, Bf8>},
    {op::v_smfmac_f32_32x32x32_bf8_fp8, sparse<32, 32, Bf8, Fp8>},
    {op::v_smfmac_f32_32x32x32_fp8_bf8, sparse<32, 32, Fp8, Bf8>},
    {op::v_smfmac_f32_32x32x32_fp8_fp8, sparse<32, 32, Fp8, Fp8>},
    // gfx950: twice as deep.
    {op::v_smfmac_f32_16x16x64_f16, sparse<16, 64, ElementF16>},
    {op::v_smfmac_f32_32x32x32_f16, sparse<32, 32, ElementF16>},
    {op::v_smfmac_f32_16x16x64_bf16, sparse<16, 64, ElementBf16>},
    {op::v_smfmac_f32_32x32x32_bf16, sparse<32, 32, ElementBf16>},
    {op::v_smfmac_i32_16x16x128_i8, sparse<16, 128, ElementI8>},
    {op::v_smfmac_i32_32x32x64_i8, sparse<32, 64, ElementI8>},
    {op::v_smfmac_f32_16x16x128_bf8_bf8, sparse<16, 128, Bf8, Bf8>},
    {op::v_smfmac_f32_16x16x128_bf8_fp8, sparse<16, 128, Bf8, Fp8>},
    {op::v_smfmac_f32_16x16x128_fp8_bf8, sparse<16, 128, Fp8, Bf8>},
    {op::v_smfmac_f32_16x16x128_fp8_fp8, sparse<16, 128, Fp8, Fp8>},
    {op::v_smfmac_f32_32x32x64_bf8_bf8, sparse<32, 64, Bf8, Bf8>},
    {op::v_smfmac_f32_32x32x64_bf8_fp8, sparse<32, 64, Bf8, Fp8>},
    {op::v_smfmac_f32_32x32x64_fp8_bf8, sparse<32, 64, Fp8, Bf8>},
    {op::v_smfmac_f32_32x32x64_fp8_fp8, sparse<32, 64, Fp8, Fp8>},
};

// Numbers that are dense instructions on gfx90a, which the dense family has put into the table before.
struct Shared {
  uint16_t op;
  Handler sparse_handler;
};
constexpr Shared shared_numbers[] = {
    {op::v_smfmac_f32_32x32x16_f16, sparse<32, 16, ElementF16>},
    {op::v_smfmac_f32_16x16x32_bf16, sparse<16, 32, ElementBf16>},
    {op::v_smfmac_f32_32x32x16_bf16, sparse<32, 16, ElementBf16>},
    {op::v_smfmac_i32_32x32x32_i8, sparse<32, 32, ElementI8>},
};
constexpr size_t shared_count = sizeof shared_numbers / sizeof shared_numbers[0];
Handler gfx90a_handlers[shared_count];

template <size_t n>
void by_target(Wave& wave, const Inst& inst) {
  (wave.arch == Arch::gfx90a ? gfx90a_handlers[n] : shared_numbers[n].sparse_handler)(wave, inst);
}
template <size_t... n>
void share(HandlerTable& table, std::index_sequence<n...>) {
  ((gfx90a_handlers[n] = table[shared_numbers[n].op]), ...);
  (table.set(shared_numbers[n].op, by_target<n>), ...);
}

}  // namespace

void add_sparse_ops(HandlerTable& table) {
  table.add(sparse_ops);
  share(table, std::make_index_sequence<shared_count>{});
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
