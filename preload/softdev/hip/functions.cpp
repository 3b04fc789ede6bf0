// hipFunc*, names of kernels, and how many workgroups fit on a compute unit.
#include <algorithm>
#include <cstring>

#include "hip/call.hpp"
#include "hip/fat_binary.hpp"
#include "hip/properties.hpp"

namespace ktrace::softdev::hip {

namespace {

int as_int(uint32_t value) { return static_cast<int>(value); }

int available_dynamic_lds(Runtime& runtime, const Function& function) {
  const Topology& topology = runtime.device(function.module->device).machine.topology();
  return as_int(topology.lds_bytes_per_cu) - as_int(function.kernel->lds_bytes);
}

int binary_version(Runtime& runtime, const Function& function) {
  const ComputeCapability capability = capability_of(runtime.device(function.module->device).machine.arch());
  return capability.major * 10 + capability.minor;
}

std::optional<int> function_attribute(Runtime& runtime, const Function& function,
                                      hipFunction_attribute attribute) {
  const Kernel& kernel = *function.kernel;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return as_int(kernel.max_workgroup_size);
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return as_int(kernel.lds_bytes);
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return as_int(kernel.private_bytes);
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      return as_int(kernel.vgpr_count);
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      return binary_version(runtime, function);
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return available_dynamic_lds(runtime, function);
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return 0;
    default:
      return std::nullopt;
  }
}

// A host function's kernel on the current device.
template <class Body>
hipError_t with_host_function(const void* host_function, Body&& body) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (host_function == nullptr) {
      return hipErrorInvalidDeviceFunction;
    }
    const FoundFunction found = find_registered_function(runtime, host_function, current_device());
    return found.error != hipSuccess ? found.error : body(runtime, *found.function);
  });
}

template <class Body>
hipError_t with_function(hipFunction_t handle, Body&& body) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    Function* function = runtime.find_function(handle);
    return function == nullptr ? hipErrorInvalidHandle : body(runtime, *function);
  });
}

uint32_t resident_blocks(Runtime& runtime, const Function& function, int block_size, size_t dynamic_lds) {
  const Device& device = runtime.device(function.module->device).machine;
  if (block_size > as_int(function.kernel->max_workgroup_size) ||
      dynamic_lds > device.topology().lds_bytes_per_cu) {
    return 0;
  }
  return device.occupancy(*function.kernel, static_cast<uint32_t>(block_size),
                          static_cast<uint32_t>(dynamic_lds));
}

hipError_t store_resident_blocks(Runtime& runtime, int* blocks, const Function& function, int block_size,
                                 size_t dynamic_lds) {
  if (blocks == nullptr || block_size <= 0) {
    return hipErrorInvalidValue;
  }
  *blocks = as_int(resident_blocks(runtime, function, block_size, dynamic_lds));
  return hipSuccess;
}

// The block size that keeps most work-items on a compute unit; the largest of equals.
hipError_t store_best_block(Runtime& runtime, int* grid, int* block, const Function& function,
                            size_t dynamic_lds, int limit) {
  if (grid == nullptr || block == nullptr) {
    return hipErrorInvalidValue;
  }
  constexpr int step = 64;
  const int largest = limit <= 0 ? as_int(function.kernel->max_workgroup_size)
                                 : std::min(limit, as_int(function.kernel->max_workgroup_size));
  uint32_t most = 0;
  *grid = 0;
  *block = 0;
  for (int size = std::max(largest / step * step, std::min(largest, step)); size > 0; size -= step) {
    const uint32_t blocks = resident_blocks(runtime, function, size, dynamic_lds);
    if (blocks * static_cast<uint32_t>(size) > most) {
      most = blocks * static_cast<uint32_t>(size);
      *block = size;
      *grid = as_int(blocks * runtime.device(function.module->device).machine.topology().cus());
    }
  }
  return most == 0 ? hipErrorLaunchOutOfResources : hipSuccess;
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev;
using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute,
                                                 hipFunction_t function) {
  return with_function(function, [&](Runtime& runtime, Function& found) {
    const std::optional<int> known = function_attribute(runtime, found, attribute);
    if (value == nullptr || !known) {
      return hipErrorInvalidValue;
    }
    *value = *known;
    return hipSuccess;
  });
}

// The device is the kernel handle's own.
KTRACE_HIP_EXPORT hipError_t hipKernelGetAttribute(int* value, hipFunction_attribute attribute,
                                                   hipFunction_t kernel, int device) {
  return with_function(kernel, [&](Runtime& runtime, Function& found) {
    if (!runtime.is_device(device)) {
      return hipErrorInvalidDevice;
    }
    const std::optional<int> known = function_attribute(runtime, found, attribute);
    if (value == nullptr || !known) {
      return hipErrorInvalidValue;
    }
    *value = *known;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return with_host_function(function, [&](Runtime& runtime, Function& found) {
    *attributes = {};
    attributes->binaryVersion = binary_version(runtime, found);
    attributes->ptxVersion = attributes->binaryVersion;
    attributes->localSizeBytes = found.kernel->private_bytes;
    attributes->sharedSizeBytes = found.kernel->lds_bytes;
    attributes->maxThreadsPerBlock = as_int(found.kernel->max_workgroup_size);
    attributes->numRegs = as_int(found.kernel->vgpr_count);
    attributes->maxDynamicSharedSizeBytes =
        found.max_dynamic_lds != 0 ? found.max_dynamic_lds : available_dynamic_lds(runtime, found);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute,
                                                 int value) {
  return with_host_function(function, [&](Runtime& runtime, Function& found) {
    if (attribute < 0 || attribute > hipFuncAttributeMax) {
      return hipErrorInvalidValue;
    }
    if (attribute == hipFuncAttributeMaxDynamicSharedMemorySize) {
      if (value < 0 || value > available_dynamic_lds(runtime, found)) {
        return hipErrorInvalidValue;
      }
      found.max_dynamic_lds = value;
    }
    const bool is_bad_carveout =
        attribute == hipFuncAttributePreferredSharedMemoryCarveout && (value < -1 || value > 100);
    return is_bad_carveout ? hipErrorInvalidValue : hipSuccess;
  });
}

// There is no cache to configure; HIP itself does nothing here on AMD devices.
KTRACE_HIP_EXPORT hipError_t hipFuncSetCacheConfig(const void* function, int config) {
  return with_host_function(function, [&](Runtime&, Function&) {
    return config >= 0 && config <= 3 ? hipSuccess : hipErrorInvalidValue;
  });
}
KTRACE_HIP_EXPORT hipError_t hipFuncSetSharedMemConfig(const void* function, int config) {
  return with_host_function(function, [&](Runtime&, Function&) {
    return config >= 0 && config <= 2 ? hipSuccess : hipErrorInvalidValue;
  });
}
KTRACE_HIP_EXPORT hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol) {
  if (function == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return with_host_function(symbol, [&](Runtime&, Function& found) {
    *function = reinterpret_cast<hipFunction_t>(&found);
    return hipSuccess;
  });
}

// Names live as long as the module.
KTRACE_HIP_EXPORT const char* hipKernelNameRef(hipFunction_t function) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  const Function* found = runtime.find_function(function);
  return found == nullptr ? nullptr : found->kernel->name.c_str();
}

KTRACE_HIP_EXPORT const char* hipKernelNameRefByPtr(const void* host_function, hipStream_t) {
  Runtime& runtime = Runtime::get();
  const std::lock_guard<std::mutex> lock(runtime.mutex);
  const auto& functions = runtime.fat_binaries->function_by_host_address;
  const auto found = functions.find(host_function);
  return found == functions.end() ? nullptr : found->second.name.c_str();
}

KTRACE_HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                                hipFunction_t function,
                                                                                int block_size,
                                                                                size_t dynamic_lds) {
  return with_function(function, [&](Runtime& runtime, Function& found) {
    return store_resident_blocks(runtime, blocks, found, block_size, dynamic_lds);
  });
}
KTRACE_HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, hipFunction_t function, int block_size, size_t dynamic_lds, unsigned flags) {
  return with_function(function, [&](Runtime& runtime, Function& found) {
    return flags > 1 ? hipErrorInvalidValue
                     : store_resident_blocks(runtime, blocks, found, block_size, dynamic_lds);
  });
}
KTRACE_HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                          int block_size,
                                                                          size_t dynamic_lds) {
  return with_host_function(function, [&](Runtime& runtime, Function& found) {
    return store_resident_blocks(runtime, blocks, found, block_size, dynamic_lds);
  });
}
KTRACE_HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t dynamic_lds, unsigned flags) {
  return with_host_function(function, [&](Runtime& runtime, Function& found) {
    return flags > 1 ? hipErrorInvalidValue
                     : store_resident_blocks(runtime, blocks, found, block_size, dynamic_lds);
  });
}

KTRACE_HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                                     hipFunction_t function,
                                                                     size_t dynamic_lds, int limit) {
  return with_function(function, [&](Runtime& runtime, Function& found) {
    return store_best_block(runtime, grid, block, found, dynamic_lds, limit);
  });
}
KTRACE_HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                                              hipFunction_t function,
                                                                              size_t dynamic_lds, int limit,
                                                                              unsigned flags) {
  return with_function(function, [&](Runtime& runtime, Function& found) {
    return flags > 1 ? hipErrorInvalidValue
                     : store_best_block(runtime, grid, block, found, dynamic_lds, limit);
  });
}
KTRACE_HIP_EXPORT hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function,
                                                               size_t dynamic_lds, int limit) {
  return with_host_function(function, [&](Runtime& runtime, Function& found) {
    return store_best_block(runtime, grid, block, found, dynamic_lds, limit);
  });
}
