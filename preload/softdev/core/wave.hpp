// The state of one wave and of its workgroup, and how an instruction reports a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/inst.hpp"

namespace ktrace::softdev {

constexpr unsigned lanes = 64;

enum class Arch : uint8_t { gfx90a, gfx942, gfx950 };

class CodeObject;
struct CuClock;
struct Decoded;
struct DispatchState;
struct Text;
class WaveChecks;
struct Workgroup;

// FLAT addresses whose upper half equals one of these go to LDS and to scratch.
constexpr uint64_t shared_aperture = 0x0001000000000000ULL;
constexpr uint64_t private_aperture = 0x0002000000000000ULL;

// Bits of MODE (hwreg 1) that handlers need.
constexpr uint32_t mode_round_f32 = 0x3;  // 0 even, 1 +inf, 2 -inf, 3 zero
constexpr uint32_t mode_round_f64_f16 = 0xc;
constexpr uint32_t mode_denorm_f32 = 0x30;  // bit 4: inputs kept, bit 5: outputs kept
constexpr uint32_t mode_denorm_f64_f16 = 0xc0;
constexpr uint32_t mode_dx10_clamp = 0x100;
constexpr uint32_t mode_ieee = 0x200;

struct Wave {
  // SGPRs at their architectural numbers; VCC is 106/107, M0 124, EXEC 126/127 (see inst.hpp).
  uint32_t sgpr[128];
  uint32_t scc;  // 0 or 1
  uint32_t mode;
  // Rows of 64 dwords. The file always has room for 256 + 256 rows and for the overrun of a multi-register
  // operand, so an index out of a decoded instruction never leaves it; rows beyond the descriptor's count are
  // not cleared.
  uint32_t* vgprs;  // 64-byte aligned
  uint64_t pc;  // address of the instruction being executed; the core adds its size after the handler returns
  Arch arch;
  Workgroup* workgroup;

  // 0 or ~0 per lane, for EXEC as it is now.
  const uint32_t* mask() {
    const uint64_t wanted = exec();
    if (__builtin_expect(wanted != m_mask_exec, 0)) {
      expand_mask(wanted);
    }
    return m_mask;
  }

  uint32_t* vgpr(unsigned index) { return vgprs + size_t{index} * lanes; }
  const uint32_t* vgpr(unsigned index) const { return vgprs + size_t{index} * lanes; }

  uint64_t sgpr64(unsigned index) const { return sgpr[index] | uint64_t{sgpr[index + 1]} << 32; }
  void set_sgpr64(unsigned index, uint64_t value) {
    sgpr[index] = static_cast<uint32_t>(value);
    sgpr[index + 1] = static_cast<uint32_t>(value >> 32);
  }
  uint64_t exec() const { return sgpr64(code_exec); }
  void set_exec(uint64_t value) { set_sgpr64(code_exec, value); }
  uint64_t vcc() const { return sgpr64(code_vcc); }
  void set_vcc(uint64_t value) { set_sgpr64(code_vcc, value); }

  // ---- of the core: vector handlers leave these alone
  uint64_t time;  // virtual cycles
  uint64_t start_time;
  uint64_t instructions;
  uint32_t hw_id;
  uint32_t xcc_id;
  uint32_t wave_in_group;
  uint32_t simd;  // within the CU
  bool gpr_index_on;
  bool done;
  bool at_barrier;
  uint8_t* scratch;       // lane l's byte b is scratch[l * scratch_size + b]
  uint32_t scratch_size;  // bytes per lane
  DispatchState* dispatch;
  const Text* text;  // the code segment that pc was last in

  uint64_t last_vector_result;  // when the latest of vmcnt's operations is done
  CuClock* clock;               // of the CU that it runs on
  WaveChecks* checks;           // null unless KTRACE_SOFT_CHECK asks for them

  uint64_t matrix_ready;  // the latest of the matrix results below

  // Completion times of outstanding memory operations, for s_waitcnt (counters.hpp): oldest first ...
  struct Counter {
    static constexpr unsigned depth = 64;
    uint32_t head;
    uint32_t count;
    uint64_t ready[depth];
  };
  // ... and whatever is done first counts first: sorted, from head on.
  struct Unordered {
    static constexpr unsigned depth = 16;
    uint32_t head;
    uint32_t count;
    uint64_t ready[depth];  // a ring
  };
  Unordered lgkmcnt;
  Counter vmcnt;

  // Matrix results that may not have left the matrix unit yet.
  struct MatrixResult {
    const Decoded* by;
    uint64_t forwarded;  // when an accumulation into the same registers can use it
    uint64_t ready;      // when everything else can
  };
  static constexpr unsigned matrix_depth = 8;
  uint32_t matrix_next;
  MatrixResult matrix[matrix_depth];  // a ring

  // Everything to 0, but the register file and scratch, and what is not looked at before it is written.
  void reset();

 private:
  alignas(64) uint32_t m_mask[lanes];
  uint64_t m_mask_exec;

  void expand_mask(uint64_t exec_value);
};

struct Workgroup {
  std::vector<uint8_t> lds;
  std::vector<bool> lds_written;  // by byte; the checks' own (check_lds.hpp)
  uint32_t id[3] = {};
  uint32_t live_waves = 0;
  uint32_t waiting_waves = 0;  // at a barrier
  uint32_t cu = 0;             // of the device: XCD * CUs per XCD + CU within the XCD
};

// What stops a dispatch. what() names kernel, workgroup, wave, pc, instruction and cause.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Kernel, workgroup, wave, pc and instruction, for messages.
std::string place_of(const Wave& wave, const Inst& inst);

// Throws Fault with the place in front of the given cause, which has neither newline nor full stop.
[[noreturn]] void fault(const Wave& wave, const Inst& inst, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- reading scalar operands (codes 0..255 of inst.hpp); codes 256 and above are the vector handlers' own
// business

enum class OperandType : uint8_t {
  integer,
  real
};  // decides what a 64-bit literal and an inline float widen to

// Inline floats read as f32 bit patterns, apertures as their upper half. Faults on a code that is none.
uint32_t read_scalar(const Wave& wave, const Inst& inst, unsigned code);
// A 32-bit literal is zero extended (`integer`) or the upper half of a double (`real`); inline floats read as
// doubles, inline integers are sign extended.
uint64_t read_scalar64(const Wave& wave, const Inst& inst, unsigned code, OperandType type);
// Inline floats read as f16 bit patterns; everything else as read_scalar. For 16-bit instructions.
uint32_t read_scalar16(const Wave& wave, const Inst& inst, unsigned code);

}  // namespace ktrace::softdev
