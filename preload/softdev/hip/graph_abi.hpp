// The structs of hipGraph* as callers see them: node parameters, one by one and
// as HIP's union of them all.
#pragma once

#include "hip/hip_abi.hpp"

extern "C" {

typedef struct hipKernelNodeParams {
  dim3 blockDim;
  void** extra;
  void* func;  // a host function or a hipFunction_t
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
} hipKernelNodeParams;

typedef struct hipMemsetParams {
  void* dst;
  unsigned elementSize;  // bytes
  size_t height;
  size_t pitch;
  unsigned value;
  size_t width;  // elements
} hipMemsetParams;

typedef struct hipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
} hipHostNodeParams;

typedef struct hipMemcpyNodeParams {
  int flags;
  int reserved[3];
  hipMemcpy3DParms copyParams;
} hipMemcpyNodeParams;

typedef struct hipGraphNodeParams {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    hipKernelNodeParams kernel;
    hipMemcpyNodeParams memcpy;
    hipMemsetParams memset;
    hipHostNodeParams host;
    void* graph;
    hipEvent_t eventWait;
    hipEvent_t eventRecord;
  };
  long long reserved2;
} hipGraphNodeParams;

typedef struct hipGraphInstantiateParams {
  void* errNode_out;
  unsigned long long flags;
  int result_out;
  hipStream_t uploadStream;
} hipGraphInstantiateParams;

enum hipGraphExecUpdateResult : int {
  hipGraphExecUpdateSuccess = 0,
  hipGraphExecUpdateError = 1,
  hipGraphExecUpdateErrorTopologyChanged = 2,
  hipGraphExecUpdateErrorNodeTypeChanged = 3,
  hipGraphExecUpdateErrorFunctionChanged = 4,
  hipGraphExecUpdateErrorParametersChanged = 5,
  hipGraphExecUpdateErrorNotSupported = 6,
  hipGraphExecUpdateErrorUnsupportedFunctionChange = 7,
};

enum hipGraphInstantiateResult : int {
  hipGraphInstantiateSuccess = 0,
  hipGraphInstantiateError = 1,
  hipGraphInstantiateInvalidStructure = 2,
};
}  // extern "C"

static_assert(sizeof(hipKernelNodeParams) == 64);
static_assert(sizeof(hipMemsetParams) == 48);
static_assert(sizeof(hipMemcpyNodeParams) == 176);
static_assert(sizeof(hipGraphNodeParams) == 256);
static_assert(sizeof(hipGraphInstantiateParams) == 32);
