// The everyday names of <hip/hip_runtime.h> in device code, for compilers without ROCm. hipcc brings the real
// one, and samples/build.py leaves this folder out of its include path then. There is no host code here: no
// <<<>>>, no hipMalloc.
#pragma once

#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// The second argument, waves per SIMD, is a hint and is dropped.
#define __launch_bounds__(...) \
  __attribute__((amdgpu_flat_work_group_size(1, MINIMAL_HIP_FIRST_(__VA_ARGS__, ))))
#define MINIMAL_HIP_FIRST_(first, ...) first

namespace minimal_hip {

// What code object ABI 5 and later places behind the kernel's own arguments, as far as it is used here.
struct HiddenArguments {
  unsigned block_count[3];
  unsigned short group_size[3];
};

__device__ __forceinline__ const HiddenArguments& hidden_arguments() {
  return *(
      const HiddenArguments*)__builtin_amdgcn_implicitarg_ptr();  // no other cast changes the address space
}

// Three objects that convert to a number when they are read.
#define MINIMAL_HIP_INDEX_(name, x_value, y_value, z_value)    \
  struct name {                                                \
    struct X {                                                 \
      __device__ operator unsigned() const { return x_value; } \
    } x;                                                       \
    struct Y {                                                 \
      __device__ operator unsigned() const { return y_value; } \
    } y;                                                       \
    struct Z {                                                 \
      __device__ operator unsigned() const { return z_value; } \
    } z;                                                       \
  }
MINIMAL_HIP_INDEX_(ThreadIndex, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                   __builtin_amdgcn_workitem_id_z());
MINIMAL_HIP_INDEX_(BlockIndex, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                   __builtin_amdgcn_workgroup_id_z());
MINIMAL_HIP_INDEX_(BlockSize, hidden_arguments().group_size[0], hidden_arguments().group_size[1],
                   hidden_arguments().group_size[2]);
MINIMAL_HIP_INDEX_(GridSize, hidden_arguments().block_count[0], hidden_arguments().block_count[1],
                   hidden_arguments().block_count[2]);
#undef MINIMAL_HIP_INDEX_

}  // namespace minimal_hip

// Weak and never defined, as in HIP itself: they only carry the conversions above.
extern const __device__ __attribute__((weak)) minimal_hip::ThreadIndex threadIdx;
extern const __device__ __attribute__((weak)) minimal_hip::BlockIndex blockIdx;
extern const __device__ __attribute__((weak)) minimal_hip::BlockSize blockDim;
extern const __device__ __attribute__((weak)) minimal_hip::GridSize gridDim;

__device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define MINIMAL_HIP_ATOMIC_ADD_(type)                                                          \
  __device__ __forceinline__ type atomicAdd(type* address, type value) {                       \
    return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
  }
MINIMAL_HIP_ATOMIC_ADD_(int)
MINIMAL_HIP_ATOMIC_ADD_(unsigned)
MINIMAL_HIP_ATOMIC_ADD_(unsigned long long)
MINIMAL_HIP_ATOMIC_ADD_(float)
#undef MINIMAL_HIP_ATOMIC_ADD_

#define MINIMAL_HIP_MIN_MAX_(type, smaller, larger)                       \
  __device__ __forceinline__ type min(type a, type b) { return smaller; } \
  __device__ __forceinline__ type max(type a, type b) { return larger; }
MINIMAL_HIP_MIN_MAX_(int, a<b ? a : b, a> b ? a : b)
MINIMAL_HIP_MIN_MAX_(unsigned, a<b ? a : b, a> b ? a : b)
MINIMAL_HIP_MIN_MAX_(long, a<b ? a : b, a> b ? a : b)
MINIMAL_HIP_MIN_MAX_(unsigned long, a<b ? a : b, a> b ? a : b)
MINIMAL_HIP_MIN_MAX_(float, __builtin_fminf(a, b), __builtin_fmaxf(a, b))
MINIMAL_HIP_MIN_MAX_(double, __builtin_fmin(a, b), __builtin_fmax(a, b))
#undef MINIMAL_HIP_MIN_MAX_
