// The function of the HSA runtime through which HIP hands over every code object, in front of which this
// library stands.
#include <cstddef>
#include <cstdint>

#include "hooks.hpp"
#include "loader.hpp"

namespace ktrace {
namespace {

using CreateReader = int (*)(const void* code_object, std::size_t size, void* reader);

constexpr int hsa_status_error = 0x1000;
constexpr char function_name[] = "hsa_code_object_reader_create_from_memory";

void note_code(const void* code_object, std::size_t size) noexcept {
  Session* const session = Session::existing();
  if (!session) return;
  session->guarded(
      [&] { session->registry().tap().add({static_cast<const std::uint8_t*>(code_object), size}); });
}

CreateReader next_for(const void* return_address) noexcept {
  try {
    return reinterpret_cast<CreateReader>(next_for_caller(return_address, function_name));
  } catch (...) {
    return nullptr;
  }
}

}  // namespace
}  // namespace ktrace

// Each copy of HIP may have an HSA runtime of its own.
extern "C" KTRACE_EXPORT int hsa_code_object_reader_create_from_memory(const void* code_object,
                                                                       std::size_t size, void* reader) {
  using namespace ktrace;
  const CreateReader create = next_for(__builtin_return_address(0));
  const int result = create ? create(code_object, size, reader) : hsa_status_error;
  if (result == 0 && code_object) note_code(code_object, size);
  return result;
}
