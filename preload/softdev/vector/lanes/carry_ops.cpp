// Additions with carry, 64-bit multiply-add, and conditional moves: instructions with a lane mask as operand
// or result.
#include "vector/lanes/families.hpp"
#include "vector/lanes/masks.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// `sum` returns the 33-bit result of one lane: value, and carry or borrow in the bits above.
template <auto sum, bool reads_carry>
void with_carry(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U32> a(wave, inst, 0, enable);
  const Source<U32> b(wave, inst, 1, enable);
  Row carry_in{};
  if (reads_carry) {
    expand_mask(mask_operand(wave, inst), carry_in);
  }
  Result<U32> result;
  Row carry_out;
  KTRACE_EACH_LANE(l) {
    const uint64_t wide = sum(a[l], b[l], carry_in.at[l] & 1u);
    result.set(l, static_cast<uint32_t>(wide));
    carry_out.at[l] = static_cast<uint32_t>(wide >> 32);
  }
  const uint64_t mask = collect_mask(carry_out) & wave.exec() & enable.lanes;
  result.commit(wave, inst, enable);
  wave.set_sgpr64(inst.scalar_dst, mask);
}

// The upper half is all ones exactly if there is a carry or borrow.
uint64_t add_carry(uint32_t a, uint32_t b, uint32_t carry) {
  const uint64_t wide = uint64_t{a} + b + carry;
  return (wide & 0xffffffffu) | (0 - (wide >> 32)) << 32;
}
uint64_t subtract_borrow(uint32_t a, uint32_t b, uint32_t borrow) { return uint64_t{a} - b - borrow; }
uint64_t subtract_borrow_reversed(uint32_t a, uint32_t b, uint32_t borrow) {
  return subtract_borrow(b, a, borrow);
}

void multiply_add_u64(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U32> a(wave, inst, 0, enable);
  const Source<U32> b(wave, inst, 1, enable);
  const Source<U64> c(wave, inst, 2, enable);
  Result<U64> result;
  Row carry;
  KTRACE_EACH_LANE(l) {
    const uint64_t sum = uint64_t{a[l]} * b[l] + c[l];
    result.set(l, sum);
    // The carry out of the top bit, from the operands' and the sum's.
    const uint64_t product = uint64_t{a[l]} * b[l];
    carry.at[l] = static_cast<uint32_t>(((product & c[l]) | ((product | c[l]) & ~sum)) >> 32);
  }
  result.commit(wave, inst, enable);
  wave.set_sgpr64(inst.scalar_dst, collect_mask(carry) & wave.exec());
}

// The carry is bit 64 of the 65-bit signed sum.
void multiply_add_i64(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<I32> a(wave, inst, 0, enable);
  const Source<I32> b(wave, inst, 1, enable);
  const Source<I64> c(wave, inst, 2, enable);
  Result<I64> result;
  uint64_t carry = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    const int64_t product = int64_t{a[l]} * b[l];
    int64_t sum = 0;
    const bool overflowed = __builtin_add_overflow(product, c[l], &sum);
    result.set(l, sum);
    carry |= uint64_t{(sum < 0) != overflowed} << l;
  }
  result.commit(wave, inst, enable);
  wave.set_sgpr64(inst.scalar_dst, carry & wave.exec());
}

void conditional_move(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U32> a(wave, inst, 0, enable);
  const Source<U32> b(wave, inst, 1, enable);
  Row chosen;
  expand_mask(mask_operand(wave, inst), chosen);
  Result<U32> result;
  KTRACE_EACH_LANE(l) { result.set(l, (a[l] & ~chosen.at[l]) | (b[l] & chosen.at[l])); }
  result.commit(wave, inst, enable);
}

constexpr OpHandler carry_ops[] = {
    {op::v_cndmask_b32, conditional_move},
    {op::v_add_co_u32, with_carry<add_carry, false>},
    {op::v_sub_co_u32, with_carry<subtract_borrow, false>},
    {op::v_subrev_co_u32, with_carry<subtract_borrow_reversed, false>},
    {op::v_addc_co_u32, with_carry<add_carry, true>},
    {op::v_subb_co_u32, with_carry<subtract_borrow, true>},
    {op::v_subbrev_co_u32, with_carry<subtract_borrow_reversed, true>},
    {op::v_mad_u64_u32, multiply_add_u64},
    {op::v_mad_i64_i32, multiply_add_i64},
};

}  // namespace

void add_carry_ops(HandlerTable& table) { table.add(carry_ops); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
