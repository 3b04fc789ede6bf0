// Additions with carry, 64-bit multiply-add, and conditional moves: instructions with a lane mask as operand
// or result.
#include "vector/lanes/families.hpp"
#include "vector/lanes/masks.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

// The result of one lane; its carry or borrow is the top bit.
struct Sum {
  uint32_t value;
  uint32_t carry;
};

template <auto sum, bool reads_carry>
void with_carry(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U32> a(wave, inst, 0, enable);
  const Source<U32> b(wave, inst, 1, enable);
  Row carry_in{};
  if (reads_carry) {
    expand_mask(mask_operand(wave, inst), carry_in);
  }
  Target<U32> target(wave, inst, enable);
  uint32_t* const to = target.row();
  Row carry_out;
  KTRACE_EACH_LANE(l) {
    const Sum one = sum(a[l], b[l], carry_in.at[l] & 1u);
    to[l] = one.value;
    carry_out.at[l] = one.carry;
  }
  const uint64_t mask = collect_mask(carry_out) & wave.exec() & enable.lanes;
  target.commit(wave, inst, enable);
  wave.set_sgpr64(inst.scalar_dst, mask);
}

// Where the top bits of a and b differ, the bit carried into them is the opposite of the result's.
Sum add_carry(uint32_t a, uint32_t b, uint32_t carry) {
  const uint32_t value = a + b + carry;
  return {value, (a & b) | ((a | b) & ~value)};
}
Sum subtract_borrow(uint32_t a, uint32_t b, uint32_t borrow) {
  const uint32_t value = a - b - borrow;
  return {value, (~a & b) | ((~a | b) & value)};
}
Sum subtract_borrow_reversed(uint32_t a, uint32_t b, uint32_t borrow) {
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
  for_lanes<U32>(wave, inst, enable,
                 [&](unsigned l) { return (a[l] & ~chosen.at[l]) | (b[l] & chosen.at[l]); });
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
