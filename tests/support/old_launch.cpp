// The launch calls of the first HIP versions, which end in a call of hipModuleLaunchKernel through the
// dynamic linker, as HIP's own do. Compiled into a stand-in.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

struct dim3 {
  std::uint32_t x, y, z;
};

extern "C" int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, void*, void**, void**);

namespace {

struct Configured {
  dim3 grid{}, block{};
  void* stream = nullptr;
  std::vector<char> arguments;
};
thread_local Configured configured;

}  // namespace

FAKE_EXPORT int hipConfigureCall(dim3 grid, dim3 block, std::size_t, void* stream) {
  configured = {grid, block, stream, {}};
  return 0;
}

FAKE_EXPORT int hipSetupArgument(const void* argument, std::size_t size, std::size_t offset) {
  if (configured.arguments.size() < offset + size) configured.arguments.resize(offset + size);
  std::memcpy(configured.arguments.data() + offset, argument, size);
  return 0;
}

// Its own table of host functions is left out: `function` is a hipFunction_t here.
FAKE_EXPORT int hipLaunchByPtr(void* function) {
  std::size_t size = configured.arguments.size();
  void* extra[] = {reinterpret_cast<void*>(1), configured.arguments.data(), reinterpret_cast<void*>(2), &size,
                   reinterpret_cast<void*>(3)};
  const dim3 grid = configured.grid, block = configured.block;
  return hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0,
                               configured.stream, nullptr, extra);
}
