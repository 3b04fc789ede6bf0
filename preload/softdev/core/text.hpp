// An executable segment and its instructions, decoded when they are first executed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/inst.hpp"
#include "core/registers.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// The function that executes an instruction; null if none does.
Handler find_handler(const Inst& inst);

// What an instruction waits for: nothing, its turn at a unit of its SIMD, a unit of its CU, or that and the
// other CUs, as they may notice it.
enum class Start : uint8_t { at_once, in_turn, on_cu, in_order };

// How the wave goes on after an instruction: with the next one, 4 cycles later; with the next one, at
// whatever time; or anyhow.
enum class After : uint8_t { next, later, anyhow };

// Instructions in line of which each takes one turn of the scalar or of the vector unit, and which are
// followed by the next: they need not be looked at one by one. Bit k stands for the k-th of them, 0 for the
// first.
struct Line {
  static constexpr unsigned most = 16;
  uint16_t count = 1;   // 0: not known yet; 1: none, or one alone
  uint16_t scalar = 0;  // which of them take a turn of the scalar unit; the others of the vector unit
  uint32_t vector() const { return ((uint32_t{1} << count) - 1) & ~uint32_t{scalar}; }
};

// An instruction, and what the interpreter looks at for each: the instruction behind it, once that has been
// executed, so that straight-line code needs no lookup; and what is known of its time. Loops are much larger
// here than on the device: most instructions need one line of the host's caches, and with three for each
// these first ones lie in all of a cache's sets.
struct alignas(64) Decoded {
  mutable std::atomic<const Decoded*> next{nullptr};
  mutable std::atomic<Line> line{Line()};  // that begins with it
  Start start = Start::at_once;
  uint8_t turns = 0;  // that it takes, if it leaves no result behind to wait for; else 0
  After after = After::anyhow;
  bool is_in_line = false;  // fit for a line
  Inst inst;
  RegisterUse registers;  // of vector and memory instructions
};
static_assert(sizeof(Decoded) == 192 && offsetof(Decoded, inst) + offsetof(Inst, segment) == 64,
              "three lines, of which one is for all");

struct Text {
  Text(uint64_t base_address, uint64_t size_bytes, Arch target)
      : base(base_address), size(size_bytes), arch(target), m_by_dword(new Slot[size_bytes / 4 + 1]()) {}

  const uint64_t base;
  const uint64_t size;
  const Arch arch;

  // Before anything is decoded: code elsewhere may listen to what this one tells.
  void assume_hearing() { m_hears = true; }
  bool contains(uint64_t pc) const { return pc - base < size && (pc & 3) == 0; }
  // The line that begins with the instruction at `pc`, which is `first`. Its instructions know each other
  // then.
  Line line_at(uint64_t pc, const Decoded& first) const;
  // `pc` is contained. Never null; what cannot be decoded has a handler that raises the fault.
  const Decoded* at(uint64_t pc) const {
    const Decoded* decoded = m_by_dword[(pc - base) >> 2].load(std::memory_order_acquire);
    return __builtin_expect(decoded != nullptr, 1) ? decoded : decode_at(pc);
  }

 private:
  using Slot = std::atomic<const Decoded*>;
  mutable std::unique_ptr<Slot[]> m_by_dword;
  mutable std::mutex m_mutex;
  // Addresses stay.
  static constexpr size_t block_size = 64;
  mutable std::vector<std::unique_ptr<Decoded[]>> m_blocks;
  mutable size_t m_used = block_size;  // of the last block

  mutable std::optional<bool> m_hears;  // guarded by m_mutex, as are the blocks

  const Decoded* decode_at(uint64_t pc) const;
  // Whether any of its instructions is one with which waves hear of others. Traced kernels store with the
  // scalar unit, which compilers never do: if it is not listened to, these stores need no order.
  bool hears() const;
  bool read_hears() const;
};

}  // namespace ktrace::softdev
