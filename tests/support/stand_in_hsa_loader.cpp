// Two libraries that take the places of HIP and HSA where HIP compiles code itself: built with -DHSA it is
// the HSA runtime as far as it takes code objects, without it a HIP that makes machine code of whatever it is
// given.
//
// That HIP stands in front of the software device, which it is linked to: calls that are not here go there.
// What it "compiles" is the file that MADE_CODE names.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

#ifdef HSA

EXPORT int hsa_code_object_reader_create_from_memory(const void* code, std::size_t size,
                                                     std::uint64_t* reader) {
  std::fprintf(stderr, "%zu bytes to HSA\n", size);
  *reader = reinterpret_cast<std::uint64_t>(code);
  return 0;
}

#else

#include <dlfcn.h>

struct dim3 {
  std::uint32_t x, y, z;
};

EXPORT int hsa_code_object_reader_create_from_memory(const void*, std::size_t, std::uint64_t*);

namespace {

// By handle: the names alone lead back here.
template <class Function>
Function device_function(const char* name) {
  static void* const device = dlopen(std::getenv("SOFTWARE_DEVICE"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(device, name));
}

std::vector<char> make_code() {
  std::ifstream file(std::getenv("MADE_CODE"), std::ios::binary);
  std::vector<char> code{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::uint64_t reader = 0;
  if (hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader) != 0) std::abort();
  return code;
}

void* made_function(const char* name) {
  static void* module = nullptr;
  void* function = nullptr;
  if (!module) {
    const std::vector<char> code = make_code();
    device_function<int (*)(void**, const void*)>("hipModuleLoadData")(&module, code.data());
  }
  device_function<int (*)(void**, void*, const char*)>("hipModuleGetFunction")(&function, module, name);
  return function;
}

}  // namespace

EXPORT int hipModuleLoadData(void** module, const void*) {
  const std::vector<char> code = make_code();
  return device_function<int (*)(void**, const void*)>("hipModuleLoadData")(module, code.data());
}
EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
  return device_function<int (*)(void**, void*, const char*)>("hipModuleGetFunction")(function, module, name);
}
EXPORT int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, void* stream, void** params,
                                 void** extra) {
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                         void**, void**);
  return device_function<Launch>("hipModuleLaunchKernel")(function, gx, gy, gz, bx, by, bz, shared, stream,
                                                          params, extra);
}
EXPORT int hipModuleUnload(void*) { return 1; }  // never
// A way to a function that no tool knows.
EXPORT int hipFunctionOfNobody(void** function) { return *function = made_function("saxpy"), 0; }

// One archive with one kernel, `saxpy`; its code is made when it is needed first.
EXPORT void** __hipRegisterFatBinary(const void*) {
  static void* handle = nullptr;
  return &handle;
}
EXPORT void __hipRegisterFunction(void**, const void*, char*, const char*, unsigned, void*, void*, dim3*,
                                  dim3*, int*) {}
EXPORT void __hipUnregisterFatBinary(void**) {}
EXPORT const char* hipKernelNameRefByPtr(const void*, void*) {
  return made_function("saxpy") ? "saxpy" : nullptr;
}
EXPORT int hipLaunchKernel(const void*, dim3 grid, dim3 block, void** params, std::size_t shared,
                           void* stream) {
  return hipModuleLaunchKernel(made_function("saxpy"), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                               static_cast<unsigned>(shared), stream, params, nullptr);
}

#endif
