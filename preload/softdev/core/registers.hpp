// Which registers an instruction reads and writes, for the clock model and the checks. Where an instruction
// has forms that differ, what is certain is listed: too few registers rather than too many.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace ktrace::softdev {

// Numbers as in operand codes: 0..127 scalar ones, 256..511 VGPRs, 512..767 AccVGPRs.
struct RegisterSpan {
  uint16_t first;
  uint16_t count;
  bool overlaps(const RegisterSpan& other) const {
    return first < other.first + other.count && other.first < first + count;
  }
};

struct RegisterUse {
  static constexpr unsigned most_reads = 8, most_writes = 7;
  RegisterSpan reads[most_reads];
  RegisterSpan writes[most_writes];
  uint8_t read_count = 0;
  uint8_t write_count = 0;

  void read(unsigned first, unsigned count) { add(reads, most_reads, read_count, first, count); }
  void write(unsigned first, unsigned count) { add(writes, most_writes, write_count, first, count); }

 private:
  // Constants and literals are no registers.
  static void add(RegisterSpan* spans, unsigned most, uint8_t& used, unsigned first, unsigned count) {
    if (count && used < most && (first < 128 || first >= code_vgpr)) {
      spans[used++] = {static_cast<uint16_t>(first), static_cast<uint16_t>(count)};
    }
  }
};

RegisterUse registers_of(const Inst& inst, Arch arch);

// Dwords per lane of a matrix instruction's operands; all 0 for one that is not known.
struct MatrixOperands {
  unsigned a = 0, b = 0, c = 0;
};
MatrixOperands matrix_operands(const Inst& inst, Arch arch);

}  // namespace ktrace::softdev
