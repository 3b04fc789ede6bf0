// Which copy of the code over lanes runs. It is compiled once per instruction set of the host (copies.cmake),
// and all copies give the same results.
#pragma once

#include <cstdint>

namespace ktrace::softdev {

// Slowest first. A processor that runs one runs those before it.
enum class LaneCode : uint8_t { baseline, avx2, avx512 };

// The fastest copy that was compiled, that this processor runs and that KTRACE_SOFT_LANES lets it run. Throws
// LoadError.
LaneCode lane_code();

}  // namespace ktrace::softdev
