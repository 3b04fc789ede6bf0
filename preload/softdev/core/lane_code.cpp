#include "core/lane_code.hpp"

#include <algorithm>

#include "core/settings.hpp"

namespace ktrace::softdev {
namespace {

// __builtin_cpu_supports also asks whether the kernel saves the registers.
#if defined(KTRACE_SOFTDEV_HAS_AVX2)
bool runs_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}
#endif

#if defined(KTRACE_SOFTDEV_HAS_AVX512)
bool runs_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
}
#endif

LaneCode fastest() {
#if defined(KTRACE_SOFTDEV_HAS_AVX2)
  __builtin_cpu_init();
  if (runs_avx2()) {
#if defined(KTRACE_SOFTDEV_HAS_AVX512)
    if (runs_avx512()) {
      return LaneCode::avx512;
    }
#endif
    return LaneCode::avx2;
  }
#endif
  return LaneCode::baseline;
}

}  // namespace

LaneCode lane_code() {
  static const LaneCode code = std::min(fastest(), lane_code_from_environment());
  return code;
}

}  // namespace ktrace::softdev
