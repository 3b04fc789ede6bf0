// The copies of the memory instructions, one per instruction set of the host.
#pragma once

#include <cstdint>

#include "core/atomic.hpp"
#include "core/inst.hpp"

namespace ktrace::softdev {

namespace baseline {
Handler memory_handler_of(const Inst& inst);
uint64_t perform_atomic(AtomicOp op, uint8_t* memory, uint64_t data, uint64_t compare);
}  // namespace baseline
#if defined(KTRACE_SOFTDEV_HAS_AVX2)
namespace avx2 {
Handler memory_handler_of(const Inst& inst);
}
#endif
#if defined(KTRACE_SOFTDEV_HAS_AVX512)
namespace avx512 {
Handler memory_handler_of(const Inst& inst);
}
#endif

}  // namespace ktrace::softdev
