// Kernels of test_softdev_core_kernels.py: what compilers emit for ordinary programs.
#include "mini_hip.hpp"

typedef unsigned u32;
typedef unsigned long u64;

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (u32)n) y[i] = a * x[i] + y[i];
}

// Which work-item writes where, in three dimensions.
extern "C" __global__ void where(u32* out) {
  const u32 x = blockIdx.x * blockDim.x + threadIdx.x, width = gridDim.x * blockDim.x;
  const u32 y = blockIdx.y * blockDim.y + threadIdx.y, height = gridDim.y * blockDim.y;
  const u32 z = blockIdx.z * blockDim.z + threadIdx.z;
  out[(z * height + y) * width + x] = x | y << 8 | z << 16;
}

extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (x < columns && y + k < rows) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * columns + x];
  __syncthreads();
  const int u = blockIdx.y * 32 + threadIdx.x, v = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (u < rows && v + k < columns) out[(v + k) * rows + u] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void histogram(const unsigned char* in, u32* out, int n, int stride) {
  __shared__ u32 bins[256];
  for (u32 k = threadIdx.x; k < 256; k += blockDim.x) bins[k] = 0;
  __syncthreads();
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < (u32)n; i += stride)
    __hip_atomic_fetch_add(&bins[in[i]], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  for (u32 k = threadIdx.x; k < 256; k += blockDim.x)
    __hip_atomic_fetch_add(&out[k], bins[k], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

extern "C" __global__ void collatz(const u32* in, u32* out) {
  u32 value = in[threadIdx.x], steps = 0;
  while (value != 1) {
    value = value & 1 ? 3 * value + 1 : value / 2;
    ++steps;
  }
  out[threadIdx.x] = steps;
}

// A private array with indices known at run time only.
extern "C" __global__ void private_array(const u32* in, u32* out) {
  u32 counts[16] = {};
  for (int k = 0; k < 64; ++k) counts[in[k * 64 + threadIdx.x] & 15] += k;
  for (int k = 0; k < 16; ++k) out[threadIdx.x * 16 + k] = counts[k];
}

struct Pair { u64 a; u32 b; };
static __device__ __noinline__ u64 mix(const Pair* pair, int depth) {
  if (depth == 0) return pair->a ^ pair->b;
  Pair next = {pair->a * 3 + 1, pair->b + (u32)depth};
  return mix(&next, depth - 1) + pair->b;
}
extern "C" __global__ void recursion(u64* out, int depth) {
  Pair start = {threadIdx.x, threadIdx.x * 7u};
  out[threadIdx.x] = mix(&start, depth);
}

static __device__ __noinline__ int twice(int v) { return 2 * v; }
static __device__ __noinline__ int square(int v) { return v * v; }
static __device__ __noinline__ int negate(int v) { return -v; }
extern "C" __global__ void function_pointers(int* out) {
  int (*functions[3])(int) = {twice, square, negate};
  out[threadIdx.x] = functions[threadIdx.x % 3]((int)threadIdx.x);
}

__device__ int counter = 5;
__constant__ int table[4] = {10, 20, 30, 40};
extern "C" __global__ void globals(int* out) {
  if (threadIdx.x == 0) __hip_atomic_fetch_add(&counter, 3, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __syncthreads();
  out[threadIdx.x] = counter + table[threadIdx.x & 3];
}

// One pointer that may be to LDS, to scratch or to memory.
static __device__ __noinline__ void add_one(int* where, int count) {
  for (int k = 0; k < count; ++k) where[k] += 1;
}
extern "C" __global__ void generic_pointer(int* out) {
  __shared__ int shared[64 * 2];
  int own[2] = {100, 200};
  shared[threadIdx.x * 2] = (int)threadIdx.x;
  shared[threadIdx.x * 2 + 1] = 5;
  int* choice = threadIdx.x % 3 == 0 ? &shared[threadIdx.x * 2] : threadIdx.x % 3 == 1 ? own : out + threadIdx.x * 2;
  add_one(choice, 2);
  const int first = threadIdx.x % 3 == 1 ? own[0] : shared[threadIdx.x * 2];
  if (threadIdx.x % 3 != 2) { out[threadIdx.x * 2] = first; out[threadIdx.x * 2 + 1] = choice[1]; }
}

extern "C" __global__ void narrow(const signed char* c, const short* s, const unsigned short* u, int* wide, short* out) {
  const u32 i = threadIdx.x;
  wide[i] = c[i] * 1000 + s[i] + u[i];
  out[i] = (short)(s[i] + c[i]);
}

extern "C" __global__ void float_atomics(float* f, double* d, u64* q) {
  __hip_atomic_fetch_add(f, 0.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(d, 0.25, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(q, (u64)threadIdx.x << 40, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Every workgroup waits for its predecessor: all must be resident, or at least start in order.
extern "C" __global__ void chain(u32* turn, u32* out) {
  if (threadIdx.x == 0) {
    while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != blockIdx.x)
      __builtin_amdgcn_s_sleep(1);
    out[blockIdx.x] = blockIdx.x + 1;
    __hip_atomic_store(turn, blockIdx.x + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// When each wave ran, and on what: must be the same in every run.
extern "C" __global__ void times(u64* out, const float* in, u32* ticket) {
  __shared__ float tile[256];
  const u64 begin = __builtin_readcyclecounter();
  tile[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (u32 k = 0; k < 16 + blockIdx.x % 7; ++k) sum += tile[(threadIdx.x * 17 + k) & 255];
  const u32 mine = __hip_atomic_fetch_add(ticket, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  const u64 end = __builtin_readcyclecounter();
  if ((threadIdx.x & 63) == 0) {
    u64* record = out + (blockIdx.x * 4 + threadIdx.x / 64) * 4;
    record[0] = begin;
    record[1] = end;
    record[2] = mine;
    record[3] = (u64)__builtin_bit_cast(u32, sum);
  }
}

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float4 __attribute__((ext_vector_type(4)));

// C[m][n] = sum over k of A[m][k] * B[n][k]: 64 x 64 per block, 32 of k a step, through LDS.
extern "C" __global__ void __launch_bounds__(256) gemm(const _Float16* a, const _Float16* b, float* c, int n, int k) {
  __shared__ half8 tile_a[64 * 4], tile_b[64 * 4];
  const int lane = threadIdx.x & 63, wave = threadIdx.x >> 6;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  const int row = threadIdx.x >> 2, part = threadIdx.x & 3;
  float4 sums[4] = {};
  for (int step = 0; step < k; step += 32) {
    const half8 next_a = *(const half8*)(a + (row0 + row) * k + step + part * 8);
    const half8 next_b = *(const half8*)(b + (column0 + row) * k + step + part * 8);
    __syncthreads();
    tile_a[row * 4 + part] = next_a;
    tile_b[row * 4 + part] = next_b;
    __syncthreads();
    for (int half = 0; half < 2; ++half) {
      const half4 left = ((const half4*)tile_a)[(wave * 16 + (lane & 15)) * 8 + half * 4 + (lane >> 4)];
      for (int j = 0; j < 4; ++j) {
        const half4 right = ((const half4*)tile_b)[(j * 16 + (lane & 15)) * 8 + half * 4 + (lane >> 4)];
        sums[j] = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sums[j], 0, 0, 0);
      }
    }
  }
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 4; ++i)
      c[(row0 + wave * 16 + (lane >> 4) * 4 + i) * n + column0 + j * 16 + (lane & 15)] = sums[j][i];
}
