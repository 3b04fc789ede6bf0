// The rarer LDS instructions: exchanges of two values, the conditional exchange, and what is addressed by M0.
#include <cstring>

#include "memory/lanes/lds.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

// Copied, because a result may overwrite its own address or data registers.
struct Rows {
  uint32_t at[4][lanes];
  Rows(const Wave& wave, unsigned reg, unsigned count) {
    std::memcpy(at, wave.vgpr(reg), count * sizeof at[0]);
  }
};

template <unsigned dwords>
uint64_t exchanged(uint8_t* memory, const Rows& rows, unsigned lane) {
  uint64_t old = 0;
  std::memcpy(&old, memory, dwords * 4);
  const uint64_t data = lane_value(rows.at[0], lane, dwords);
  std::memcpy(memory, &data, dwords * 4);
  return old;
}

// ds_wrxchg2*: offsets in units of the element, or of 64 elements.
template <unsigned dwords, unsigned unit>
void exchange_two(Wave& wave, const Inst& inst) {
  const Rows addresses(wave, inst.vaddr, 1);
  const Rows first(wave, inst.vdata, dwords);
  const Rows second(wave, inst.vdata2, dwords);
  const auto offsets = lds_offset(inst);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = addresses.at[0][lane];
    uint8_t* one = lds_memory(wave, inst, base + (offsets & 255) * unit, dwords * 4, lane);
    uint8_t* two = lds_memory(wave, inst, base + (offsets >> 8) * unit, dwords * 4, lane);
    set_lane_value(wave.vgpr(inst.dst), lane, dwords, exchanged<dwords>(one, first, lane));
    set_lane_value(wave.vgpr(inst.dst + dwords), lane, dwords, exchanged<dwords>(two, second, lane));
  });
  finish_lds(wave, wave.exec() ? 2 * lds_conflicts(wave, {addresses.at[0], dwords, true}) : 0);
}

// Each of two neighbouring dwords is written, without its top bit, if the data's top bit is set.
void exchange_conditionally(Wave& wave, const Inst& inst) {
  constexpr uint32_t condition = 0x80000000u;
  const Rows addresses(wave, inst.vaddr, 1);
  const Rows data(wave, inst.vdata, 2);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = (addresses.at[0][lane] + lds_offset(inst)) & 0xfff8u;
    uint8_t* memory = lds_memory(wave, inst, base, 8, lane);
    for (unsigned k = 0; k < 2; ++k) {
      std::memcpy(&wave.vgpr(inst.dst + k)[lane], memory + 4 * k, 4);
      if (const uint32_t value = data.at[k][lane]; (value & condition) != 0) {
        const uint32_t kept = value & ~condition;
        std::memcpy(memory + 4 * k, &kept, 4);
      }
    }
  });
  finish_lds(wave, wave.exec() ? lds_conflicts(wave, {addresses.at[0], 2, true}) : 0);
}

// Addressed by M0 and the lane's number.
void read_add_thread(Wave& wave, const Inst& inst) {
  uint32_t* rows = wave.vgpr(inst.dst);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = (wave.sgpr[code_m0] & 0xffff) + lane * 4;
    std::memcpy(&rows[lane], lds_memory(wave, inst, base + lds_offset(inst), 4, lane), 4);
  });
  finish_lds(wave);
}

void write_add_thread(Wave& wave, const Inst& inst) {
  const uint32_t* rows = wave.vgpr(inst.vdata);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = (wave.sgpr[code_m0] & 0xffff) + lane * 4;
    std::memcpy(lds_memory(wave, inst, base + lds_offset(inst), 4, lane), &rows[lane], 4);
  });
  finish_lds(wave);
}

// ds_append, ds_consume: one counter for the wave, addressed by M0, moved by the number of active lanes.
template <int direction>
void append(Wave& wave, const Inst& inst) {
  uint8_t* memory = lds_memory(wave, inst, (wave.sgpr[code_m0] & 0xffff) + lds_offset(inst), 4, 0);
  uint32_t old;
  std::memcpy(&old, memory, sizeof old);
  const auto active = static_cast<uint32_t>(__builtin_popcountll(wave.exec()));
  const uint32_t next = direction > 0 ? old + active : old - active;
  std::memcpy(memory, &next, sizeof next);
  uint32_t* rows = wave.vgpr(inst.dst);
  for_each_lane(wave.exec(), [&](unsigned lane) { rows[lane] = old; });
  finish_lds(wave);
}

}  // namespace

Handler lds_exchange_handler(uint16_t op) {
  switch (op) {
    case 46:
      return exchange_two<1, 4>;
    case 47:
      return exchange_two<1, 256>;
    case 110:
      return exchange_two<2, 8>;
    case 111:
      return exchange_two<2, 512>;
    case 126:
      return exchange_conditionally;
    case 29:
      return write_add_thread;
    case 182:
      return read_add_thread;
    case 189:
      return append<-1>;
    case 190:
      return append<1>;
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
