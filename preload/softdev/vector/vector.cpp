// Looks instructions up: handlers in the copy that runs, and mnemonics.
#include "vector/vector.hpp"

#include <array>

#include "core/lane_code.hpp"
#include "vector/isa.hpp"
#include "vector/opcodes.hpp"

namespace ktrace::softdev {
namespace {

using Lookup = Handler (*)(uint16_t);

Lookup choose_lookup() {
  switch (lane_code()) {
#if defined(KTRACE_SOFTDEV_HAS_AVX512)
    case LaneCode::avx512:
      return avx512::handler_of;
#endif
#if defined(KTRACE_SOFTDEV_HAS_AVX2)
    case LaneCode::avx2:
      return avx2::handler_of;
#endif
    default:
      return baseline::handler_of;
  }
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
