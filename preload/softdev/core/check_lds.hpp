// KTRACE_SOFT_CHECK's rule for LDS, which holds zeros here and anything on hardware.
#pragma once

#include "core/wave.hpp"

namespace ktrace::softdev {

// Before the handler. Reports a read of a byte that nothing in the workgroup has written, and notes what the
// instruction writes.
void check_lds(Wave& wave, const Inst& inst);

}  // namespace ktrace::softdev
