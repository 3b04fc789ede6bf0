// The few names of <hip/hip_runtime.h> that the samples use, for compilers without ROCm. hipcc brings the
// real one, and samples/build.py leaves this folder out of its include path then.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(work_items) __attribute__((amdgpu_flat_work_group_size(1, work_items)))

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

struct ThreadIndex {
  struct X {
    __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); }
  } x;
};

struct BlockIndex {
  struct X {
    __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); }
  } x;
  struct Y {
    __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_y(); }
  } y;
};

struct BlockSize {
  struct X {
    __device__ operator unsigned() const { return hidden_arguments().group_size[0]; }
  } x;
};

struct GridSize {
  struct X {
    __device__ operator unsigned() const { return hidden_arguments().block_count[0]; }
  } x;
};

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
