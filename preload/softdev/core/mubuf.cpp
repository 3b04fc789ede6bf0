// Buffer instructions: a descriptor in four SGPRs, a range check, no swizzling but that of scratch.
#include <cstring>

#include "core/dispatch.hpp"
#include "core/lane_memory.hpp"

namespace ktrace::softdev {

namespace {

struct Buffer {
  Buffer(const Wave& wave, const Inst& inst)
      : base(wave.sgpr64(inst.saddr) & 0xffffffffffffu),
        stride(wave.sgpr[inst.saddr + 1u] >> 16 & 0x3fff),
        records(wave.sgpr[inst.saddr + 2u]),
        is_swizzled(wave.sgpr[inst.saddr + 1u] >> 31 != 0),
        adds_lane(wave.sgpr[inst.saddr + 3u] >> 23 & 1),
        scalar_offset(read_scalar(wave, inst, inst.soffset)) {}
  uint64_t base;
  uint32_t stride;
  uint32_t records;
  bool is_swizzled;
  bool adds_lane;
  uint32_t scalar_offset;
  // gfx90a reaches scratch this way: the descriptor that the dispatch handed to the kernel.
  bool is_scratch() const { return is_swizzled && adds_lane; }
};

struct Place {
  uint64_t address;
  unsigned bytes_inside;  // of the access, in whole dwords unless it is smaller than one
};

// Structured buffers (a stride and an index) check the index, raw ones each dword's offset.
Place place_of(Wave& wave, const Inst& inst, const Buffer& buffer, const uint32_t* index,
               const uint32_t* offset, unsigned lane, unsigned size) {
  if (buffer.is_swizzled) {
    fault(wave, inst, "swizzled buffers are not modelled");
  }
  const uint64_t record = index ? index[lane] : 0;
  const uint64_t inside_record = (offset ? offset[lane] : 0) + static_cast<uint64_t>(inst.imm);
  const uint64_t address = buffer.base + record * buffer.stride + inside_record + buffer.scalar_offset;
  if (buffer.stride && index) {
    return {address, record < buffer.records ? size : 0};
  }
  const uint64_t start = record * buffer.stride + inside_record + buffer.scalar_offset;
  if (start >= buffer.records) {
    return {address, 0};
  }
  const uint64_t left = buffer.records - start;
  return {address, left >= size ? size : size < 4 ? 0 : static_cast<unsigned>(left / 4 * 4)};
}

uint8_t* scratch_place(Wave& wave, const Inst& inst, const Buffer& buffer, const uint32_t* offset,
                       unsigned lane, unsigned size) {
  // The scalar offset counts bytes of the whole wave, interleaved by lane.
  const uint64_t at =
      (offset ? offset[lane] : 0) + static_cast<uint64_t>(inst.imm) + buffer.scalar_offset / lanes;
  if (at + size > wave.scratch_size) {
    fault(wave, inst, "scratch access out of range: %u bytes at 0x%llx of %u per lane, lane %u", size,
          static_cast<unsigned long long>(at), wave.scratch_size, lane);
  }
  return wave.scratch + size_t{lane} * wave.scratch_size + at;
}

// Copies of the address registers: a load may overwrite them.
struct AddressRegisters {
  AddressRegisters(Wave& wave, const Inst& inst) {
    unsigned reg = inst.vaddr;
    if (inst.idxen) {
      std::memcpy(index, wave.vgpr(reg++), sizeof index);
      index_used = index;
    }
    if (inst.offen) {
      std::memcpy(offset, wave.vgpr(reg), sizeof offset);
      offset_used = offset;
    }
  }
  uint32_t index[lanes];
  uint32_t offset[lanes];
  const uint32_t* index_used = nullptr;
  const uint32_t* offset_used = nullptr;
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
void access(Wave& wave, const Inst& inst) {
  const Buffer buffer(wave, inst);
  const AddressRegisters registers(wave, inst);
  uint32_t* rows = wave.vgpr(inst.vdata);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    if (buffer.is_scratch()) {
      Move::move(rows, lane, scratch_place(wave, inst, buffer, registers.offset_used, lane, Move::size));
      return;
    }
    const Place place =
        place_of(wave, inst, buffer, registers.index_used, registers.offset_used, lane, Move::size);
    uint8_t* memory = nullptr;
    if (place.bytes_inside) {
      memory = host_address(wave, inst, place.address, place.bytes_inside, Move::writes_memory,
                            static_cast<int>(lane));
    }
    if (place.bytes_inside == Move::size) {
      Move::move(rows, lane, memory);
    } else {
      move_partly<Move>(rows, lane, memory, place.bytes_inside);
    }
  });
  push_counter(
      wave, wave.vmcnt,
      wave.time + (Move::writes_memory ? clock_model::vmem_store_latency : clock_model::vmem_load_latency));
}

template <unsigned size, bool is_signed>
void load_lds(Wave& wave, const Inst& inst) {
  constexpr unsigned slot = size < 4 ? 4 : size;
  const Buffer buffer(wave, inst);
  const AddressRegisters registers(wave, inst);
  std::vector<uint8_t>& lds = wave.workgroup->lds;
  const uint64_t base = (wave.sgpr[code_m0] & 0x3ffffu) + static_cast<uint64_t>(inst.imm);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const Place place = place_of(wave, inst, buffer, registers.index_used, registers.offset_used, lane, size);
    uint8_t data[slot] = {};
    if (place.bytes_inside) {
      const uint8_t* memory =
          host_address(wave, inst, place.address, place.bytes_inside, false, static_cast<int>(lane));
      if constexpr (size < 4) {
        uint32_t value = 0;
        LoadLane<size, is_signed, Half::whole>::move(&value, 0, memory);
        std::memcpy(data, &value, sizeof value);
      } else {
        std::memcpy(data, memory, place.bytes_inside);
      }
    }
    const uint64_t target = base + lane * slot;
    if (target + slot > lds.size()) {
      fault(wave, inst, "LDS access out of range: %u bytes at 0x%llx of %zu allocated, lane %u", slot,
            static_cast<unsigned long long>(target), lds.size(), lane);
    }
    std::memcpy(lds.data() + target, data, slot);
  });
  push_counter(wave, wave.vmcnt, wave.time + clock_model::vmem_load_latency);
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
  const AddressRegisters registers(wave, inst);
  uint32_t* rows = wave.vgpr(inst.vdata);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const Place place =
        place_of(wave, inst, buffer, registers.index_used, registers.offset_used, lane, dwords * 4);
    if (place.bytes_inside == dwords * 4) {
      atomic_lane(op, rows, inst.returns ? rows : nullptr, lane,
                  host_address(wave, inst, place.address, dwords * 4, true, static_cast<int>(lane)));
    } else if (inst.returns) {
      set_lane_value(rows, lane, dwords, 0);
    }
  });
  push_counter(wave, wave.vmcnt, wave.time + clock_model::vmem_atomic_latency);
}

// Caches do not exist here.
void cache_control(Wave& wave, const Inst&) {
  push_counter(wave, wave.vmcnt, wave.time + clock_model::vmem_store_latency);
}

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
  return is_atomic(inst.op) ? atomic : nullptr;
}

}  // namespace ktrace::softdev
