// The function of the HSA runtime through which HIP hands over every code object, in front of which this
// library stands.
#include <atomic>

#include "hooks.hpp"
#include "loader.hpp"

namespace ktrace {
namespace {

using CreateReader = int (*)(const void* code_object, std::size_t size, void* reader);

constexpr int hsa_status_error = 0x1000;
constexpr char function_name[] = "hsa_code_object_reader_create_from_memory";

// The library may be in a local scope, where only its own handle leads to it.
CreateReader real_function() {
  static std::atomic<CreateReader> found{nullptr};
  CreateReader function = found.load(std::memory_order_relaxed);
  if (function) return function;
  function = reinterpret_cast<CreateReader>(find_in_loaded("libhsa-runtime64.so", function_name));
  found.store(function, std::memory_order_relaxed);
  return function;
}

int create_reader(const void* code_object, std::size_t size, void* reader) noexcept {
  try {
    const CreateReader create = real_function();
    const int result = create ? create(code_object, size, reader) : hsa_status_error;
    Session* const session = result == 0 ? Session::existing() : nullptr;
    if (session && code_object)
      session->guarded(
          [&] { session->registry().tap().add({static_cast<const std::uint8_t*>(code_object), size}); });
    return result;
  } catch (...) {
    return hsa_status_error;
  }
}

}  // namespace
}  // namespace ktrace

extern "C" KTRACE_EXPORT int hsa_code_object_reader_create_from_memory(const void* code_object,
                                                                       std::size_t size, void* reader) {
  return ktrace::create_reader(code_object, size, reader);
}
