// Moves between lanes, between vector and scalar registers, and to and from accumulation registers.
#include <algorithm>

#include "vector/lanes/families.hpp"
#include "vector/lanes/integer_math.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

void do_nothing(Wave&, const Inst&) {}

uint32_t read_lane_of(const Wave& wave, const Inst& inst, unsigned code, unsigned lane) {
  return code >= code_vgpr ? wave.vgpr(code - code_vgpr)[lane] : read_scalar(wave, inst, code);
}

void read_lane(Wave& wave, const Inst& inst) {
  const unsigned lane = read_scalar(wave, inst, inst.src[1]) & (lanes - 1);
  wave.sgpr[inst.dst] = read_lane_of(wave, inst, inst.src[0], lane);
}

// Lane 0 if EXEC is empty.
void read_first_lane(Wave& wave, const Inst& inst) {
  const uint64_t exec = wave.exec();
  const unsigned lane = exec != 0 ? static_cast<unsigned>(__builtin_ctzll(exec)) : 0;
  wave.sgpr[inst.dst] = read_lane_of(wave, inst, inst.src[0], lane);
}

// Ignores EXEC.
void write_lane(Wave& wave, const Inst& inst) {
  const unsigned lane = read_scalar(wave, inst, inst.src[1]) & (lanes - 1);
  wave.vgpr(inst.dst)[lane] = read_scalar(wave, inst, inst.src[0]);
}

void swap_registers(Wave& wave, const Inst& inst) {
  Row first;
  Row second;
  std::memcpy(first.at, wave.vgpr(inst.dst), sizeof first.at);
  std::memcpy(second.at, wave.vgpr(inst.src[0] - code_vgpr), sizeof second.at);
  commit(wave, inst.dst, second, Enable{});
  commit(wave, inst.src[0] - unsigned{code_vgpr}, first, Enable{});
}

// Exchanges the odd groups of `group` lanes of the first register with the even ones of the second. EXEC
// does not matter.
template <unsigned group>
void swap_lane_groups(Wave& wave, const Inst& inst) {
  uint32_t* first = wave.vgpr(inst.dst);
  uint32_t* second = wave.vgpr(inst.src[0] - code_vgpr);
  for (unsigned start = 0; start < lanes; start += 2 * group) {
    std::swap_ranges(second + start, second + start + group, first + start + group);
  }
}

// How many lanes below this one have their bit set in the mask's half.
template <bool high_half>
void count_mask_below(Wave& wave, const Inst& inst) {
  Enable enable;
  const Source<U32> mask(wave, inst, 0, enable);
  const Source<U32> start(wave, inst, 1, enable);
  Result<U32> result;
  KTRACE_EACH_LANE(l) {
    const unsigned place = l & 31u;
    const uint32_t below_in_half = (1u << place) - 1u;
    const bool upper_lane = l >= 32;
    const uint32_t below = high_half ? (upper_lane ? below_in_half : 0u) : (upper_lane ? ~0u : below_in_half);
    result.set(l, count_ones(mask[l] & below) + start[l]);
  }
  result.commit(wave, inst, enable);
}

// Moves halves as they are: no arithmetic, so NaN payloads and denormals survive.
uint32_t pack_halves(uint32_t low, uint32_t high) { return low | high << 16; }

constexpr OpHandler lane_moves[] = {
    {op::v_pack_b32_f16, run<U32(U16, U16), pack_halves>},
    {op::v_nop, do_nothing},
    {op::v_clrexcp, do_nothing},
    {op::v_readlane_b32, read_lane},
    {op::v_readfirstlane_b32, read_first_lane},
    {op::v_writelane_b32, write_lane},
    {op::v_swap_b32, swap_registers},
    {op::v_permlane16_swap_b32, swap_lane_groups<16>},
    {op::v_permlane32_swap_b32, swap_lane_groups<32>},
    {op::v_mbcnt_lo_u32_b32, count_mask_below<false>},
    {op::v_mbcnt_hi_u32_b32, count_mask_below<true>},
    {op::v_accvgpr_read_b32, run<U32(U32), copy<uint32_t>>},
    {op::v_accvgpr_write_b32, run<U32(U32), copy<uint32_t>>},
    {op::v_accvgpr_mov_b32, run<U32(U32), copy<uint32_t>>},
};

}  // namespace

void add_lane_moves(HandlerTable& table) { table.add(lane_moves); }

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
