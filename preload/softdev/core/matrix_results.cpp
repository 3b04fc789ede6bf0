// A short list of the matrix instructions whose results may not be there yet.
#include "core/matrix_results.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/registers.hpp"

namespace ktrace::softdev {

namespace {

// All registers that the instruction writes; of an unknown one, the first.
RegisterSpan result_of(const Decoded& decoded) {
  const uint16_t count = decoded.registers.write_count ? decoded.registers.writes[0].count : uint16_t{1};
  return {static_cast<uint16_t>(code_vgpr + decoded.inst.dst), count};
}

bool touches(const RegisterUse& use, const RegisterSpan& result) {
  const auto overlaps = [&](const RegisterSpan& span) { return span.overlaps(result); };
  return std::any_of(use.reads, use.reads + use.read_count, overlaps) ||
         std::any_of(use.writes, use.writes + use.write_count, overlaps);
}

// The result goes on as the accumulator of the same registers, and nothing else reads it.
bool accumulates_further(const Inst& before, const Inst& inst, const RegisterSpan& result) {
  if (inst.encoding != Encoding::mfma || inst.dst != before.dst || inst.src[2] != code_vgpr + inst.dst) {
    return false;
  }
  const auto is_inside = [&](uint16_t code) {
    return code >= result.first && code < result.first + result.count;
  };
  return !is_inside(inst.src[0]) && !is_inside(inst.src[1]);
}

}  // namespace

uint64_t after_matrix_results(const Wave& wave, const Decoded& decoded, uint64_t time) {
  const Inst& inst = decoded.inst;
  if (inst.encoding < Encoding::vop1) {
    return time;  // scalar ones have nothing to do with vector registers
  }
  for (const Wave::MatrixResult& pending : wave.matrix) {
    if (pending.ready <= time) {
      continue;
    }
    const RegisterSpan result = result_of(*pending.by);
    if (touches(decoded.registers, result)) {
      time = std::max(
          time, accumulates_further(pending.by->inst, inst, result) ? pending.forwarded : pending.ready);
    }
  }
  return time;
}

void remember_matrix_result(Wave& wave, const Decoded& decoded, uint64_t time) {
  const Inst& inst = decoded.inst;
  Wave::MatrixResult& slot = wave.matrix[wave.matrix_next];
  wave.matrix_next = (wave.matrix_next + 1) % Wave::matrix_depth;
  slot = {&decoded, time + inst.busy_cycles, time + inst.result_cycles};
  wave.matrix_ready = std::max(wave.matrix_ready, slot.ready);
}

}  // namespace ktrace::softdev
