// The opcode table of this instruction set's copy of the handlers.
#include "vector/isa.hpp"
#include "vector/lanes/families.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

Handler handler_of(uint16_t canonical_op) {
  static const HandlerTable table = [] {
    HandlerTable filled;
    add_integer_ops(filled);
    add_f32_ops(filled);
    add_f64_ops(filled);
    add_f16_ops(filled);
    add_conversions(filled);
    add_divisions(filled);
    add_carry_ops(filled);
    add_lane_moves(filled);
    add_comparisons(filled);
    add_packed_ops(filled);
    add_dot_products(filled);
    add_matrix_ops(filled);
    add_sparse_ops(filled);
    add_scaled_ops(filled);
    add_scaled_conversions(filled);
    add_cube_ops(filled);
    return filled;
  }();
  return table[canonical_op];
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
