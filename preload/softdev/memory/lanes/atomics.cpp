// Read-modify-write operations: one function for every width and place.
#include "memory/lanes/atomics.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/half_float.hpp"
#include "memory/lanes/chunk.hpp"
#include "memory/lanes/rows.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

uint16_t to_bfloat(float value) {
  const uint32_t pattern = bits_as<uint32_t>(value);
  if (std::isnan(value)) {
    return static_cast<uint16_t>(pattern >> 16 | 0x40);
  }
  return static_cast<uint16_t>((pattern + 0x7fff + (pattern >> 16 & 1)) >> 16);
}

uint16_t add_half(uint32_t a, uint32_t b) {
  return half_from_real(double{float_from_half(static_cast<uint16_t>(a))} +
                        float_from_half(static_cast<uint16_t>(b)));
}
uint16_t add_bfloat(uint32_t a, uint32_t b) {
  return to_bfloat(bits_as<float>(a << 16) + bits_as<float>(b << 16));
}

template <typename T, typename Signed>
[[gnu::always_inline]] inline T integer_result(unsigned op, T old, T data, T compare) {
  const auto old_signed = static_cast<Signed>(old), data_signed = static_cast<Signed>(data);
  switch (static_cast<AtomicOp>(op)) {
    case AtomicOp::swap:
      return data;
    case AtomicOp::cmpswap:
      return old == compare ? data : old;
    case AtomicOp::add:
      return old + data;
    case AtomicOp::sub:
      return old - data;
    case AtomicOp::smin:
      return old_signed < data_signed ? old : data;
    case AtomicOp::umin:
      return old < data ? old : data;
    case AtomicOp::smax:
      return old_signed > data_signed ? old : data;
    case AtomicOp::umax:
      return old > data ? old : data;
    case AtomicOp::and_:
      return old & data;
    case AtomicOp::or_:
      return old | data;
    case AtomicOp::xor_:
      return old ^ data;
    case AtomicOp::inc:
      return old >= data ? 0 : old + 1;
    case AtomicOp::dec:
      return old == 0 || old > data ? data : old - 1;
    case AtomicOp::rsub:
      return data - old;
    case AtomicOp::mskor:
      return (old & ~compare) | data;
    case AtomicOp::wrap:
      return old >= data ? old - data : old + compare;
    default:
      return old;
  }
}

[[gnu::always_inline]] inline uint32_t result32(AtomicOp op, uint32_t old, uint32_t data, uint32_t compare) {
  const float a = bits_as<float>(old), b = bits_as<float>(data);
  switch (op) {
    case AtomicOp::add_f32:
      return bits_as<uint32_t>(a + b);
    case AtomicOp::min_f32:
      return bits_as<uint32_t>(std::fmin(a, b));
    case AtomicOp::max_f32:
      return bits_as<uint32_t>(std::fmax(a, b));
    case AtomicOp::cmpswap_f32:
      return a == bits_as<float>(compare) ? data : old;
    case AtomicOp::pk_add_f16:
      return add_half(old, data) | uint32_t{add_half(old >> 16, data >> 16)} << 16;
    case AtomicOp::pk_add_bf16:
      return add_bfloat(old, data) | uint32_t{add_bfloat(old >> 16, data >> 16)} << 16;
    default:
      return integer_result<uint32_t, int32_t>(static_cast<unsigned>(op), old, data, compare);
  }
}

[[gnu::always_inline]] inline uint64_t result64(AtomicOp op, uint64_t old, uint64_t data, uint64_t compare) {
  const double a = bits_as<double>(old), b = bits_as<double>(data);
  switch (op) {
    case AtomicOp::add_f64:
      return bits_as<uint64_t>(a + b);
    case AtomicOp::min_f64:
      return bits_as<uint64_t>(std::fmin(a, b));
    case AtomicOp::max_f64:
      return bits_as<uint64_t>(std::fmax(a, b));
    case AtomicOp::cmpswap_f64:
      return a == bits_as<double>(compare) ? data : old;
    default:
      return integer_result<uint64_t, int64_t>(static_cast<unsigned>(op) - 32, old, data, compare);
  }
}

[[gnu::always_inline]] inline uint32_t perform32(AtomicOp op, uint8_t* memory, uint32_t data,
                                                 uint32_t compare) {
  uint32_t old;
  std::memcpy(&old, memory, sizeof old);
  const uint32_t result = result32(op, old, data, compare);
  std::memcpy(memory, &result, sizeof result);
  return old;
}

[[gnu::always_inline]] inline uint64_t perform64(AtomicOp op, uint8_t* memory, uint64_t data,
                                                 uint64_t compare) {
  uint64_t old;
  std::memcpy(&old, memory, sizeof old);
  const uint64_t result = result64(op, old, data, compare);
  std::memcpy(memory, &result, sizeof result);
  return old;
}

uint64_t pair_of(const uint32_t* rows, unsigned lane) {
  return rows[lane] | uint64_t{rows[lanes + lane]} << 32;
}

// With the operation known, its loop has no switch in it.
template <unsigned number, bool returns>
void perform_lanes(const AtomicRows& given, const uint64_t* addresses) {
  constexpr auto op = static_cast<AtomicOp>(number);
  const AtomicRows rows = given;  // which the compiler knows that no lane writes to
  for_each_lane(rows.exec, [&](unsigned lane) {
    auto* memory = reinterpret_cast<uint8_t*>(addresses[lane]);
    if constexpr (atomic_dwords(op) == 1) {
      const uint32_t old = perform32(op, memory, rows.data[lane], has_compare(op) ? rows.compare[lane] : 0);
      if constexpr (returns) {
        rows.result[lane] = old;
      }
    } else {
      const uint64_t compare = has_compare(op) ? pair_of(rows.compare, lane) : 0;
      const uint64_t old = perform64(op, memory, pair_of(rows.data, lane), compare);
      if constexpr (returns) {
        rows.result[lane] = static_cast<uint32_t>(old);
        rows.result[lanes + lane] = static_cast<uint32_t>(old >> 32);
      }
    }
  });
}

template <unsigned number>
void perform_either(const AtomicRows& rows, const uint64_t* addresses) {
  if (rows.result) {
    perform_lanes<number, true>(rows, addresses);
  } else {
    perform_lanes<number, false>(rows, addresses);
  }
}

constexpr bool may_run(AtomicOp op) {
  switch (op) {
    case AtomicOp::min_f32:
    case AtomicOp::max_f32:
    case AtomicOp::cmpswap_f32:
    case AtomicOp::pk_add_f16:
    case AtomicOp::pk_add_bf16:
      return false;
    default:
      return atomic_dwords(op) == 1;
  }
}

// Which of two NaNs a sum becomes is up to the compiler: it shall be the lanes' own code.
bool any_two_nans(const Row& old, const uint32_t* data) {
  uint32_t both = 0;
  KTRACE_EACH_LANE(lane) {
    const float a = bits_as<float>(old.at[lane]), b = bits_as<float>(data[lane]);
    both |= static_cast<uint32_t>((a != a) & (b != b));
  }
  return both != 0;
}

template <unsigned number>
bool perform_run(const AtomicRows& rows, uint8_t* memory) {
  constexpr auto op = static_cast<AtomicOp>(number);
  if constexpr (!may_run(op)) {
    return false;
  } else {
    Row old, result;
    std::memcpy(&old, memory, sizeof old);
    if (op == AtomicOp::add_f32 && any_two_nans(old, rows.data)) {
      return false;
    }
    KTRACE_EACH_LANE(lane) {
      result.at[lane] = result32(op, old.at[lane], rows.data[lane], has_compare(op) ? rows.compare[lane] : 0);
    }
    std::memcpy(memory, &result, sizeof result);
    if (rows.result) {
      std::memcpy(rows.result, &old, sizeof old);
    }
    return true;
  }
}

using PerformLanes = void (*)(const AtomicRows&, const uint64_t*);
using PerformRun = bool (*)(const AtomicRows&, uint8_t*);
constexpr unsigned first_op = 64, last_op = 164;

template <size_t... numbers>
constexpr std::array<PerformLanes, sizeof...(numbers)> lanes_table(std::index_sequence<numbers...>) {
  return {perform_either<first_op + numbers>...};
}
template <size_t... numbers>
constexpr std::array<PerformRun, sizeof...(numbers)> runs_table(std::index_sequence<numbers...>) {
  return {perform_run<first_op + numbers>...};
}
constexpr auto lanes_by_op = lanes_table(std::make_index_sequence<last_op - first_op + 1>());
constexpr auto run_by_op = runs_table(std::make_index_sequence<last_op - first_op + 1>());

}  // namespace

uint64_t perform_atomic(AtomicOp op, uint8_t* memory, uint64_t data, uint64_t compare) {
  if (atomic_dwords(op) == 1) {
    return perform32(op, memory, static_cast<uint32_t>(data), static_cast<uint32_t>(compare));
  }
  return perform64(op, memory, data, compare);
}

void perform_atomics(AtomicOp op, const AtomicRows& rows, const uint64_t* addresses) {
  lanes_by_op[static_cast<unsigned>(op) - first_op](rows, addresses);
}

bool perform_atomic_run(AtomicOp op, const AtomicRows& rows, uint8_t* memory) {
  return run_by_op[static_cast<unsigned>(op) - first_op](rows, memory);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
