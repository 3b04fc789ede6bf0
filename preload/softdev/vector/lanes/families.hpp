// The families of vector instructions, each one file; together they are the opcode table.
#pragma once

#include <array>

#include "vector/lanes/execute.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

class HandlerTable {
 public:
  Handler operator[](uint16_t op) const { return op < vector_op_count ? m_handlers[op] : nullptr; }
  template <size_t count>
  void add(const OpHandler (&family)[count]) {
    for (const OpHandler& entry : family) {
      m_handlers[entry.op] = entry.handler;
    }
  }
  void set(uint16_t op, Handler handler) { m_handlers[op] = handler; }

 private:
  std::array<Handler, vector_op_count> m_handlers{};
};

void add_integer_ops(HandlerTable& table);
void add_f32_ops(HandlerTable& table);
void add_f64_ops(HandlerTable& table);
void add_f16_ops(HandlerTable& table);
void add_conversions(HandlerTable& table);
void add_divisions(HandlerTable& table);
void add_carry_ops(HandlerTable& table);
void add_lane_moves(HandlerTable& table);
void add_comparisons(HandlerTable& table);
void add_packed_ops(HandlerTable& table);
void add_dot_products(HandlerTable& table);
void add_matrix_ops(HandlerTable& table);
// After add_matrix_ops: they take over some of its numbers.
void add_sparse_ops(HandlerTable& table);
void add_scaled_ops(HandlerTable& table);
void add_scaled_conversions(HandlerTable& table);
void add_cube_ops(HandlerTable& table);

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
