// Buffer instructions with a format: MTBUF names it itself, MUBUF's buffer_load_format takes the
// descriptor's.
#include <cstring>

#include "core/buffer.hpp"
#include "core/dispatch.hpp"
#include "core/half_float.hpp"
#include "memory/lanes/lane_memory.hpp"
#include "memory/lanes/table.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

// What an opcode wants: `count` components of 32 bits, or of 16 ("d16"), packed or in a high half.
struct Wanted {
  unsigned count;
  bool halves;
  bool high;
  bool stores;
};

// Both encodings number alike, 4 by 4: load, store, load d16, store d16.
Wanted wanted_by(const Inst& inst) {
  constexpr uint16_t load_high = 38, store_high = 39;
  if (inst.op >= load_high) {
    return {1, true, true, inst.op == store_high};
  }
  return {inst.op % 4u + 1, inst.op >= 8, false, (inst.op & 4) != 0};
}

uint32_t pattern(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

uint32_t to_half(uint32_t component, BufferFormat format) {
  float value;
  std::memcpy(&value, &component, sizeof value);
  return is_integer(format) ? component & 0xffffu : half_from_real(value);
}
uint32_t from_half(uint32_t half, BufferFormat format) {
  return is_integer(format) ? half : pattern(float_from_half(static_cast<uint16_t>(half)));
}

// The descriptor of a MUBUF load says what becomes of each component: 0, 1, or component 0 to 3.
Components selected(const Components& from, const Buffer& buffer) {
  Components result{};
  for (unsigned k = 0; k < component_count; ++k) {
    const uint32_t selector = buffer.selectors >> (3 * k) & 7u;
    result.at[k] = selector >= 4 ? from.at[selector - 4] : selector == 1 ? format_one(buffer.format) : 0;
  }
  return result;
}

void set_components(uint32_t* rows, unsigned lane, const Wanted& wanted, BufferFormat format,
                    const Components& components) {
  for (unsigned k = 0; k < wanted.count; ++k) {
    if (!wanted.halves) {
      rows[k * lanes + lane] = components.at[k];
      continue;
    }
    uint32_t& reg = rows[k / 2 * lanes + lane];
    const unsigned shift = wanted.high || k % 2 != 0 ? 16 : 0;
    reg = (reg & ~(0xffffu << shift)) | to_half(components.at[k], format) << shift;
  }
}

Components get_components(const uint32_t* rows, unsigned lane, const Wanted& wanted, BufferFormat format) {
  Components components{};
  for (unsigned k = 0; k < wanted.count; ++k) {
    if (wanted.halves) {
      const unsigned shift = wanted.high || k % 2 != 0 ? 16 : 0;
      components.at[k] = from_half(rows[k / 2 * lanes + lane] >> shift & 0xffffu, format);
    } else {
      components.at[k] = rows[k * lanes + lane];
    }
  }
  return components;
}

Components load_lane(Wave& wave, const Inst& inst, const Buffer& buffer, const Place& place, unsigned lane) {
  uint8_t element[16] = {};
  const uint8_t* memory = buffer_memory(wave, inst, place, false, lane);
  if (!memory) {
    return {};
  }
  std::memcpy(element, memory, place.bytes_inside);
  const Components components = read_element(element, buffer.format);
  return inst.encoding == Encoding::mtbuf ? components : selected(components, buffer);
}

void store_lane(Wave& wave, const Inst& inst, const Buffer& buffer, const Place& place, unsigned lane,
                const Components& components) {
  uint8_t element[16];
  write_element(element, buffer.format, components);
  if (uint8_t* memory = buffer_memory(wave, inst, place, true, lane)) {
    std::memcpy(memory, element, place.bytes_inside);
  }
}

void access(Wave& wave, const Inst& inst) {
  Buffer buffer(wave, inst);
  if (inst.encoding == Encoding::mtbuf) {
    buffer.format = {inst.data_format, inst.number_format};
  }
  const unsigned size = element_bytes(buffer.format);
  if (!size) {
    fault(wave, inst, "data format %u with number format %u is no format", unsigned{buffer.format.data},
          unsigned{buffer.format.number});
  }
  const AddressRegisters registers(wave, inst);
  const Wanted wanted = wanted_by(inst);
  uint64_t addresses[lanes] = {};
  uint32_t* rows = wave.vgpr(inst.vdata);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const Place place = buffer_place(inst, buffer, registers, lane, size);
    addresses[lane] = place.address;
    if (wanted.stores) {
      store_lane(wave, inst, buffer, place, lane, get_components(rows, lane, wanted, buffer.format));
    } else {
      set_components(rows, lane, wanted, buffer.format, load_lane(wave, inst, buffer, place, lane));
    }
  });
  finish_vector_access(wave, {addresses, wave.exec(), size}, wanted.stores ? Traffic::store : Traffic::load);
}

}  // namespace

Handler format_handler(const Inst& inst) {
  const bool high = inst.encoding == Encoding::mubuf && (inst.op == 38 || inst.op == 39);
  return (inst.op < 16 || high) && inst.saddr <= 100 && !inst.to_lds ? access : nullptr;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
