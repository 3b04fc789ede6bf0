// Whole kernels of softdev_bench.py: what programs are made of.
#include "mini_hip.hpp"

typedef unsigned u32;
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float4_ __attribute__((ext_vector_type(4)));

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (u32)n) y[i] = a * x[i] + y[i];
}

// C = A * B, square, in tiles of 32 that pass through LDS; every work-item makes 2 x 2 elements.
extern "C" __global__ void __launch_bounds__(256) gemm_lds(const float* a, const float* b, float* c, int n) {
  __shared__ float left[32][33], right[32][33];
  const u32 x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32, column = blockIdx.x * 32;
  float sums[2][2] = {};
  for (int k = 0; k < n; k += 32) {
    for (u32 i = y; i < 32; i += 16)
      for (u32 j = x; j < 32; j += 16) {
        left[i][j] = a[(row + i) * n + k + j];
        right[i][j] = b[(k + i) * n + column + j];
      }
    __syncthreads();
    for (int j = 0; j < 32; ++j)
      for (int p = 0; p < 2; ++p)
        for (int q = 0; q < 2; ++q) sums[p][q] += left[y + 16 * p][j] * right[j][x + 16 * q];
    __syncthreads();
  }
  for (int p = 0; p < 2; ++p)
    for (int q = 0; q < 2; ++q) c[(row + y + 16 * p) * n + column + x + 16 * q] = sums[p][q];
}

// C = A * transpose(B), square: a block makes 64 x 64, each of its 4 waves 16 x 64.
extern "C" __global__ void __launch_bounds__(256) gemm_mfma(const _Float16* a, const _Float16* b, float* c, int n) {
  __shared__ _Float16 left[64][40], right[64][40];
  const u32 item = threadIdx.x, wave = item >> 6, lane = item & 63, row = item >> 2, part = item % 4 * 8;
  const u32 first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
  float4_ sums[4] = {};
  for (int k = 0; k < n; k += 32) {
    *(half8*)&left[row][part] = *(const half8*)&a[(first_row + row) * n + k + part];
    *(half8*)&right[row][part] = *(const half8*)&b[(first_column + row) * n + k + part];
    __syncthreads();
    for (int step = 0; step < 32; step += 16) {
      const u32 place = step + (lane >> 4) * 4;
      const half4 x = *(const half4*)&left[wave * 16 + (lane & 15)][place];
      for (int j = 0; j < 4; ++j) {
        const half4 y = *(const half4*)&right[j * 16 + (lane & 15)][place];
        sums[j] = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sums[j], 0, 0, 0);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 4; ++i)
      c[(first_row + wave * 16 + (lane >> 4) * 4 + i) * n + first_column + j * 16 + (lane & 15)] = sums[j][i];
}

static __device__ float of_lane(float value, u32 lane) {
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(lane * 4, __builtin_bit_cast(int, value)));
}

// One wave per row; exp2 instead of exp, which needs no library.
extern "C" __global__ void __launch_bounds__(64) softmax(const float* in, float* out, int n) {
  const u32 lane = threadIdx.x;
  const float* row = in + (unsigned long)blockIdx.x * n;
  float* to = out + (unsigned long)blockIdx.x * n;
  float top = row[lane];
  for (int k = lane; k < n; k += 64) top = row[k] > top ? row[k] : top;
  for (u32 step = 32; step; step /= 2) {
    const float other = of_lane(top, lane ^ step);
    top = other > top ? other : top;
  }
  float sum = 0;
  for (int k = lane; k < n; k += 64) {
    const float value = __builtin_amdgcn_exp2f(row[k] - top);
    to[k] = value;
    sum += value;
  }
  for (u32 step = 32; step; step /= 2) sum += of_lane(sum, lane ^ step);
  const float scale = 1.0f / sum;
  for (int k = lane; k < n; k += 64) to[k] *= scale;
}

extern "C" __global__ void __launch_bounds__(256) histogram(const u32* in, u32* bins, int n) {
  __shared__ u32 local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = blockIdx.x * 256 + threadIdx.x; i < (u32)n; i += 256 * 16)
    __hip_atomic_fetch_add(&local[in[i] & 255], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  __hip_atomic_fetch_add(&bins[threadIdx.x], local[threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
