// LDS (DS) instructions: reads, writes, atomics, and the lane permutations that run through the LDS crossbar.
#include <cstring>

#include "core/dispatch.hpp"
#include "core/lane_memory.hpp"

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

template <typename Move>
void access(Wave& wave, const Inst& inst) {
  const Addresses addresses(wave, inst);
  uint32_t* rows = wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    Move::move(rows, lane, place(wave, inst, addresses.at[lane], offset_of(inst), Move::size, lane));
  });
  finish_lds(wave, inst, {addresses.at, (Move::size + 3) / 4});
}

// ds_read2*, ds_write2*: two accesses, offsets in units of the element (or of 64 elements).
template <unsigned bytes, unsigned unit>
void read_two(Wave& wave, const Inst& inst) {
  using Move = LoadLane<bytes, false, Half::whole>;
  const Addresses addresses(wave, inst);
  uint32_t* first = wave.vgpr(inst.dst);
  uint32_t* second = wave.vgpr(inst.dst + bytes / 4);
  const uint32_t offset0 = (offset_of(inst) & 255) * unit, offset1 = (offset_of(inst) >> 8) * unit;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    Move::move(first, lane, place(wave, inst, addresses.at[lane], offset0, bytes, lane));
    Move::move(second, lane, place(wave, inst, addresses.at[lane], offset1, bytes, lane));
  });
  finish_lds(wave, inst, {addresses.at, bytes / 4, 2});
}

template <unsigned bytes, unsigned unit>
void write_two(Wave& wave, const Inst& inst) {
  using Move = StoreLane<bytes, Half::whole>;
  const uint32_t* addresses = wave.vgpr(inst.vaddr);
  const uint32_t* first = wave.vgpr(inst.vdata);
  const uint32_t* second = wave.vgpr(inst.vdata2);
  const uint32_t offset0 = (offset_of(inst) & 255) * unit, offset1 = (offset_of(inst) >> 8) * unit;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    Move::move(first, lane, place(wave, inst, addresses[lane], offset0, bytes, lane));
    Move::move(second, lane, place(wave, inst, addresses[lane], offset1, bytes, lane));
  });
  finish_lds(wave, inst, {addresses, bytes / 4, 2});
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

// cmpst has the expected value first, mskor the mask; the other operand follows in data1.
bool has_two_operands(AtomicOp op) {
  return is_compare(op) || op == AtomicOp::mskor || op == AtomicOp::mskor_x2 || op == AtomicOp::wrap;
}

void atomic(Wave& wave, const Inst& inst) {
  const DsAtomic wanted = atomic_of(inst.op);
  const unsigned dwords = atomic_dwords(wanted.op);
  const Addresses addresses(wave, inst);
  const uint32_t* data0 = wave.vgpr(inst.vdata);
  const uint32_t* data1 = wave.vgpr(inst.vdata2);
  uint32_t* result = wave.vgpr(inst.dst);
  const bool two = has_two_operands(wanted.op);
  // wrap is the exception: its first operand is the bound.
  const bool swapped = two && wanted.op != AtomicOp::wrap;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    uint8_t* memory = place(wave, inst, addresses.at[lane], offset_of(inst), dwords * 4, lane);
    const uint64_t first = lane_value(data0, lane, dwords);
    const uint64_t second = two ? lane_value(data1, lane, dwords) : 0;
    const uint64_t old =
        perform_atomic(wanted.op, memory, swapped ? second : first, swapped ? first : second);
    if (wanted.returns) {
      set_lane_value(result, lane, dwords, old);
    }
  });
  finish_lds(wave, inst, {addresses.at, dwords, 1, true});
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
  for_each_lane(wave.exec(), [&](unsigned lane) { rows[lane] = values[lane]; });
  count(wave);
}

// Inactive source lanes read 0 in all three.
void bpermute(Wave& wave, const Inst& inst) {
  const uint32_t* addresses = wave.vgpr(inst.vaddr);
  const uint32_t* data = wave.vgpr(inst.vdata);
  const uint64_t exec = wave.exec();
  uint32_t values[lanes];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned from = (addresses[lane] + offset_of(inst)) / 4 % lanes;
    values[lane] = exec >> from & 1 ? data[from] : 0;
  }
  store_lanes(wave, inst.dst, values);
}

void permute(Wave& wave, const Inst& inst) {
  const uint32_t* addresses = wave.vgpr(inst.vaddr);
  const uint32_t* data = wave.vgpr(inst.vdata);
  uint32_t values[lanes] = {};
  for_each_lane(wave.exec(),
                [&](unsigned lane) { values[(addresses[lane] + offset_of(inst)) / 4 % lanes] = data[lane]; });
  store_lanes(wave, inst.dst, values);
}

unsigned swizzle_source(uint32_t pattern, unsigned lane) {
  constexpr uint32_t quad_mode = 0x8000;
  if (pattern & quad_mode) {
    return (lane & ~3u) | (pattern >> (2 * (lane & 3)) & 3);
  }
  const uint32_t and_mask = pattern & 31, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
  return (lane & 32u) | ((((lane & 31) & and_mask) | or_mask) ^ xor_mask);
}

void swizzle(Wave& wave, const Inst& inst) {
  const uint32_t* data = wave.vgpr(inst.vaddr);
  const uint64_t exec = wave.exec();
  uint32_t values[lanes];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned from = swizzle_source(offset_of(inst), lane);
    values[lane] = exec >> from & 1 ? data[from] : 0;
  }
  store_lanes(wave, inst.dst, values);
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
  finish_lds(wave, inst, {addresses.at, 2});
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
