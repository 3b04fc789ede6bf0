// The read-modify-write operations of memory, LDS and scalar memory.
#pragma once

#include <cstdint>

namespace ktrace::softdev {

// The opcodes of FLAT, GLOBAL and MUBUF atomics; other encodings translate theirs into these.
enum class AtomicOp : uint8_t {
  none = 0,
  swap = 64,
  cmpswap = 65,
  add = 66,
  sub = 67,
  smin = 68,
  umin = 69,
  smax = 70,
  umax = 71,
  and_ = 72,
  or_ = 73,
  xor_ = 74,
  inc = 75,
  dec = 76,
  add_f32 = 77,
  pk_add_f16 = 78,
  add_f64 = 79,
  min_f64 = 80,
  max_f64 = 81,
  pk_add_bf16 = 82,
  // The 64-bit integer forms are these + 32.
  first_x2 = 96,
  last_x2 = 108,
  // LDS only; the numbers are ours.
  rsub = 128,
  mskor = 129,
  min_f32 = 130,
  max_f32 = 131,
  cmpswap_f32 = 132,
  wrap = 133,
  rsub_x2 = 160,
  mskor_x2 = 161,
  cmpswap_f64 = 164,
};

constexpr bool is_integer_atomic(unsigned op) { return (op >= 64 && op <= 76) || (op >= 96 && op <= 108); }
constexpr bool is_atomic(unsigned op) { return is_integer_atomic(op) || (op >= 77 && op <= 82); }
constexpr bool is_compare(AtomicOp op) {
  return op == AtomicOp::cmpswap || op == static_cast<AtomicOp>(97) || op == AtomicOp::cmpswap_f32 ||
         op == AtomicOp::cmpswap_f64;
}
// Operations with a second operand: what is expected, LDS's mask, or the value that wrap adds.
constexpr bool has_compare(AtomicOp op) {
  return is_compare(op) || op == AtomicOp::mskor || op == AtomicOp::mskor_x2 || op == AtomicOp::wrap;
}
constexpr unsigned atomic_dwords(AtomicOp op) {
  const unsigned number = static_cast<unsigned>(op);
  const bool f64 = op == AtomicOp::add_f64 || op == AtomicOp::min_f64 || op == AtomicOp::max_f64;
  return f64 || (number >= 96 && number <= 108) || number >= 160 ? 2 : 1;
}

}  // namespace ktrace::softdev
