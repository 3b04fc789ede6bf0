// A HIP host as clang emits one: registers a fat binary before main and launches by host function.
//
// Built as a program, or as a library that ctypes opens (entry `run`). The bundle and the entry point come
// from the environment, because there is no argv yet when static constructors run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

struct dim3 {
  std::uint32_t x, y, z;
};
struct LaunchConfig {
  dim3 grid, block;
  std::size_t shared;
  void* stream;
  void* attributes;
  unsigned count;
};

extern "C" {
void** __hipRegisterFatBinary(const void*);
void __hipRegisterFunction(void**, const void*, char*, const char*, unsigned, void*, void*, dim3*, dim3*,
                           int*);
void __hipUnregisterFatBinary(void**);
int hipLaunchKernel(const void*, dim3, dim3, void**, std::size_t, void*);
int hipLaunchKernel_spt(const void*, dim3, dim3, void**, std::size_t, void*) __attribute__((weak));
int hipLaunchCooperativeKernel(const void*, dim3, dim3, void**, unsigned, void*) __attribute__((weak));
int hipExtLaunchKernel(const void*, dim3, dim3, void**, std::size_t, void*, void*, void*, int)
    __attribute__((weak));
int hipLaunchKernelExC(const LaunchConfig*, const void*, void**) __attribute__((weak));
int hipMalloc(void**, std::size_t);
int hipMemcpy(void*, const void*, std::size_t, int);
int hipDeviceSynchronize();
int hipGetLastError();
}

namespace {

const char saxpy_handle = 0;  // what clang calls the kernel handle: only its address counts

struct FatBinary {
  std::vector<char> bundle;
  struct {
    std::uint32_t magic = 0x48495046, version = 1;
    const void* binary;
    const void* unused = nullptr;
  } wrapper;
  void** handle;

  FatBinary() {
    std::ifstream file(std::getenv("FAT_BINARY"), std::ios::binary);
    bundle.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    wrapper.binary = bundle.data();
    handle = __hipRegisterFatBinary(&wrapper);
    char name[] = "saxpy";
    __hipRegisterFunction(handle, &saxpy_handle, name, name, ~0u, nullptr, nullptr, nullptr, nullptr,
                          nullptr);
  }
  ~FatBinary() { __hipUnregisterFatBinary(handle); }
} fat_binary;

int launch(const std::string& call, dim3 grid, dim3 block, void** arguments) {
  if (call == "hipLaunchKernel_spt")
    return hipLaunchKernel_spt(&saxpy_handle, grid, block, arguments, 0, nullptr);
  if (call == "hipLaunchCooperativeKernel")
    return hipLaunchCooperativeKernel(&saxpy_handle, grid, block, arguments, 0, nullptr);
  if (call == "hipExtLaunchKernel")
    return hipExtLaunchKernel(&saxpy_handle, grid, block, arguments, 0, nullptr, nullptr, nullptr, 0);
  if (call == "hipLaunchKernelExC") {
    const LaunchConfig config{grid, block, 0, nullptr, nullptr, 0};
    return hipLaunchKernelExC(&config, &saxpy_handle, arguments);
  }
  return hipLaunchKernel(&saxpy_handle, grid, block, arguments, 0, nullptr);
}

bool is_zero(int status, const char* what) {
  if (status != 0) std::printf("%s: %d\n", what, status);
  return status == 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int run() {
  int n = 1000;
  float a = 2;
  std::vector<float> x(1000), y(1000, 1.0f);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const std::size_t size = x.size() * sizeof(float);
  void *device_x, *device_y, *sink = nullptr;
  if (!is_zero(hipMalloc(&device_x, size), "hipMalloc") || !is_zero(hipMalloc(&device_y, size), "hipMalloc"))
    return 1;
  hipMemcpy(device_x, x.data(), size, 1);
  hipMemcpy(device_y, y.data(), size, 1);
  void* arguments[] = {&n, &a, &device_x, &device_y, &sink};
  const char* call = std::getenv("LAUNCH");
  if (!is_zero(launch(call ? call : "", {4, 1, 1}, {256, 1, 1}, arguments), "launch")) return 1;
  if (!is_zero(hipDeviceSynchronize(), "hipDeviceSynchronize") || !is_zero(hipGetLastError(), "error"))
    return 1;
  hipMemcpy(y.data(), device_y, size, 2);
  for (int i = 0; i < n; ++i)
    if (y[static_cast<std::size_t>(i)] != 2.0f * static_cast<float>(i) + 1.0f) return std::puts("wrong"), 1;
  return std::puts("right"), std::fflush(stdout), 0;
}

#ifndef LIBRARY
int main() { return run(); }
#endif
