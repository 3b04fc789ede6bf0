// The copies of the handlers, one per instruction set of the host.
#pragma once

#include "core/inst.hpp"

namespace ktrace::softdev {

namespace baseline {
Handler handler_of(uint16_t canonical_op);
}
#if defined(KTRACE_SOFTDEV_HAS_AVX2)
namespace avx2 {
Handler handler_of(uint16_t canonical_op);
}
#endif
#if defined(KTRACE_SOFTDEV_HAS_AVX512)
namespace avx512 {
Handler handler_of(uint16_t canonical_op);
}
#endif

}  // namespace ktrace::softdev
