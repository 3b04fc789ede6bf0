// LDS (DS) instructions: reads that transpose a matrix in each group of 16 lanes.
#include <cstring>

#include "memory/lanes/lds.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

namespace {

// Every group of 16 lanes reads 16 * 8 bytes as a matrix of elements and gets it transposed: lane l's element
// j is element l % per_lane ... of the lane that holds row j.
template <unsigned element_bits>
void read_transposed(Wave& wave, const Inst& inst) {
  constexpr unsigned per_lane = 64 / element_bits;  // elements in a lane's 8 bytes
  constexpr unsigned group = 16;
  constexpr uint64_t element_mask = (uint64_t{1} << element_bits) - 1;
  const LdsAddresses addresses(wave, inst);
  const uint64_t exec = wave.exec();
  uint64_t read[lanes] = {};
  for_each_lane(exec, [&](unsigned lane) {
    std::memcpy(&read[lane], lds_memory(wave, inst, addresses.at[lane] + lds_offset(inst), 8, lane), 8);
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
  finish_lds(wave, exec ? lds_conflicts(wave, {addresses.at, 2}) : 0);
}

// In each group of 16 lanes, every lane reads 16 elements of 6 bits, and gets one of each lane.
void read_transposed_6(Wave& wave, const Inst& inst) {
  constexpr unsigned group = 16, width = 6, bytes = 12;
  const LdsAddresses addresses(wave, inst);
  uint8_t read[lanes][bytes + 4] = {};
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const uint32_t address = addresses.at[lane] + lds_offset(inst);
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
  finish_lds(wave, wave.exec() ? lds_conflicts(wave, {addresses.at, bytes / 4}) : 0);
}

}  // namespace

Handler lds_transpose_handler(uint16_t op) {
  switch (op) {
    case 224:
      return read_transposed<4>;
    case 225:
      return read_transposed_6;
    case 226:
      return read_transposed<8>;
    case 227:
      return read_transposed<16>;
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
