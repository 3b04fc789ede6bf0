// Every number of the clock model, in one table with its source. docs/reference/software-device.md shows the
// same table; a test compares the two.
//
// Sources: "ISA" is AMD's "AMD Instinct MI300 Instruction Set Architecture" (CDNA3); "LLVM sched" is LLVM's
// SISchedule.td, model SIDPGFX942FullSpeedModel, whose unit is four cycles; "LLVM hazards" is LLVM's
// GCNHazardRecognizer.cpp; "white paper" is AMD's CDNA 3 white paper; "chosen" is ours: a round number of the
// right order, to be read as "a level further away".
#pragma once

#include <cstdint>

// X(name, value, unit and meaning, source)
#define KTRACE_CLOCK_PARAMETERS(X)                                                                           \
  X(issue, 4, "cycles between two instructions of a wave", "ISA: a SIMD has its turn every four cycles")     \
  X(salu_cycles, 4, "cycles of a scalar instruction", "LLVM sched: WriteSALU 1")                             \
  X(valu_cycles, 4, "cycles of a vector instruction", "LLVM sched: Write32Bit 1; ISA: 64 lanes, 16 a cycle") \
  X(valu_wide_cycles, 4, "cycles of f64 and of 32-bit multiplication",                                       \
    "LLVM sched: WriteDouble 1, WriteIntMul 1")                                                              \
  X(transcendental_cycles, 16, "cycles of exp, log, rcp, rsq, sqrt, sin, cos", "LLVM sched: WriteTrans32 4") \
  X(matrix_pass, 4, "cycles of one pass of a matrix instruction", "LLVM sched: Write4PassMAI and so on")     \
  X(matrix_read_xdl, 3, "passes from the last one to a read, f16 bf16 i8 fp8 xf32",                          \
    "LLVM hazards: passes + 3")                                                                              \
  X(matrix_read_other, 2, "passes from the last one to a read, f32 and f64", "LLVM hazards: passes + 2")     \
  X(branch_taken, 12, "cycles more for a branch that is taken", "LLVM sched: WriteBranch 8 on 4 of issue")   \
  X(barrier, 16, "cycles from the last wave's arrival to the first instruction after it", "chosen")          \
  X(sleep_unit, 64, "cycles of one unit of s_sleep", "ISA: s_sleep")                                         \
  X(clock_latency, 44, "cycles until s_memtime and s_memrealtime have answered", "chosen")                   \
  X(smem_cycles, 4, "cycles of the scalar memory unit for an instruction", "chosen")                         \
  X(scalar_line, 64, "bytes of a line of the scalar cache", "ISA: scalar data cache")                        \
  X(scalar_lines, 256, "lines of it for a CU", "white paper: 16 KiB")                                        \
  X(scalar_latency, 60, "cycles to the scalar cache", "chosen")                                              \
  X(scalar_l2_latency, 200, "cycles from scalar memory to L2", "chosen")                                     \
  X(lds_banks, 32, "banks of LDS, a dword wide, each with one access a cycle", "ISA: LDS")                   \
  X(lds_cycles, 2, "cycles of LDS for a dword of each lane, without conflicts",                              \
    "ISA: LDS, 128 bytes a cycle")                                                                           \
  X(lds_latency, 64, "cycles to LDS", "chosen")                                                              \
  X(vmem_cycles, 4, "cycles of the address unit for an instruction", "chosen: 16 lanes a cycle")             \
  X(line, 128, "bytes of a line of L1 and L2", "white paper")                                                \
  X(line_cycles, 2, "cycles of L1 for a line", "white paper: 64 bytes a cycle for a CU")                     \
  X(scatter_sample, 4, "lines of single lanes for each one that is looked up in the caches",                 \
    "chosen: speed")                                                                                         \
  X(l1_lines, 256, "lines of a CU's L1", "white paper: 32 KiB")                                              \
  X(l1_latency, 120, "cycles to L1", "chosen")                                                               \
  X(l2_lines, 32768, "lines of an XCD's L2", "white paper: 4 MiB")                                           \
  X(l2_latency, 300, "cycles to L2", "chosen")                                                               \
  X(memory_latency, 700, "cycles to memory", "chosen")                                                       \
  X(memory_bandwidth, 315, "bytes a cycle of an XCD's share of memory",                                      \
    "white paper: 5.3 TB/s, 8 XCDs, 2.1 GHz")                                                                \
  X(store_latency, 400, "cycles until a store has reached L2", "chosen")                                     \
  X(atomic_cycles, 4, "cycles of L2 for a line's atomic, for each lane in it", "chosen")                     \
  X(atomic_latency, 420, "cycles of an atomic in L2", "chosen")                                              \
  X(dispatch_overhead, 6300, "cycles from a dispatch to its first wave", "chosen: 3 us")                     \
  X(completion_overhead, 2100, "cycles from the last wave to the completion", "chosen: 1 us")                \
  X(workgroup_start, 12, "cycles between two workgroups started by one XCD", "chosen")                       \
  X(wave_start, 8, "cycles between two waves of a workgroup", "chosen")                                      \
  X(refill, 160, "cycles from a workgroup's end to its successor's first instruction", "chosen")

namespace ktrace::softdev::clock_model {

#define KTRACE_CLOCK_CONSTANT(name, value, meaning, source) constexpr uint64_t name = value;
KTRACE_CLOCK_PARAMETERS(KTRACE_CLOCK_CONSTANT)
#undef KTRACE_CLOCK_CONSTANT

}  // namespace ktrace::softdev::clock_model
