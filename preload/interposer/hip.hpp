// The part of HIP's interface that the interposer meets, declared here so that no ROCm header is needed to
// build it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ktrace {

using hipError_t = int;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipGraph_t = struct ihipGraph*;
using hipGraphNode_t = struct hipGraphNode*;
using hipGraphExec_t = struct hipGraphExec*;
using hipLibrary_t = struct ihipLibrary_t*;
using hipKernel_t = struct ihipKernel_t*;

struct Dim3 {
  std::uint32_t x, y, z;
};

struct hipLaunchConfig_t {
  Dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  hipStream_t stream;
  void* attrs;
  unsigned numAttrs;
};

struct HIP_LAUNCH_CONFIG {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  hipStream_t hStream;
  void* attrs;
  unsigned numAttrs;
};

struct hipKernelNodeParams {
  Dim3 blockDim;
  void** extra;
  void* func;
  Dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};

struct hipGraphNodeParams {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    hipKernelNodeParams kernel;
  };
  long long reserved2;
};
static_assert(sizeof(hipKernelNodeParams) == 64 && sizeof(hipGraphNodeParams) == 256);

struct hipLaunchParams {
  void* func;
  Dim3 gridDim, blockDim;
  void** args;
  std::size_t sharedMem;
  hipStream_t stream;
};

struct hipFunctionLaunchParams {
  hipFunction_t function;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  hipStream_t hStream;
  void** kernelParams;
};

inline constexpr hipError_t hip_success = 0;
inline constexpr hipError_t hip_error_shared_object_init_failed = 303;
inline constexpr hipError_t hip_error_not_ready = 600;
inline constexpr hipError_t hip_error_illegal_address = 700;
inline constexpr hipError_t hip_error_launch_failure = 719;
inline constexpr hipError_t hip_error_capture_invalidated = 901;
inline constexpr hipError_t hip_error_capture_unjoined = 904;

inline constexpr int hip_memcpy_host_to_device = 1;
inline constexpr int hip_memcpy_device_to_host = 2;
inline constexpr int hip_memcpy_default = 4;
inline constexpr unsigned hip_stream_non_blocking = 1;
inline constexpr unsigned hip_event_disable_timing = 2;
inline constexpr unsigned hip_host_malloc_mapped = 2;
inline constexpr unsigned hip_host_malloc_coherent = 0x40000000;
inline constexpr int hip_capture_mode_relaxed = 2;
inline constexpr int hip_capture_status_none = 0;
inline constexpr int hip_node_type_kernel = 0;
inline constexpr int hip_node_type_graph = 4;

inline constexpr int hip_attribute_clock_rate = 5;  // kHz
inline constexpr int hip_attribute_multiprocessor_count = 63;
inline constexpr int hip_attribute_wall_clock_rate = 10017;  // kHz
inline constexpr int hip_attribute_number_of_xccs = 10018;

inline const hipStream_t stream_null = nullptr;
inline const hipStream_t stream_legacy = reinterpret_cast<hipStream_t>(std::uintptr_t{1});
inline const hipStream_t stream_per_thread = reinterpret_cast<hipStream_t>(std::uintptr_t{2});

// The tags of the `extra` argument list: {1, buffer, 2, &size, 3}.
inline void* const extra_buffer_pointer = reinterpret_cast<void*>(std::uintptr_t{1});
inline void* const extra_buffer_size = reinterpret_cast<void*>(std::uintptr_t{2});
inline void* const extra_end = reinterpret_cast<void*>(std::uintptr_t{3});

// As hipGetDevicePropertiesR0600 fills it, up to the last field that is read; `rest` is larger than what any
// HIP appends.
struct DeviceProperties {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luid_mask;
  std::size_t total_memory;
  unsigned char unread[864];
  char gcn_arch_name[256];
  unsigned char rest[4096];
};

// Functions that applications call and that we stand in for: result, name, parameter types.
#define KTRACE_HIP_HOOKED(X)                                                                                 \
  X(hipError_t, hipInit, (unsigned))                                                                         \
  X(hipError_t, hipGetDeviceCount, (int*))                                                                   \
  X(hipError_t, hipSetDevice, (int))                                                                         \
  X(hipError_t, hipMalloc, (void**, std::size_t))                                                            \
  X(hipError_t, hipMemset, (void*, int, std::size_t))                                                        \
  X(hipError_t, hipModuleLoad, (hipModule_t*, const char*))                                                  \
  X(hipError_t, hipModuleLoadData, (hipModule_t*, const void*))                                              \
  X(hipError_t, hipModuleLoadDataEx, (hipModule_t*, const void*, unsigned, void*, void**))                   \
  X(hipError_t, hipModuleLoadFatBinary, (hipModule_t*, const void*))                                         \
  X(hipError_t, hipModuleUnload, (hipModule_t))                                                              \
  X(hipError_t, hipModuleGetFunction, (hipFunction_t*, hipModule_t, const char*))                            \
  X(hipError_t, hipModuleEnumerateFunctions, (hipFunction_t*, unsigned, hipModule_t))                        \
  X(hipError_t, hipLibraryGetModule, (hipModule_t*, hipLibrary_t))                                           \
  X(hipError_t, hipGetFuncBySymbol, (hipFunction_t*, const void*))                                           \
  X(hipError_t, hipLibraryLoadData,                                                                          \
    (hipLibrary_t*, const void*, void*, void**, unsigned, void*, void**, unsigned))                          \
  X(hipError_t, hipLibraryLoadFromFile,                                                                      \
    (hipLibrary_t*, const char*, void*, void**, unsigned, void*, void**, unsigned))                          \
  X(hipError_t, hipLibraryUnload, (hipLibrary_t))                                                            \
  X(hipError_t, hipLibraryGetKernel, (hipKernel_t*, hipLibrary_t, const char*))                              \
  X(hipError_t, hipLibraryEnumerateKernels, (hipKernel_t*, unsigned, hipLibrary_t))                          \
  X(hipError_t, hipKernelGetFunction, (hipFunction_t*, hipKernel_t))                                         \
  X(void**, __hipRegisterFatBinary, (const void*))                                                           \
  X(void, __hipRegisterFunction,                                                                             \
    (void**, const void*, char*, const char*, unsigned, void*, void*, Dim3*, Dim3*, int*))                   \
  X(void, __hipUnregisterFatBinary, (void**))                                                                \
  X(hipError_t, hipLaunchKernel, (const void*, Dim3, Dim3, void**, std::size_t, hipStream_t))                \
  X(hipError_t, hipLaunchKernel_spt, (const void*, Dim3, Dim3, void**, std::size_t, hipStream_t))            \
  X(hipError_t, hipLaunchKernelExC, (const hipLaunchConfig_t*, const void*, void**))                         \
  X(hipError_t, hipLaunchCooperativeKernel, (const void*, Dim3, Dim3, void**, unsigned, hipStream_t))        \
  X(hipError_t, hipLaunchCooperativeKernel_spt, (const void*, Dim3, Dim3, void**, unsigned, hipStream_t))    \
  X(hipError_t, hipExtLaunchKernel,                                                                          \
    (const void*, Dim3, Dim3, void**, std::size_t, hipStream_t, hipEvent_t, hipEvent_t, int))                \
  X(hipError_t, hipModuleLaunchKernel,                                                                       \
    (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t,       \
     void**, void**))                                                                                        \
  X(hipError_t, hipModuleLaunchCooperativeKernel,                                                            \
    (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t,       \
     void**))                                                                                                \
  X(hipError_t, hipDrvLaunchKernelEx, (const HIP_LAUNCH_CONFIG*, hipFunction_t, void**, void**))             \
  X(hipError_t, hipExtModuleLaunchKernel,                                                                    \
    (hipFunction_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,               \
     std::uint32_t, std::size_t, hipStream_t, void**, void**, hipEvent_t, hipEvent_t, std::uint32_t))        \
  X(hipError_t,                                                                                              \
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j,         \
    (hipFunction_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,               \
     std::uint32_t, std::size_t, hipStream_t, void**, void**, hipEvent_t, hipEvent_t, std::uint32_t))        \
  X(hipError_t, hipHccModuleLaunchKernel,                                                                    \
    (hipFunction_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,               \
     std::uint32_t, std::size_t, hipStream_t, void**, void**, hipEvent_t, hipEvent_t))                       \
  X(hipError_t,                                                                                              \
    _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_,          \
    (hipFunction_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,               \
     std::uint32_t, std::size_t, hipStream_t, void**, void**, hipEvent_t, hipEvent_t))                       \
  X(hipError_t, hipLaunchByPtr, (const void*))                                                               \
  X(hipError_t, hipLaunchCooperativeKernelMultiDevice, (hipLaunchParams*, int, unsigned))                    \
  X(hipError_t, hipExtLaunchMultiKernelMultiDevice, (hipLaunchParams*, int, unsigned))                       \
  X(hipError_t, hipModuleLaunchCooperativeKernelMultiDevice, (hipFunctionLaunchParams*, unsigned, unsigned)) \
  X(hipError_t, hipGraphAddKernelNode,                                                                       \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, const hipKernelNodeParams*))           \
  X(hipError_t, hipGraphKernelNodeSetParams, (hipGraphNode_t, const hipKernelNodeParams*))                   \
  X(hipError_t, hipGraphExecKernelNodeSetParams,                                                             \
    (hipGraphExec_t, hipGraphNode_t, const hipKernelNodeParams*))                                            \
  X(hipError_t, hipGraphAddNode,                                                                             \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, hipGraphNodeParams*))                  \
  X(hipError_t, hipGraphNodeSetParams, (hipGraphNode_t, hipGraphNodeParams*))                                \
  X(hipError_t, hipGraphExecNodeSetParams, (hipGraphExec_t, hipGraphNode_t, hipGraphNodeParams*))            \
  X(hipError_t, hipGraphInstantiate, (hipGraphExec_t*, hipGraph_t, hipGraphNode_t*, char*, std::size_t))     \
  X(hipError_t, hipGraphInstantiateWithFlags, (hipGraphExec_t*, hipGraph_t, unsigned long long))             \
  X(hipError_t, hipGraphInstantiateWithParams, (hipGraphExec_t*, hipGraph_t, void*))                         \
  X(hipError_t, hipGraphExecUpdate, (hipGraphExec_t, hipGraph_t, hipGraphNode_t*, int*))                     \
  X(hipError_t, hipGraphExecChildGraphNodeSetParams, (hipGraphExec_t, hipGraphNode_t, hipGraph_t))           \
  X(hipError_t, hipGraphNodeSetEnabled, (hipGraphExec_t, hipGraphNode_t, unsigned))                          \
  X(hipError_t, hipGraphLaunch, (hipGraphExec_t, hipStream_t))                                               \
  X(hipError_t, hipGraphLaunch_spt, (hipGraphExec_t, hipStream_t))                                           \
  X(hipError_t, hipGraphExecDestroy, (hipGraphExec_t))                                                       \
  X(hipError_t, hipGraphDestroy, (hipGraph_t))                                                               \
  X(hipError_t, hipStreamEndCapture, (hipStream_t, hipGraph_t*))                                             \
  X(hipError_t, hipStreamEndCapture_spt, (hipStream_t, hipGraph_t*))                                         \
  X(hipError_t, hipStreamBeginCapture, (hipStream_t, int))                                                   \
  X(hipError_t, hipStreamBeginCapture_spt, (hipStream_t, int))                                               \
  X(hipError_t, hipStreamBeginCaptureToGraph,                                                                \
    (hipStream_t, hipGraph_t, const hipGraphNode_t*, const void*, std::size_t, int))                         \
  X(hipError_t, hipStreamDestroy, (hipStream_t))                                                             \
  X(hipError_t, hipDeviceReset, ())                                                                          \
  X(hipError_t, hipGetProcAddress, (const char*, void**, int, std::uint64_t, int*))                          \
  X(hipError_t, hipGetProcAddress_spt, (const char*, void**, int, std::uint64_t, int*))                      \
  X(hipError_t, hipGetDriverEntryPoint, (const char*, void**, unsigned long long, int*))                     \
  X(hipError_t, hipGetDriverEntryPoint_spt, (const char*, void**, unsigned long long, int*))

// Functions that only we call.
#define KTRACE_HIP_USED(X)                                                                          \
  X(hipError_t, hipGetDevice, (int*))                                                               \
  X(hipError_t, hipDeviceSynchronize, ())                                                           \
  X(int, hipGetStreamDeviceId, (hipStream_t))                                                       \
  X(hipError_t, hipLibraryGetKernelCount, (unsigned*, hipLibrary_t))                                \
  X(hipError_t, hipModuleGetFunctionCount, (unsigned*, hipModule_t))                                \
  X(hipError_t, hipKernelGetName, (const char**, hipKernel_t))                                      \
  X(const char*, hipKernelNameRef, (hipFunction_t))                                                 \
  X(const char*, hipKernelNameRefByPtr, (const void*, hipStream_t))                                 \
  X(hipError_t, hipStreamIsCapturing, (hipStream_t, int*))                                          \
  X(hipError_t, hipStreamGetCaptureInfo_v2,                                                         \
    (hipStream_t, int*, unsigned long long*, hipGraph_t*, const hipGraphNode_t**, std::size_t*))    \
  X(hipError_t, hipGraphGetNodes, (hipGraph_t, hipGraphNode_t*, std::size_t*))                      \
  X(hipError_t, hipGraphNodeGetType, (hipGraphNode_t, int*))                                        \
  X(hipError_t, hipGraphKernelNodeGetParams, (hipGraphNode_t, hipKernelNodeParams*))                \
  X(hipError_t, hipGraphChildGraphNodeGetGraph, (hipGraphNode_t, hipGraph_t*))                      \
  X(hipError_t, hipThreadExchangeStreamCaptureMode, (int*))                                         \
  X(hipError_t, hipPeekAtLastError, ())                                                             \
  X(hipError_t, hipGetLastError, ())                                                                \
  X(const char*, hipGetErrorName, (hipError_t))                                                     \
  X(hipError_t, hipFree, (void*))                                                                   \
  X(hipError_t, hipHostMalloc, (void**, std::size_t, unsigned))                                     \
  X(hipError_t, hipHostFree, (void*))                                                               \
  X(hipError_t, hipHostGetDevicePointer, (void**, void*, unsigned))                                 \
  X(hipError_t, hipMemcpyAsync, (void*, const void*, std::size_t, int, hipStream_t))                \
  X(hipError_t, hipMemcpy2DAsync,                                                                   \
    (void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int, hipStream_t))     \
  X(hipError_t, hipMemsetAsync, (void*, int, std::size_t, hipStream_t))                             \
  X(hipError_t, hipMemset2DAsync, (void*, std::size_t, int, std::size_t, std::size_t, hipStream_t)) \
  X(hipError_t, hipStreamCreateWithFlags, (hipStream_t*, unsigned))                                 \
  X(hipError_t, hipStreamSynchronize, (hipStream_t))                                                \
  X(hipError_t, hipStreamWaitEvent, (hipStream_t, hipEvent_t, unsigned))                            \
  X(hipError_t, hipEventCreateWithFlags, (hipEvent_t*, unsigned))                                   \
  X(hipError_t, hipEventDestroy, (hipEvent_t))                                                      \
  X(hipError_t, hipEventRecord, (hipEvent_t, hipStream_t))                                          \
  X(hipError_t, hipEventSynchronize, (hipEvent_t))                                                  \
  X(hipError_t, hipEventQuery, (hipEvent_t))                                                        \
  X(hipError_t, hipDeviceGetAttribute, (int*, int, int))                                            \
  X(hipError_t, hipDeviceGetPCIBusId, (char*, int, int))                                            \
  X(hipError_t, hipGetDevicePropertiesR0600, (DeviceProperties*, int))                              \
  X(std::uint64_t, ktrace_softdev_now_ns, ())                                                       \
  X(void, ktrace_softdev_tool_thread, ())                                                           \
  X(void, ktrace_softdev_clock, (int, std::uint64_t*, std::uint64_t*))

struct HipFunctions {
#define KTRACE_HIP_POINTER(result, name, parameters) result(*name) parameters = nullptr;
  KTRACE_HIP_HOOKED(KTRACE_HIP_POINTER)
  KTRACE_HIP_USED(KTRACE_HIP_POINTER)
#undef KTRACE_HIP_POINTER
};

}  // namespace ktrace
