// Kernels and variables that the compiler registers before main.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

// One __hipRegisterFatBinary. Its code objects are loaded per device when first needed, as HIP does: programs
// carry kernels for devices that are not there, and never call them.
struct FatBinary {
  const void* image = nullptr;
  std::map<int, hipModule_t> module_by_device;
  std::map<int, hipError_t> failure_by_device;  // so that it is told once, however often it is asked for
};

struct RegisteredFunction {
  FatBinary* binary = nullptr;
  std::string name;
};

struct RegisteredVariable {
  FatBinary* binary = nullptr;
  std::string name;
  size_t size = 0;
  void* managed = nullptr;  // of a __managed__ variable: its memory, the same for all devices
};

struct FatBinaries {
  std::unordered_map<void**, std::unique_ptr<FatBinary>> binaries;
  std::unordered_map<const void*, RegisteredFunction> function_by_host_address;
  std::unordered_map<const void*, RegisteredVariable> variable_by_host_address;
};

struct FoundFunction {
  hipError_t error = hipSuccess;
  Function* function = nullptr;
};

// The kernel that a host function stands for, on a device; loads it if need be. Needs Runtime::mutex.
FoundFunction find_registered_function(Runtime& runtime, const void* host_function, int device);

struct FoundVariable {
  hipError_t error = hipSuccess;
  void* address = nullptr;
  size_t size = 0;
};

FoundVariable find_registered_variable(Runtime& runtime, const void* host_variable, int device);

}  // namespace ktrace::softdev::hip
