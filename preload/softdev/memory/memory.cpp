// Looks memory instructions up in the copy that runs.
#include "memory/memory.hpp"

#include "core/lane_code.hpp"
#include "memory/copies.hpp"

namespace ktrace::softdev {
namespace {

using Lookup = Handler (*)(const Inst&);

Lookup choose_lookup() {
  switch (lane_code()) {
#if defined(KTRACE_SOFTDEV_HAS_AVX512)
    case LaneCode::avx512:
      return avx512::memory_handler_of;
#endif
#if defined(KTRACE_SOFTDEV_HAS_AVX2)
    case LaneCode::avx2:
      return avx2::memory_handler_of;
#endif
    default:
      return baseline::memory_handler_of;
  }
}

}  // namespace

Handler memory_handler(const Inst& inst) {
  static const Lookup lookup = choose_lookup();
  return lookup(inst);
}

}  // namespace ktrace::softdev
