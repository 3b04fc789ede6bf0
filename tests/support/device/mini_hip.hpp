// The part of <hip/hip_runtime.h> that the tests' kernels need, for a plain clang without ROCm.
#pragma once

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((amdgpu_flat_work_group_size(1, __VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

namespace mini_hip {
struct thread_index {
  struct X { __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); } } x;
  struct Y { __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_y(); } } y;
  struct Z { __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_z(); } } z;
};
struct block_index {
  struct X { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); } } x;
  struct Y { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_y(); } } y;
  struct Z { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_z(); } } z;
};
struct block_size {
  struct X { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_size_x(); } } x;
  struct Y { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_size_y(); } } y;
  struct Z { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_size_z(); } } z;
};
struct grid_size {
  struct X { __device__ operator unsigned() const
    { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); } } x;
  struct Y { __device__ operator unsigned() const
    { return __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(); } } y;
  struct Z { __device__ operator unsigned() const
    { return __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z(); } } z;
};
}  // namespace mini_hip

extern const __device__ __attribute__((weak)) mini_hip::thread_index threadIdx;
extern const __device__ __attribute__((weak)) mini_hip::block_index blockIdx;
extern const __device__ __attribute__((weak)) mini_hip::block_size blockDim;
extern const __device__ __attribute__((weak)) mini_hip::grid_size gridDim;

static __device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
