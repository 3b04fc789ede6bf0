// LDS (DS) instructions: reads, writes, atomics, and the lane permutations that run through the LDS crossbar.
#include <cstring>

#include "core/dispatch.hpp"
#include "core/lane_memory.hpp"
#include "core/row_memory.hpp"

namespace ktrace::softdev {

namespace {

void count(Wave& wave) { finish_lds(wave); }

[[noreturn]] void range_fault(const Wave& wave, const Inst& inst, uint64_t address, unsigned size,
                              unsigned lane) {
  fault(wave, inst, "LDS access out of range: %u bytes at 0x%llx of %zu allocated, lane %u", size,
        static_cast<unsigned long long>(address), wave.workgroup->lds.size(), lane);
}

uint8_t* place(Wave& wave, const Inst& inst, uint32_t base, uint32_t offset, unsigned size, unsigned lane) {
  std::vector<uint8_t>& lds = wave.workgroup->lds;
  const uint64_t address = base + offset;  // 32 bits: compilers fold offsets into negative bases
  if (__builtin_expect(address + size > lds.size(), 0)) {
    range_fault(wave, inst, address, size, lane);
  }
  return lds.data() + address;
}

uint32_t offset_of(const Inst& inst) { return static_cast<uint32_t>(inst.imm); }

// Copied, because a read may overwrite its own address register.
struct Addresses {
  explicit Addresses(Wave& wave, const Inst& inst) { std::memcpy(at, wave.vgpr(inst.vaddr), sizeof at); }
  uint32_t at[lanes];
};

// Whether `size` bytes at every active lane's address + offset lie in LDS; the sum wraps.
bool all_inside(Wave& wave, const uint32_t* addresses, uint32_t offset, unsigned size) {
  const size_t allocated = wave.workgroup->lds.size();
  return allocated >= size &&
         are_within(addresses, wave.mask(), 0u - offset, static_cast<uint32_t>(allocated - size));
}

// The bytes of all lanes, if they lie side by side; else null.
template <unsigned size>
uint8_t* run_of(Wave& wave, const uint32_t* addresses, uint32_t offset) {
  const uint32_t begin = addresses[0] + offset;
  std::vector<uint8_t>& lds = wave.workgroup->lds;
  return uint64_t{begin} + uint64_t{lanes} * size <= lds.size() ? lds.data() + begin : nullptr;
}

template <typename Move>
void access(Wave& wave, const Inst& inst) {
  const uint32_t* at = wave.vgpr(inst.vaddr);
  uint32_t* rows = wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst);
  const uint32_t offset = offset_of(inst);
  const uint64_t exec = wave.exec();
  if (exec == all_lanes && are_consecutive<Move::size>(at)) {
    if (uint8_t* run = run_of<Move::size>(wave, at, offset)) {
      Move::move_all(rows, run);
      finish_lds(wave);
      return;
    }
  }
  const Addresses addresses(wave, inst);
  if (all_inside(wave, addresses.at, offset, Move::size)) {
    uint8_t* lds = wave.workgroup->lds.data();
    move_lanes<Move>(exec, rows,
                     [&](unsigned lane) { return lds + static_cast<uint32_t>(addresses.at[lane] + offset); });
  } else {
    for_each_lane(exec, [&](unsigned lane) {
      Move::move(rows, lane, place(wave, inst, addresses.at[lane], offset, Move::size, lane));
    });
  }
  finish_lds(wave, {addresses.at, (Move::size + 3) / 4});
}

// ds_read2*, ds_write2*: two accesses, offsets in units of the element (or of 64 elements).
template <typename Move>
void access_two(Wave& wave, const Inst& inst, uint32_t* first, uint32_t* second, unsigned unit) {
  const uint32_t offset0 = (offset_of(inst) & 255) * unit, offset1 = (offset_of(inst) >> 8) * unit;
  const uint32_t* at = wave.vgpr(inst.vaddr);
  const uint64_t exec = wave.exec();
  if (exec == all_lanes && are_consecutive<Move::size>(at)) {
    uint8_t* const run0 = run_of<Move::size>(wave, at, offset0);
    uint8_t* const run1 = run_of<Move::size>(wave, at, offset1);
    if (run0 && run1) {
      Move::move_all(first, run0);
      Move::move_all(second, run1);
      finish_lds(wave);
      return;
    }
  }
  const Addresses addresses(wave, inst);
  if (all_inside(wave, addresses.at, offset0, Move::size) &&
      all_inside(wave, addresses.at, offset1, Move::size)) {
    uint8_t* lds = wave.workgroup->lds.data();
    move_lanes<Move>(exec, first, [&](unsigned lane) {
      return lds + static_cast<uint32_t>(addresses.at[lane] + offset0);
    });
    move_lanes<Move>(exec, second, [&](unsigned lane) {
      return lds + static_cast<uint32_t>(addresses.at[lane] + offset1);
    });
  } else {
    for_each_lane(exec, [&](unsigned lane) {
      Move::move(first, lane, place(wave, inst, addresses.at[lane], offset0, Move::size, lane));
      Move::move(second, lane, place(wave, inst, addresses.at[lane], offset1, Move::size, lane));
    });
  }
  finish_lds(wave, {addresses.at, Move::size / 4, 2});
}

template <unsigned bytes, unsigned unit>
void read_two(Wave& wave, const Inst& inst) {
  using Move = LoadLane<bytes, false, Half::whole>;
  access_two<Move>(wave, inst, wave.vgpr(inst.dst), wave.vgpr(inst.dst + bytes / 4), unit);
}

template <unsigned bytes, unsigned unit>
void write_two(Wave& wave, const Inst& inst) {
  using Move = StoreLane<bytes, Half::whole>;
  access_two<Move>(wave, inst, wave.vgpr(inst.vdata), wave.vgpr(inst.vdata2), unit);
}

// Addressed by M0 and the lane's number.
void read_add_thread(Wave& wave, const Inst& inst) {
  uint32_t* rows = wave.vgpr(inst.dst);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = (wave.sgpr[code_m0] & 0xffff) + lane * 4;
    std::memcpy(&rows[lane], place(wave, inst, base, offset_of(inst), 4, lane), 4);
  });
  count(wave);
}

void write_add_thread(Wave& wave, const Inst& inst) {
  const uint32_t* rows = wave.vgpr(inst.vdata);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t base = (wave.sgpr[code_m0] & 0xffff) + lane * 4;
    std::memcpy(place(wave, inst, base, offset_of(inst), 4, lane), &rows[lane], 4);
  });
  count(wave);
}

struct DsAtomic {
  AtomicOp op;
  bool returns;
};

constexpr AtomicOp none = AtomicOp::none;

// Opcodes 0..24 of the 32-bit block; the others repeat it at +32 (returning), +64 and +96 (64 bits).
AtomicOp base_atomic(unsigned op) {
  constexpr AtomicOp table[] = {AtomicOp::add,
                                AtomicOp::sub,
                                AtomicOp::rsub,
                                AtomicOp::inc,
                                AtomicOp::dec,
                                AtomicOp::smin,
                                AtomicOp::smax,
                                AtomicOp::umin,
                                AtomicOp::umax,
                                AtomicOp::and_,
                                AtomicOp::or_,
                                AtomicOp::xor_,
                                AtomicOp::mskor,
                                AtomicOp::swap,
                                none,
                                none,
                                AtomicOp::cmpswap,
                                AtomicOp::cmpswap_f32,
                                AtomicOp::min_f32,
                                AtomicOp::max_f32,
                                none,
                                AtomicOp::add_f32,
                                none,
                                AtomicOp::pk_add_f16,
                                AtomicOp::pk_add_bf16};
  return op < sizeof table / sizeof table[0] ? table[op] : none;
}

AtomicOp wide(AtomicOp op) {
  switch (op) {
    case AtomicOp::cmpswap_f32:
      return AtomicOp::cmpswap_f64;
    case AtomicOp::min_f32:
      return AtomicOp::min_f64;
    case AtomicOp::max_f32:
      return AtomicOp::max_f64;
    case AtomicOp::add_f32:
    case AtomicOp::pk_add_f16:
    case AtomicOp::pk_add_bf16:
    case none:
      return none;
    default:
      return static_cast<AtomicOp>(static_cast<unsigned>(op) + 32);
  }
}

DsAtomic atomic_of(unsigned op) {
  constexpr unsigned exchange = 13;  // in the non-returning blocks this number is an ordinary write
  switch (op) {
    case 52:
      return {AtomicOp::wrap, true};
    case 92:
      return {AtomicOp::add_f64, false};
    case 124:
      return {AtomicOp::add_f64, true};
    case 183:
      return {AtomicOp::pk_add_f16, true};
    case 184:
      return {AtomicOp::pk_add_bf16, true};
    default:
      break;
  }
  const unsigned number = op & 31;
  const bool returns = op & 32;
  if (op >= 128 || (number == exchange && !returns)) {
    return {none, false};
  }
  return {op & 64 ? wide(base_atomic(number)) : base_atomic(number), returns};
}

void atomic(Wave& wave, const Inst& inst) {
  const DsAtomic wanted = atomic_of(inst.op);
  const unsigned size = atomic_dwords(wanted.op) * 4;
  const Addresses addresses(wave, inst);
  const uint32_t offset = offset_of(inst);
  // cmpst has the expected value first, mskor the mask; the other operand follows in data1. wrap is the
  // exception: its first operand is the bound.
  const bool swapped = has_compare(wanted.op) && wanted.op != AtomicOp::wrap;
  const uint32_t* data0 = wave.vgpr(inst.vdata);
  const uint32_t* data1 = wave.vgpr(inst.vdata2);
  uint64_t memory[lanes];
  if (all_inside(wave, addresses.at, offset, size)) {
    const auto lds = reinterpret_cast<uint64_t>(wave.workgroup->lds.data());
    for (unsigned lane = 0; lane < lanes; ++lane) {
      memory[lane] = lds + static_cast<uint32_t>(addresses.at[lane] + offset);
    }
  } else {
    for_each_lane(wave.exec(), [&](unsigned lane) {
      memory[lane] = reinterpret_cast<uint64_t>(place(wave, inst, addresses.at[lane], offset, size, lane));
    });
  }
  perform_atomics(wanted.op, {wave.exec(), memory, swapped ? data1 : data0, swapped ? data0 : data1,
                              wanted.returns ? wave.vgpr(inst.dst) : nullptr});
  finish_lds(wave, {addresses.at, size / 4, 1, true});
}

// ds_append, ds_consume: one counter for the wave, addressed by M0, moved by the number of active lanes.
template <int direction>
void append(Wave& wave, const Inst& inst) {
  uint8_t* memory = place(wave, inst, wave.sgpr[code_m0] & 0xffff, offset_of(inst), 4, 0);
  uint32_t old;
  std::memcpy(&old, memory, sizeof old);
  const auto active = static_cast<uint32_t>(__builtin_popcountll(wave.exec()));
  const uint32_t next = direction > 0 ? old + active : old - active;
  std::memcpy(memory, &next, sizeof next);
  uint32_t* rows = wave.vgpr(inst.dst);
  for_each_lane(wave.exec(), [&](unsigned lane) { rows[lane] = old; });
  count(wave);
}

void store_lanes(Wave& wave, unsigned reg, const uint32_t* values) {
  uint32_t* rows = wave.vgpr(reg);
  const uint32_t* mask = wave.mask();
  for (unsigned lane = 0; lane < lanes; ++lane) {
    rows[lane] = (rows[lane] & ~mask[lane]) | (values[lane] & mask[lane]);
  }
  count(wave);
}

// Each lane takes `data` of the lane that `from` names: 0 if EXEC switches that off.
void gather_lanes(Wave& wave, unsigned reg, const uint32_t* data, const uint32_t* from) {
  uint32_t active[lanes];
  uint32_t values[lanes];
  if (wave.exec() != all_lanes) {
    const uint32_t* mask = wave.mask();
    for (unsigned lane = 0; lane < lanes; ++lane) {
      active[lane] = data[lane] & mask[lane];
    }
    data = active;
  }
  for (unsigned lane = 0; lane < lanes; lane += 2) {
    const uint64_t pair = data[from[lane]] | uint64_t{data[from[lane + 1]]} << 32;
    std::memcpy(values + lane, &pair, sizeof pair);  // one store for two lanes
  }
  store_lanes(wave, reg, values);
}

void bpermute(Wave& wave, const Inst& inst) {
  const uint32_t* addresses = wave.vgpr(inst.vaddr);
  uint32_t from[lanes];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    from[lane] = (addresses[lane] + offset_of(inst)) / 4 % lanes;
  }
  gather_lanes(wave, inst.dst, wave.vgpr(inst.vdata), from);
}

// Of several lanes that write to one, the last one wins.
void permute(Wave& wave, const Inst& inst) {
  const uint32_t* addresses = wave.vgpr(inst.vaddr);
  const uint32_t* data = wave.vgpr(inst.vdata);
  uint32_t values[lanes] = {};
  for_each_lane(wave.exec(),
                [&](unsigned lane) { values[(addresses[lane] + offset_of(inst)) / 4 % lanes] = data[lane]; });
  store_lanes(wave, inst.dst, values);
}

void swizzle(Wave& wave, const Inst& inst) {
  constexpr uint32_t quad_mode = 0x8000;
  const uint32_t pattern = offset_of(inst);
  uint32_t from[lanes];
  if (pattern & quad_mode) {
    const uint32_t quad[4] = {pattern & 3, pattern >> 2 & 3, pattern >> 4 & 3, pattern >> 6 & 3};
    for (unsigned lane = 0; lane < lanes; ++lane) {
      from[lane] = (lane & ~3u) | quad[lane & 3];
    }
  } else {
    const uint32_t and_mask = (pattern & 31) | 32, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      from[lane] = ((lane & and_mask) | or_mask) ^ xor_mask;
    }
  }
  gather_lanes(wave, inst.dst, wave.vgpr(inst.vaddr), from);
}

// Every group of 16 lanes reads 16 * 8 bytes as a matrix of elements and gets it transposed: lane l's element
// j is element l % per_lane ... of the lane that holds row j.
template <unsigned element_bits>
void read_transposed(Wave& wave, const Inst& inst) {
  constexpr unsigned per_lane = 64 / element_bits;  // elements in a lane's 8 bytes
  constexpr unsigned group = 16;
  constexpr uint64_t element_mask = (uint64_t{1} << element_bits) - 1;
  const Addresses addresses(wave, inst);
  const uint64_t exec = wave.exec();
  uint64_t read[lanes] = {};
  for_each_lane(exec, [&](unsigned lane) {
    std::memcpy(&read[lane], place(wave, inst, addresses.at[lane], offset_of(inst), 8, lane), 8);
  });
  uint32_t* rows = wave.vgpr(inst.dst);
  for_each_lane(exec, [&](unsigned lane) {
    const unsigned first = lane & ~(group - 1), within = lane % group;
    uint64_t value = 0;
    for (unsigned j = 0; j < per_lane; ++j) {
      const unsigned from = first + group / per_lane * j + within / per_lane;
      value |= (read[from] >> (within % per_lane * element_bits) & element_mask) << (j * element_bits);
    }
    set_lane_value(rows, lane, 2, value);
  });
  finish_lds(wave, {addresses.at, 2});
}

void no_operation(Wave& wave, const Inst&) { count(wave); }

Handler access_handler(uint16_t op) {
  switch (op) {
    case 13:
      return access<StoreLane<4, Half::whole>>;
    case 14:
      return write_two<4, 4>;
    case 15:
      return write_two<4, 256>;
    case 20:
      return no_operation;
    case 29:
      return write_add_thread;
    case 30:
      return access<StoreLane<1, Half::whole>>;
    case 31:
      return access<StoreLane<2, Half::whole>>;
    case 54:
      return access<LoadLane<4, false, Half::whole>>;
    case 55:
      return read_two<4, 4>;
    case 56:
      return read_two<4, 256>;
    case 57:
      return access<LoadLane<1, true, Half::whole>>;
    case 58:
      return access<LoadLane<1, false, Half::whole>>;
    case 59:
      return access<LoadLane<2, true, Half::whole>>;
    case 60:
      return access<LoadLane<2, false, Half::whole>>;
    case 61:
      return swizzle;
    case 62:
      return permute;
    case 63:
      return bpermute;
    case 77:
      return access<StoreLane<8, Half::whole>>;
    case 78:
      return write_two<8, 8>;
    case 79:
      return write_two<8, 512>;
    case 84:
      return access<StoreLane<1, Half::high>>;
    case 85:
      return access<StoreLane<2, Half::high>>;
    case 86:
      return access<LoadLane<1, false, Half::low>>;
    case 87:
      return access<LoadLane<1, false, Half::high>>;
    case 88:
      return access<LoadLane<1, true, Half::low>>;
    case 89:
      return access<LoadLane<1, true, Half::high>>;
    case 90:
      return access<LoadLane<2, false, Half::low>>;
    case 91:
      return access<LoadLane<2, false, Half::high>>;
    case 118:
      return access<LoadLane<8, false, Half::whole>>;
    case 119:
      return read_two<8, 8>;
    case 120:
      return read_two<8, 512>;
    case 182:
      return read_add_thread;
    case 189:
      return append<-1>;
    case 190:
      return append<1>;
    case 222:
      return access<StoreLane<12, Half::whole>>;
    case 223:
      return access<StoreLane<16, Half::whole>>;
    case 224:
      return read_transposed<4>;
    case 226:
      return read_transposed<8>;
    case 227:
      return read_transposed<16>;
    case 254:
      return access<LoadLane<12, false, Half::whole>>;
    case 255:
      return access<LoadLane<16, false, Half::whole>>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler ds_handler(const Inst& inst) {
  if (const Handler handler = access_handler(inst.op)) {
    return handler;
  }
  return atomic_of(inst.op).op != none ? atomic : lds_exchange_handler(inst.op);
}

}  // namespace ktrace::softdev
