// Looks instructions up: handlers in the best copy that this processor runs, and mnemonics.
#include "vector/vector.hpp"

#include <array>

#include "core/settings.hpp"
#include "vector/isa.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev {
namespace {

using Lookup = Handler (*)(uint16_t);

// KTRACE_SOFT_LANES=baseline runs the portable copy, so that tests can compare both on one machine.
Lookup choose_lookup() {
#if defined(KTRACE_SOFTDEV_HAS_AVX2)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                        __builtin_cpu_supports("f16c");
  if (has_avx2 && !baseline_lanes_from_environment()) {
    return avx2::handler_of;
  }
#endif
  return baseline::handler_of;
}

Handler find_handler(uint16_t canonical_op) {
  static const Lookup lookup = choose_lookup();
  return canonical_op < vector_op_count ? lookup(canonical_op) : nullptr;
}

}  // namespace

Handler vector_handler(uint16_t canonical_op) { return find_handler(canonical_op); }

Handler mfma_handler(uint16_t canonical_op) { return find_handler(canonical_op); }

const char* vector_name(uint16_t canonical_op) {
  static const auto names = [] {
    std::array<const char*, vector_op_count> filled{};
#define KTRACE_SOFTDEV_NAME(name, number) filled[number] = #name;
    KTRACE_SOFTDEV_VECTOR_OPCODES(KTRACE_SOFTDEV_NAME)
#undef KTRACE_SOFTDEV_NAME
    return filled;
  }();
  return canonical_op < vector_op_count ? names[canonical_op] : nullptr;
}

}  // namespace ktrace::softdev
