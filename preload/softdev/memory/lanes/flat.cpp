// FLAT, GLOBAL and SCRATCH instructions.
#include <cstring>

#include "memory/lanes/lds.hpp"
#include "memory/lanes/region_memory.hpp"
#include "memory/lanes/table.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

// The lanes' addresses as one base and 32-bit offsets; false if they are further apart.
bool find_offsets(Wave& wave, const Inst& inst, LaneOffsets& offsets) {
  const auto offset = static_cast<uint64_t>(int64_t{inst.imm});
  if (inst.saddr != saddr_off && inst.segment == Segment::global) {
    offsets = {wave.sgpr64(inst.saddr) + offset, wave.vgpr(inst.vaddr)};
    return true;
  }
  const uint64_t exec = wave.exec();
  const uint32_t* high = wave.vgpr(inst.vaddr + 1u);
  const uint32_t upper = high[exec ? __builtin_ctzll(exec) : 0];
  offsets = {(uint64_t{upper} << 32) + offset, wave.vgpr(inst.vaddr)};
  return are_equal(high, wave.mask(), upper);
}

void global_addresses(Wave& wave, const Inst& inst, LaneAddresses& addresses) {
  const uint32_t* low = wave.vgpr(inst.vaddr);
  const auto offset = static_cast<uint64_t>(int64_t{inst.imm});
  if (inst.saddr != saddr_off && inst.segment == Segment::global) {
    const uint64_t base = wave.sgpr64(inst.saddr) + offset;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      addresses.at[lane] = base + low[lane];
    }
    return;
  }
  const uint32_t* high = wave.vgpr(inst.vaddr + 1u);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    addresses.at[lane] = (low[lane] | uint64_t{high[lane]} << 32) + offset;
  }
}

// Offsets into the lane's own scratch.
void scratch_offsets(Wave& wave, const Inst& inst, LaneAddresses& addresses) {
  const uint32_t base =
      (inst.saddr != saddr_off ? wave.sgpr[inst.saddr] : 0) + static_cast<uint32_t>(inst.imm);
  const uint32_t* vector = inst.offen ? wave.vgpr(inst.vaddr) : nullptr;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    addresses.at[lane] = base + (vector ? vector[lane] : 0);
  }
}

uint8_t* scratch_address(Wave& wave, const Inst& inst, uint64_t offset, unsigned size, unsigned lane) {
  if (offset + size > wave.scratch_size) {
    fault(wave, inst, "scratch access out of range: %u bytes at 0x%llx of %u per lane, lane %u", size,
          static_cast<unsigned long long>(offset), wave.scratch_size, lane);
  }
  return wave.scratch + size_t{lane} * wave.scratch_size + offset;
}

uint8_t* flat_address(Wave& wave, const Inst& inst, uint64_t address, unsigned size, bool write,
                      unsigned lane) {
  const uint64_t aperture = address & 0xffffffff00000000u;
  if (aperture == shared_aperture) {
    return lds_memory(wave, inst, address & 0xffffffffu, size, lane);
  }
  if (aperture == private_aperture) {
    return scratch_address(wave, inst, address & 0xffffffffu, size, lane);
  }
  return host_address(wave, inst, address, size, write, static_cast<int>(lane));
}

void count(Wave& wave, const Inst& inst, const LaneAddresses& addresses, unsigned size, Traffic traffic) {
  if (inst.segment == Segment::flat) {
    finish_lds(wave);
  }
  if (inst.segment == Segment::scratch) {
    finish_scratch_access(wave, inst, traffic);
  } else {
    finish_vector_access(wave, {addresses.at, wave.exec(), size}, traffic);
  }
}

template <typename Move>
void access_scratch(Wave& wave, const Inst& inst) {
  uint32_t* rows = wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst);
  LaneAddresses addresses;
  scratch_offsets(wave, inst, addresses);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    Move::move(rows, lane, scratch_address(wave, inst, addresses.at[lane], Move::size, lane));
  });
  count(wave, inst, addresses, Move::size, Move::writes_memory ? Traffic::store : Traffic::load);
}

// Lane by lane: different regions, apertures, and the lane that a fault names.
template <typename Move>
void access_lanes(Wave& wave, const Inst& inst) {
  uint32_t* rows = wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst);
  // All addresses are formed before the first register is written: they may share registers.
  LaneAddresses addresses;
  global_addresses(wave, inst, addresses);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint64_t address = addresses.at[lane];
    uint8_t* memory =
        inst.segment == Segment::flat
            ? flat_address(wave, inst, address, Move::size, Move::writes_memory, lane)
            : host_address(wave, inst, address, Move::size, Move::writes_memory, static_cast<int>(lane));
    Move::move(rows, lane, memory);
  });
  count(wave, inst, addresses, Move::size, Move::writes_memory ? Traffic::store : Traffic::load);
}

template <typename Move>
void access(Wave& wave, const Inst& inst) {
  if (inst.segment == Segment::scratch) {
    access_scratch<Move>(wave, inst);
    return;
  }
  uint32_t* rows = wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst);
  LaneOffsets offsets;
  if (!find_offsets(wave, inst, offsets) || !move_rows<Move>(wave, offsets, rows)) {
    access_lanes<Move>(wave, inst);
  } else if (inst.segment == Segment::flat) {
    finish_lds(wave);
  }
}

// For move_handler.
template <typename Move>
struct Access {
  static void run(Wave& wave, const Inst& inst) { access<Move>(wave, inst); }
};

void atomic(Wave& wave, const Inst& inst) {
  const auto op = static_cast<AtomicOp>(inst.op);
  const unsigned size = atomic_dwords(op) * 4;
  const uint32_t* data = wave.vgpr(inst.vdata);
  uint32_t* result = inst.returns ? wave.vgpr(inst.dst) : nullptr;
  LaneOffsets offsets;
  if (find_offsets(wave, inst, offsets) && atomic_rows(wave, offsets, op, data, result)) {
    if (inst.segment == Segment::flat) {
      finish_lds(wave);
    }
    return;
  }
  LaneAddresses addresses;
  global_addresses(wave, inst, addresses);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint64_t address = addresses.at[lane];
    uint8_t* memory = inst.segment == Segment::flat
                          ? flat_address(wave, inst, address, size, true, lane)
                          : host_address(wave, inst, address, size, true, static_cast<int>(lane));
    atomic_lane(op, data, result, lane, memory);
  });
  count(wave, inst, addresses, size, Traffic::atomic);
}

// Loads that go to LDS instead of VGPRs: lane l's data to M0 + offset + l * (size, at least a dword).
template <unsigned bytes, bool is_signed>
void load_lds(Wave& wave, const Inst& inst) {
  constexpr unsigned slot = bytes < 4 ? 4 : bytes;
  const bool is_scratch = inst.segment == Segment::scratch;
  LaneAddresses addresses;
  (is_scratch ? scratch_offsets : global_addresses)(wave, inst, addresses);
  const uint64_t base = (wave.sgpr[code_m0] & 0x3ffffu) + static_cast<uint64_t>(int64_t{inst.imm});
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint64_t address = addresses.at[lane];
    const uint8_t* source = is_scratch
                                ? scratch_address(wave, inst, address, bytes, lane)
                                : host_address(wave, inst, address, bytes, false, static_cast<int>(lane));
    uint8_t* target = lds_memory(wave, inst, base + lane * slot, slot, lane);
    if constexpr (bytes >= 4) {
      std::memcpy(target, source, bytes);
    } else {
      uint32_t value = 0;
      LoadLane<bytes, is_signed, Half::whole>::move(&value, 0, source);
      std::memcpy(target, &value, sizeof value);
    }
  });
  count(wave, inst, addresses, bytes, Traffic::load);
}

Handler load_lds_handler(uint16_t op) {
  switch (op) {
    case 16:
    case 38:
      return load_lds<1, false>;
    case 17:
    case 39:
      return load_lds<1, true>;
    case 18:
    case 40:
      return load_lds<2, false>;
    case 19:
    case 41:
      return load_lds<2, true>;
    case 20:
    case 42:
      return load_lds<4, false>;
    case 125:
      return load_lds<16, false>;
    case 126:
      return load_lds<12, false>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler flat_handler(const Inst& inst) {
  if (inst.to_lds) {
    const bool is_wide = inst.op >= 125;  // of global memory alone
    return inst.segment == Segment::global || (inst.segment == Segment::scratch && !is_wide)
               ? load_lds_handler(inst.op)
               : nullptr;
  }
  if (const Handler handler = move_handler<Access>(inst.op)) {
    return handler;
  }
  return is_atomic(inst.op) && inst.segment != Segment::scratch ? atomic : nullptr;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
