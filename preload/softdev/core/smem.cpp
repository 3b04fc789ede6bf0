// Scalar memory: loads, stores, atomics, clocks.
#include <cstring>

#include "core/dispatch.hpp"
#include "memory/copies.hpp"

namespace ktrace::softdev {

namespace {

// Scalar memory works on dwords; the low two bits of an address are ignored.
constexpr uint64_t dword_mask = ~uint64_t{3};

// Immediate plus SGPR. Never wraps: the sum of a 21-bit and a 32-bit number.
int64_t offset_of(const Wave& wave, const Inst& inst) {
  return int64_t{inst.imm} + (inst.soffset_en ? int64_t{read_scalar(wave, inst, inst.soffset)} : 0);
}

uint64_t plain_address(const Wave& wave, const Inst& inst) {
  return (wave.sgpr64(inst.saddr) + static_cast<uint64_t>(offset_of(wave, inst))) & dword_mask;
}

// A buffer descriptor as scalar memory reads it: base and size; stride only scales the number of records.
struct ScalarBuffer {
  ScalarBuffer(const Wave& wave, const Inst& inst)
      : base(wave.sgpr64(inst.saddr) & 0xffffffffffffu),
        offset(static_cast<uint64_t>(offset_of(wave, inst)) & dword_mask) {
    const uint32_t stride = wave.sgpr[inst.saddr + 1u] >> 16 & 0x3fff;
    const uint64_t records = wave.sgpr[inst.saddr + 2u];
    size = stride ? records * stride : records;
  }
  uint64_t base;
  uint64_t offset;  // negative ones are huge, so out of range
  uint64_t size;
  // Each dword is checked for itself: what fits of a wide access is performed.
  uint64_t dwords_inside() const { return offset >= size ? 0 : (size - offset) / 4; }
};

template <unsigned dwords>
void load(Wave& wave, const Inst& inst) {
  const uint64_t address = plain_address(wave, inst);
  std::memcpy(&wave.sgpr[inst.dst], host_address(wave, inst, address, dwords * 4, false, -1), dwords * 4);
  finish_scalar_access(wave, address, dwords * 4, Traffic::load);
}

template <unsigned dwords>
void store(Wave& wave, const Inst& inst) {
  const uint64_t address = plain_address(wave, inst);
  std::memcpy(host_address(wave, inst, address, dwords * 4, true, -1), &wave.sgpr[inst.dst], dwords * 4);
  finish_scalar_access(wave, address, dwords * 4, Traffic::store);
}

template <unsigned dwords>
void buffer_load(Wave& wave, const Inst& inst) {
  const ScalarBuffer buffer(wave, inst);
  uint32_t values[dwords] = {};
  const uint64_t inside = buffer.dwords_inside();
  if (inside) {
    const uint64_t size = (inside < dwords ? inside : dwords) * 4;
    std::memcpy(values, host_address(wave, inst, buffer.base + buffer.offset, size, false, -1), size);
  }
  std::memcpy(&wave.sgpr[inst.dst], values, sizeof values);
  finish_scalar_access(wave, buffer.base + buffer.offset, dwords * 4, Traffic::load);
}

template <unsigned dwords>
void buffer_store(Wave& wave, const Inst& inst) {
  const ScalarBuffer buffer(wave, inst);
  const uint64_t inside = buffer.dwords_inside();
  if (inside) {
    const uint64_t size = (inside < dwords ? inside : dwords) * 4;
    std::memcpy(host_address(wave, inst, buffer.base + buffer.offset, size, true, -1), &wave.sgpr[inst.dst],
                size);
  }
  finish_scalar_access(wave, buffer.base + buffer.offset, dwords * 4, Traffic::store);
}

void atomic_at(Wave& wave, const Inst& inst, AtomicOp op, uint64_t address) {
  const unsigned dwords = atomic_dwords(op);
  uint8_t* memory = host_address(wave, inst, address, dwords * 4, true, -1);
  const unsigned reg = inst.dst;
  const uint64_t data = dwords == 2 ? wave.sgpr64(reg) : wave.sgpr[reg];
  const uint64_t compare = !is_compare(op) ? 0 : dwords == 2 ? wave.sgpr64(reg + 2) : wave.sgpr[reg + 1];
  const uint64_t old = baseline::perform_atomic(op, memory, data, compare);
  if (inst.returns) {
    wave.sgpr[reg] = static_cast<uint32_t>(old);
    if (dwords == 2) {
      wave.sgpr[reg + 1] = static_cast<uint32_t>(old >> 32);
    }
  }
  finish_scalar_access(wave, address, dwords * 4, Traffic::atomic);
}

void plain_atomic(Wave& wave, const Inst& inst) {
  atomic_at(wave, inst, static_cast<AtomicOp>(inst.op - 64), plain_address(wave, inst));
}

void buffer_atomic(Wave& wave, const Inst& inst) {
  const auto op = static_cast<AtomicOp>(inst.op);
  const ScalarBuffer buffer(wave, inst);
  if (buffer.dwords_inside() >= atomic_dwords(op)) {
    atomic_at(wave, inst, op, buffer.base + buffer.offset);
    return;
  }
  if (inst.returns) {
    wave.sgpr[inst.dst] = 0;
  }
  finish_scalar(wave, clock_model::atomic_latency);
}

void read_core_clock(Wave& wave, const Inst& inst) {
  wave.set_sgpr64(inst.dst, wave.time);
  finish_scalar(wave, clock_model::clock_latency);
}

void read_realtime_clock(Wave& wave, const Inst& inst) {
  wave.set_sgpr64(inst.dst, wave.time / cycles_per_realtime_tick);
  finish_scalar(wave, clock_model::clock_latency);
}

// Caches do not exist here, so there is nothing to write back, but it counts as an outstanding operation.
void cache_control(Wave& wave, const Inst&) { finish_scalar(wave, clock_model::store_latency); }

struct Row {
  Handler handler;
  unsigned dwords;
};

Row row_of(uint16_t op) {
  switch (op) {
    case 0:
      return {load<1>, 1};
    case 1:
      return {load<2>, 2};
    case 2:
      return {load<4>, 4};
    case 3:
      return {load<8>, 8};
    case 4:
      return {load<16>, 16};
    case 8:
      return {buffer_load<1>, 1};
    case 9:
      return {buffer_load<2>, 2};
    case 10:
      return {buffer_load<4>, 4};
    case 11:
      return {buffer_load<8>, 8};
    case 12:
      return {buffer_load<16>, 16};
    case 16:
      return {store<1>, 1};
    case 17:
      return {store<2>, 2};
    case 18:
      return {store<4>, 4};
    case 24:
      return {buffer_store<1>, 1};
    case 25:
      return {buffer_store<2>, 2};
    case 26:
      return {buffer_store<4>, 4};
    case 32:
    case 33:
    case 34:
    case 35:
    case 38:  // s_atc_probe*: an address to be translated ahead of its use
    case 39:
      return {cache_control, 0};
    case 36:
      return {read_core_clock, 2};
    case 37:
      return {read_realtime_clock, 2};
    default:
      break;
  }
  if (is_integer_atomic(op)) {
    return {buffer_atomic, 4};
  }
  if (op >= 128 && is_integer_atomic(op - 64u)) {
    return {plain_atomic, 4};
  }
  return {nullptr, 0};
}

}  // namespace

Handler smem_handler(const Inst& inst) {
  const Row row = row_of(inst.op);
  // A group of registers that would run past the last one is no valid instruction.
  return inst.dst + row.dwords <= 128 && inst.saddr <= 124 ? row.handler : nullptr;
}

}  // namespace ktrace::softdev
