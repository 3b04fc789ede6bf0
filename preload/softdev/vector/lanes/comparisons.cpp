// Comparisons: one bit per lane into VCC or an SGPR pair, and for v_cmpx also into EXEC.
//
// The numbers of these instructions are regular: type in the upper bits, bit 4 for v_cmpx, predicate in the
// lower ones. The table is filled by that rule.
#include "vector/lanes/families.hpp"
#include "vector/lanes/masks.hpp"
#include "vector/lanes/real_math.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

constexpr unsigned cmpx_bit = 0x10;

// v_cmp_class is numbered unlike the rest.
bool writes_exec(uint16_t canonical_op) {
  return (canonical_op < op::v_cmp_f_f16 ? canonical_op & 1u : canonical_op & cmpx_bit) != 0;
}

void commit_mask(Wave& wave, const Inst& inst, uint64_t lane_mask, Enable enable) {
  const uint64_t mask = lane_mask & wave.exec() & enable.lanes;
  wave.set_sgpr64(inst.scalar_dst, mask);
  if (writes_exec(inst.op)) {
    wave.set_exec(mask);
  }
}

template <class A, class B, auto predicate>
void compare(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<A> a(wave, inst, 0, enable);
  const Source<B> b(wave, inst, 1, enable);
  Row row;
  KTRACE_EACH_LANE(l) { row.at[l] = as_mask(predicate(a[l], b[l])); }
  commit_mask(wave, inst, collect_mask(row), enable);
}

template <class Lane>
struct Predicates {
  static bool never(Lane, Lane) { return false; }
  static bool always(Lane, Lane) { return true; }
  static bool less(Lane a, Lane b) { return a < b; }
  static bool equal(Lane a, Lane b) { return a == b; }
  static bool less_equal(Lane a, Lane b) { return a <= b; }
  static bool greater(Lane a, Lane b) { return a > b; }
  static bool greater_equal(Lane a, Lane b) { return a >= b; }
  static bool not_equal(Lane a, Lane b) { return a != b; }  // for floats: or unordered
  // Floats only.
  static bool less_greater(Lane a, Lane b) { return (a < b) | (a > b); }
  static bool ordered(Lane a, Lane b) { return (a == a) & (b == b); }
  static bool unordered(Lane a, Lane b) { return (a != a) | (b != b); }
  static bool not_greater_equal(Lane a, Lane b) { return !(a >= b); }
  static bool not_less_greater(Lane a, Lane b) { return !less_greater(a, b); }
  static bool not_greater(Lane a, Lane b) { return !(a > b); }
  static bool not_less_equal(Lane a, Lane b) { return !(a <= b); }
  static bool not_less(Lane a, Lane b) { return !(a < b); }
};

template <class Type>
void add_float_comparisons(HandlerTable& table, unsigned first) {
  using P = Predicates<typename Type::Lane>;
  constexpr Handler by_predicate[16] = {
      compare<Type, Type, P::never>,
      compare<Type, Type, P::less>,
      compare<Type, Type, P::equal>,
      compare<Type, Type, P::less_equal>,
      compare<Type, Type, P::greater>,
      compare<Type, Type, P::less_greater>,
      compare<Type, Type, P::greater_equal>,
      compare<Type, Type, P::ordered>,
      compare<Type, Type, P::unordered>,
      compare<Type, Type, P::not_greater_equal>,
      compare<Type, Type, P::not_less_greater>,
      compare<Type, Type, P::not_greater>,
      compare<Type, Type, P::not_less_equal>,
      compare<Type, Type, P::not_equal>,
      compare<Type, Type, P::not_less>,
      compare<Type, Type, P::always>,
  };
  for (unsigned predicate = 0; predicate < 16; ++predicate) {
    table.set(static_cast<uint16_t>(first + predicate), by_predicate[predicate]);
    table.set(static_cast<uint16_t>(first + cmpx_bit + predicate), by_predicate[predicate]);
  }
}

template <class Type>
void add_integer_comparisons(HandlerTable& table, unsigned first) {
  using P = Predicates<typename Type::Lane>;
  constexpr Handler by_predicate[8] = {
      compare<Type, Type, P::never>,         compare<Type, Type, P::less>,
      compare<Type, Type, P::equal>,         compare<Type, Type, P::less_equal>,
      compare<Type, Type, P::greater>,       compare<Type, Type, P::not_equal>,
      compare<Type, Type, P::greater_equal>, compare<Type, Type, P::always>,
  };
  for (unsigned predicate = 0; predicate < 8; ++predicate) {
    table.set(static_cast<uint16_t>(first + predicate), by_predicate[predicate]);
    table.set(static_cast<uint16_t>(first + cmpx_bit + predicate), by_predicate[predicate]);
  }
}

// v_cmp_class: bit n of the second operand asks for class n. Works on bit patterns, so that MODE's flush does
// not hide denormals.
template <class Bits, unsigned fraction_bits, unsigned exponent_bits>
bool is_of_class(Bits value, uint32_t wanted) {
  constexpr Bits one = 1;
  constexpr Bits exponent_mask = (one << exponent_bits) - 1;
  const Bits exponent = value >> fraction_bits & exponent_mask;
  const Bits fraction = value & ((one << fraction_bits) - 1);
  const bool negative = (value >> (fraction_bits + exponent_bits) & 1) != 0;
  const bool quiet = (fraction >> (fraction_bits - 1)) != 0;
  unsigned bit = 0;
  if (exponent == exponent_mask) {
    bit = fraction != 0 ? (quiet ? 1 : 0) : (negative ? 2 : 9);
  } else if (exponent != 0) {
    bit = negative ? 3 : 8;
  } else if (fraction != 0) {
    bit = negative ? 4 : 7;
  } else {
    bit = negative ? 5 : 6;
  }
  return (wanted >> bit & 1u) != 0;
}

// f16 patterns need the modifiers of a half: U16 fetches them as such.
constexpr OpHandler class_comparisons[] = {
    {op::v_cmp_class_f16, compare<U16, U32, is_of_class<uint32_t, 10, 5>>},
    {op::v_cmp_class_f32, compare<U32, U32, is_of_class<uint32_t, 23, 8>>},
    {op::v_cmp_class_f64, compare<U64, U32, is_of_class<uint64_t, 52, 11>>},
    {op::v_cmpx_class_f16, compare<U16, U32, is_of_class<uint32_t, 10, 5>>},
    {op::v_cmpx_class_f32, compare<U32, U32, is_of_class<uint32_t, 23, 8>>},
    {op::v_cmpx_class_f64, compare<U64, U32, is_of_class<uint64_t, 52, 11>>},
};

}  // namespace

void add_comparisons(HandlerTable& table) {
  table.add(class_comparisons);
  add_float_comparisons<F16>(table, op::v_cmp_f_f16);
  add_float_comparisons<F32>(table, op::v_cmp_f_f32);
  add_float_comparisons<F64>(table, op::v_cmp_f_f64);
  add_integer_comparisons<I16>(table, op::v_cmp_f_i16);
  add_integer_comparisons<U16>(table, op::v_cmp_f_u16);
  add_integer_comparisons<I32>(table, op::v_cmp_f_i32);
  add_integer_comparisons<U32>(table, op::v_cmp_f_u32);
  add_integer_comparisons<I64>(table, op::v_cmp_f_i64);
  add_integer_comparisons<U64>(table, op::v_cmp_f_u64);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
