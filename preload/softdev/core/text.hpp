// An executable segment and its instructions, decoded when they are first executed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "core/inst.hpp"
#include "core/wave.hpp"

namespace ktrace::softdev {

// The function that executes an instruction; null if none does.
Handler find_handler(const Inst& inst);

struct Text {
  Text(uint64_t base_address, uint64_t size_bytes, Arch target)
      : base(base_address), size(size_bytes), arch(target), m_by_dword(new Slot[size_bytes / 4 + 1]()) {}

  const uint64_t base;
  const uint64_t size;
  const Arch arch;

  bool contains(uint64_t pc) const { return pc - base < size && (pc & 3) == 0; }
  // `pc` is contained. Never null; what cannot be decoded has a handler that raises the fault.
  const Inst* at(uint64_t pc) const {
    const Inst* inst = m_by_dword[(pc - base) >> 2].load(std::memory_order_acquire);
    return __builtin_expect(inst != nullptr, 1) ? inst : decode_at(pc);
  }

 private:
  using Slot = std::atomic<const Inst*>;
  mutable std::unique_ptr<Slot[]> m_by_dword;
  mutable std::mutex m_mutex;
  mutable std::deque<Inst> m_insts;  // a deque: addresses stay

  const Inst* decode_at(uint64_t pc) const;
};

}  // namespace ktrace::softdev
