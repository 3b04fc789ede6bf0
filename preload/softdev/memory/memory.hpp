// The interface between the core and the instructions of vector memory and LDS.
#pragma once

#include "core/inst.hpp"

namespace ktrace::softdev {

// FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF and DS; null for an opcode that is not implemented.
Handler memory_handler(const Inst& inst);

}  // namespace ktrace::softdev
