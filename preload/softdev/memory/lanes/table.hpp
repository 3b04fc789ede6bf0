// The handlers of memory instructions, by encoding; null for an opcode that is not implemented.
#pragma once

#include "core/inst.hpp"
#include "vector/lanes/lanes.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

Handler flat_handler(const Inst& inst);
Handler mubuf_handler(const Inst& inst);
Handler format_handler(const Inst& inst);  // MTBUF, and MUBUF's formatted loads and stores
Handler ds_handler(const Inst& inst);

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
