// Buffer instructions without formats: loads, stores, atomics, and loads into LDS.
#include <cstring>

#include "core/buffer.hpp"
#include "memory/lanes/lds.hpp"
#include "memory/lanes/region_memory.hpp"
#include "memory/lanes/table.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

uint8_t* scratch_place(Wave& wave, const Inst& inst, const Buffer& buffer, const AddressRegisters& registers,
                       unsigned lane, unsigned size) {
  // The scalar offset counts bytes of the whole wave, interleaved by lane.
  const uint64_t at = registers.offset[lane] + static_cast<uint64_t>(inst.imm) + buffer.scalar_offset / lanes;
  if (at + size > wave.scratch_size) {
    fault(wave, inst, "scratch access out of range: %u bytes at 0x%llx of %u per lane, lane %u", size,
          static_cast<unsigned long long>(at), wave.scratch_size, lane);
  }
  return wave.scratch + size_t{lane} * wave.scratch_size + at;
}

// Where each lane's access was, for the clock.
struct Accesses {
  uint64_t at[lanes] = {};
  void finish(Wave& wave, unsigned size, Traffic traffic) const {
    finish_vector_access(wave, {at, wave.exec(), size}, traffic);
  }
};

template <typename Move>
void move_partly(uint32_t* rows, unsigned lane, uint8_t* memory, unsigned bytes) {
  if constexpr (Move::writes_memory) {
    for (unsigned k = 0; k < bytes / 4; ++k) {
      std::memcpy(memory + 4 * k, &rows[k * lanes + lane], 4);
    }
  } else {
    Move::zero(rows, lane);
    for (unsigned k = 0; k < bytes / 4; ++k) {
      std::memcpy(&rows[k * lanes + lane], memory + 4 * k, 4);
    }
  }
}

template <typename Move>
void access_scratch(Wave& wave, const Inst& inst, const Buffer& buffer) {
  const AddressRegisters registers(wave, inst);
  uint32_t* rows = wave.vgpr(inst.vdata);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    Move::move(rows, lane, scratch_place(wave, inst, buffer, registers, lane, Move::size));
  });
  finish_scratch_access(wave, inst, Move::writes_memory ? Traffic::store : Traffic::load);
}

// Whether each active lane's `size` bytes are inside a plain buffer that is addressed by offsets alone.
bool find_offsets(Wave& wave, const Inst& inst, const Buffer& buffer, unsigned size, LaneOffsets& offsets) {
  const uint64_t start = static_cast<uint64_t>(inst.imm) + buffer.scalar_offset;
  if (buffer.is_swizzled || buffer.adds_lane || inst.idxen || !inst.offen || buffer.records < start + size) {
    return false;
  }
  offsets = {buffer.base + start, wave.vgpr(inst.vaddr)};
  return are_within(offsets.at, wave.mask(), 0, static_cast<uint32_t>(buffer.records - start - size));
}

template <typename Move>
void access(Wave& wave, const Inst& inst) {
  const Buffer buffer(wave, inst);
  if (buffer.is_scratch) {
    access_scratch<Move>(wave, inst, buffer);
    return;
  }
  LaneOffsets offsets;
  if (find_offsets(wave, inst, buffer, Move::size, offsets) &&
      move_rows<Move>(wave, offsets, wave.vgpr(inst.vdata))) {
    return;
  }
  const AddressRegisters registers(wave, inst);
  Accesses accesses;
  uint32_t* rows = wave.vgpr(inst.vdata);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const Place place = buffer_place(inst, buffer, registers, lane, Move::size);
    uint8_t* memory = buffer_memory(wave, inst, place, Move::writes_memory, lane);
    accesses.at[lane] = place.address;
    if (place.bytes_inside == Move::size) {
      Move::move(rows, lane, memory);
    } else {
      move_partly<Move>(rows, lane, memory, place.bytes_inside);
    }
  });
  accesses.finish(wave, Move::size, Move::writes_memory ? Traffic::store : Traffic::load);
}

// What a lane loads into LDS: at least a dword.
template <unsigned size, bool is_signed>
void load_slot(uint8_t* data, const uint8_t* memory, unsigned bytes) {
  if constexpr (size < 4) {
    uint32_t value = 0;
    LoadLane<size, is_signed, Half::whole>::move(&value, 0, memory);
    std::memcpy(data, &value, sizeof value);
  } else {
    std::memcpy(data, memory, bytes);
  }
}

template <unsigned size, bool is_signed>
void load_lds(Wave& wave, const Inst& inst) {
  constexpr unsigned slot = size < 4 ? 4 : size;
  const Buffer buffer(wave, inst);
  const AddressRegisters registers(wave, inst);
  Accesses accesses;
  const uint64_t base = (wave.sgpr[code_m0] & 0x3ffffu) + static_cast<uint64_t>(inst.imm);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const Place place = buffer_place(inst, buffer, registers, lane, size);
    uint8_t data[slot] = {};
    if (const uint8_t* memory = buffer_memory(wave, inst, place, false, lane)) {
      load_slot<size, is_signed>(data, memory, place.bytes_inside);
    }
    accesses.at[lane] = place.address;
    std::memcpy(lds_memory(wave, inst, base + lane * slot, slot, lane), data, slot);
  });
  accesses.finish(wave, size, Traffic::load);
}

// For move_handler.
template <typename Move>
struct Access {
  static void run(Wave& wave, const Inst& inst) { access<Move>(wave, inst); }
};

void atomic(Wave& wave, const Inst& inst) {
  const auto op = static_cast<AtomicOp>(inst.op);
  const unsigned dwords = atomic_dwords(op);
  const Buffer buffer(wave, inst);
  uint32_t* rows = wave.vgpr(inst.vdata);
  LaneOffsets offsets;
  if (find_offsets(wave, inst, buffer, dwords * 4, offsets) &&
      atomic_rows(wave, offsets, op, rows, inst.returns ? rows : nullptr)) {
    return;
  }
  const AddressRegisters registers(wave, inst);
  Accesses accesses;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const Place place = buffer_place(inst, buffer, registers, lane, dwords * 4);
    accesses.at[lane] = place.address;
    if (place.bytes_inside == dwords * 4) {
      atomic_lane(op, rows, inst.returns ? rows : nullptr, lane,
                  buffer_memory(wave, inst, place, true, lane));
    } else if (inst.returns) {
      set_lane_value(rows, lane, dwords, 0);
    }
  });
  accesses.finish(wave, dwords * 4, Traffic::atomic);
}

// Caches do not exist here.
void cache_control(Wave& wave, const Inst&) { finish_cache_control(wave); }

Handler load_lds_handler(uint16_t op) {
  switch (op) {
    case 16:
      return load_lds<1, false>;
    case 17:
      return load_lds<1, true>;
    case 18:
      return load_lds<2, false>;
    case 19:
      return load_lds<2, true>;
    case 20:
      return load_lds<4, false>;
    case 22:
      return load_lds<12, false>;
    case 23:
      return load_lds<16, false>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler mubuf_handler(const Inst& inst) {
  // buffer_wbl2 and buffer_inv; buffer_wbinvl1 and buffer_wbinvl1_vol of gfx90a.
  if (inst.op == 40 || inst.op == 41 || inst.op == 62 || inst.op == 63) {
    return cache_control;
  }
  if (inst.saddr > 100) {
    return nullptr;
  }
  if (inst.to_lds) {
    return load_lds_handler(inst.op);
  }
  if (const Handler handler = move_handler<Access>(inst.op)) {
    return handler;
  }
  if (const Handler handler = format_handler(inst)) {
    return handler;
  }
  return is_atomic(inst.op) ? atomic : nullptr;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
