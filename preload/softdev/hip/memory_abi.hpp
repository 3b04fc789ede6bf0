// HIP's structures of virtual memory management and of memory pools. See hip_abi.hpp.
#pragma once

#include <cstddef>

extern "C" {

typedef struct hipMemLocation {
  int type;  // 1: a device
  int id;
} hipMemLocation;

typedef struct hipMemAllocationProp {
  int type;
  int requestedHandleType;
  hipMemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
  } allocFlags;
} hipMemAllocationProp;

typedef struct hipMemAccessDesc {
  hipMemLocation location;
  int flags;
} hipMemAccessDesc;

typedef struct ihipMemGenericAllocationHandle* hipMemGenericAllocationHandle_t;
}

static_assert(sizeof(hipMemAllocationProp) == 32);
static_assert(sizeof(hipMemAccessDesc) == 12);

namespace ktrace::softdev::hip {

constexpr int location_is_device = 1;

}  // namespace ktrace::softdev::hip
