// The rarer LDS instructions: exchanges of two values, the conditional exchange, and the transposing read of
// 6-bit elements.
#include <cstring>

#include "core/dispatch.hpp"
#include "core/lane_memory.hpp"
#include "core/lds_memory.hpp"

namespace ktrace::softdev {

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
  const auto offsets = static_cast<uint32_t>(inst.imm);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = addresses.at[0][lane];
    uint8_t* one = lds_memory(wave, inst, base + (offsets & 255) * unit, dwords * 4, lane);
    uint8_t* two = lds_memory(wave, inst, base + (offsets >> 8) * unit, dwords * 4, lane);
    set_lane_value(wave.vgpr(inst.dst), lane, dwords, exchanged<dwords>(one, first, lane));
    set_lane_value(wave.vgpr(inst.dst + dwords), lane, dwords, exchanged<dwords>(two, second, lane));
  });
  finish_lds(wave, {addresses.at[0], dwords, 2, true});
}

// Each of two neighbouring dwords is written, without its top bit, if the data's top bit is set.
void exchange_conditionally(Wave& wave, const Inst& inst) {
  constexpr uint32_t condition = 0x80000000u;
  const Rows addresses(wave, inst.vaddr, 1);
  const Rows data(wave, inst.vdata, 2);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = (addresses.at[0][lane] + static_cast<uint32_t>(inst.imm)) & 0xfff8u;
    uint8_t* memory = lds_memory(wave, inst, base, 8, lane);
    for (unsigned k = 0; k < 2; ++k) {
      std::memcpy(&wave.vgpr(inst.dst + k)[lane], memory + 4 * k, 4);
      if (const uint32_t value = data.at[k][lane]; (value & condition) != 0) {
        const uint32_t kept = value & ~condition;
        std::memcpy(memory + 4 * k, &kept, 4);
      }
    }
  });
  finish_lds(wave, {addresses.at[0], 2, 1, true});
}

// In each group of 16 lanes, every lane reads 16 elements of 6 bits, and gets one of each lane.
void read_transposed_6(Wave& wave, const Inst& inst) {
  constexpr unsigned group = 16, width = 6, bytes = 12;
  const Rows addresses(wave, inst.vaddr, 1);
  uint8_t read[lanes][bytes + 4] = {};
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t address = addresses.at[0][lane] + static_cast<uint32_t>(inst.imm);
    std::memcpy(read[lane], lds_memory(wave, inst, address, bytes, lane), bytes);
  });
  for_each_lane(wave.exec(), [&](unsigned lane) {
    uint8_t result[bytes + 4] = {};
    for (unsigned k = 0; k < group; ++k) {
      const unsigned from = lane % group * width, to = k * width;
      uint16_t bits = 0, target = 0;
      std::memcpy(&bits, read[lane / group * group + k] + from / 8, 2);
      std::memcpy(&target, result + to / 8, 2);
      target = static_cast<uint16_t>(target | (bits >> (from % 8) & 63u) << (to % 8));
      std::memcpy(result + to / 8, &target, 2);
    }
    for (unsigned k = 0; k < bytes / 4; ++k) {
      std::memcpy(&wave.vgpr(inst.dst + k)[lane], result + 4 * k, 4);
    }
  });
  finish_lds(wave, {addresses.at[0], bytes / 4});
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
    case 225:
      return read_transposed_6;
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev
