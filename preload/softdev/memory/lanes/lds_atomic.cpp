// LDS (DS) instructions: atomics.
#include <array>
#include <utility>

#include "memory/lanes/lds.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

struct DsAtomic {
  AtomicOp op;
  bool returns;
};

constexpr AtomicOp none = AtomicOp::none;

// Opcodes 0..24 of the 32-bit block; the others repeat it at +32 (returning), +64 and +96 (64 bits).
constexpr AtomicOp base_atomic(unsigned op) {
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

constexpr AtomicOp wide(AtomicOp op) {
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

constexpr DsAtomic atomic_of(unsigned op) {
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

template <size_t... numbers>
constexpr std::array<DsAtomic, sizeof...(numbers)> atomics_table(std::index_sequence<numbers...>) {
  return {atomic_of(numbers)...};
}
constexpr auto atomic_by_op = atomics_table(std::make_index_sequence<256>());

// Whether `size` bytes at every active lane's address + offset lie in LDS; the sum wraps.
bool all_inside(Wave& wave, const uint32_t* addresses, uint32_t offset, unsigned size) {
  const size_t allocated = wave.workgroup->lds.size();
  return allocated >= size &&
         are_within(addresses, wave.mask(), 0u - offset, static_cast<uint32_t>(allocated - size));
}

// Where the active lanes' bytes are.
void find_places(Wave& wave, const Inst& inst, unsigned size, uint64_t* places) {
  const uint32_t* at = wave.vgpr(inst.vaddr);
  const uint32_t offset = lds_offset(inst);
  if (all_inside(wave, at, offset, size)) {
    const auto lds = reinterpret_cast<uint64_t>(wave.workgroup->lds.data());
    for (unsigned lane = 0; lane < lanes; ++lane) {
      places[lane] = lds + static_cast<uint32_t>(at[lane] + offset);
    }
  } else {
    for_each_lane(wave.exec(), [&](unsigned lane) {
      places[lane] = reinterpret_cast<uint64_t>(lds_memory(wave, inst, at[lane] + offset, size, lane));
    });
  }
}

void atomic(Wave& wave, const Inst& inst) {
  const DsAtomic wanted = atomic_by_op[inst.op];
  const unsigned dwords = atomic_dwords(wanted.op);
  // cmpst has the expected value first, mskor the mask; the other operand follows in data1. wrap is the
  // exception: its first operand is the bound.
  const bool swapped = has_compare(wanted.op) && wanted.op != AtomicOp::wrap;
  const uint32_t* data0 = wave.vgpr(inst.vdata);
  const uint32_t* data1 = wave.vgpr(inst.vdata2);
  const AtomicRows rows{wave.exec(), swapped ? data1 : data0, swapped ? data0 : data1,
                        wanted.returns ? wave.vgpr(inst.dst) : nullptr};
  alignas(64) uint64_t places[lanes];
  find_places(wave, inst, dwords * 4, places);
  const uint32_t* at = wave.vgpr(inst.vaddr);
  const bool in_run = dwords == 1 && rows.exec == all_lanes && is_run<4>(at);
  const uint32_t extra = in_run || !rows.exec ? 0 : lds_conflicts(wave, {at, dwords, true});
  if (!in_run || !perform_atomic_run(wanted.op, rows, reinterpret_cast<uint8_t*>(places[0]))) {
    perform_atomics(wanted.op, rows, places);
  }
  finish_lds(wave, extra);
}

// Whether every lane's dword lies in LDS.
bool all_dwords_inside(size_t allocated, const uint32_t* at, uint32_t offset) {
  Chunk highest{};
  for (unsigned lane = 0; lane < lanes; lane += chunk_lanes) {
    const Chunk begin = load_chunk(at + lane) + offset;
    highest = begin > highest ? begin : highest;
  }
  return allocated >= 4 &&
         !any_bit(reinterpret_cast<Chunk>(highest > splat(static_cast<uint32_t>(allocated) - 4)));
}

// Two lanes' dwords.
uint64_t pair_at(const uint32_t* rows) {
  uint64_t pair;
  std::memcpy(&pair, rows, sizeof pair);
  return pair;
}

void add_dword(uint8_t* memory, uint64_t data) {
  uint32_t value;
  std::memcpy(&value, memory, sizeof value);
  value += static_cast<uint32_t>(data);
  std::memcpy(memory, &value, sizeof value);
}

// ds_add_u32, of which histograms are made: all lanes' usual case has a way of its own.
void add(Wave& wave, const Inst& inst) {
  const uint32_t* const at = wave.vgpr(inst.vaddr);
  const uint32_t* const data = wave.vgpr(inst.vdata);
  const uint32_t offset = lds_offset(inst);
  std::vector<uint8_t>& lds = wave.workgroup->lds;
  if (wave.exec() != all_lanes || !all_dwords_inside(lds.size(), at, offset)) {
    atomic(wave, inst);
    return;
  }
  if (is_run<4>(at)) {
    perform_atomic_run(AtomicOp::add, {all_lanes, data, nullptr, nullptr},
                       lds.data() + static_cast<uint32_t>(at[0] + offset));
    finish_lds(wave);
    return;
  }
  const uint32_t extra = lds_conflicts(wave, {at, 1, true});
  uint8_t* const memory = lds.data();
  for (unsigned lane = 0; lane < lanes; lane += 2) {
    const uint64_t begins = pair_at(at + lane), operands = pair_at(data + lane);
    add_dword(memory + static_cast<uint32_t>(static_cast<uint32_t>(begins) + offset), operands);
    add_dword(memory + static_cast<uint32_t>(static_cast<uint32_t>(begins >> 32) + offset), operands >> 32);
  }
  finish_lds(wave, extra);
}

}  // namespace

Handler lds_atomic_handler(uint16_t op) {
  const DsAtomic wanted = atomic_by_op[op & 255];
  if (op > 255 || wanted.op == none) {
    return nullptr;
  }
  return wanted.op == AtomicOp::add && !wanted.returns ? add : atomic;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
