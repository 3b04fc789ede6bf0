// A software-pipelined LDS -> MFMA loop: the reads of the next step are issued before the MFMAs of this one.
// With MARKERS of 0, 2 or 4 around the two groups of MFMAs, or with RANGES around them.
#include <ktrace/ktrace.hpp>
#include <mini_hip.hpp>

using f32x4 = float __attribute__((ext_vector_type(4)));
using f16x4 = _Float16 __attribute__((ext_vector_type(4)));

#define AROUND_FIRST(macro) \
  if constexpr (MARKERS >= 2) macro
#define AROUND_SECOND(macro) \
  if constexpr (MARKERS >= 4) macro

template <int Step>
__device__ __forceinline__ void multiply(f32x4 (&sum)[4], const f16x4 (&a)[4], const f16x4 (&b)[4]) {
#pragma unroll
  for (int u = 0; u < 4; ++u) {
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      sum[u] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[u], b[v], sum[u], 0, 0, 0);
    }
  }
}

template <int Step>
__device__ __forceinline__ void read(f16x4 (&a)[4], f16x4 (&b)[4], const f16x4* tile_a, const f16x4* tile_b) {
#pragma unroll
  for (unsigned u = 0; u < 4; ++u) {
    a[u] = tile_a[(threadIdx.x + u * 32 + Step * 7 + 256) & 511];
    b[u] = tile_b[(threadIdx.x + u * 16 + Step * 5 + 256) & 511];
  }
}

extern "C" __global__ void pipelined(f32x4* out, const f16x4* a, const f16x4* b,
                                     unsigned steps KTRACE_PARAM) {
  KTRACE_WAVE(t);
  __shared__ f16x4 tile_a[2][512], tile_b[2][512];
  const unsigned item = threadIdx.x;
  f32x4 sum[4] = {};
  f16x4 a0[4], b0[4], a1[4], b1[4];
  tile_a[0][item] = a[item];
  tile_b[0][item] = b[item];
  __syncthreads();
  read<0>(a0, b0, tile_a[0], tile_b[0]);
#pragma clang loop unroll(disable)
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned now = step & 1;
    const f16x4 next_a = a[(step + 1) * 256 + item], next_b = b[(step + 1) * 256 + item];
    read<0>(a1, b1, tile_a[now], tile_b[now]);
    {
#ifdef RANGES
      KTRACE_RANGE(t, "mma");
#endif
      AROUND_FIRST(KTRACE_PUSH(t, "mma"));
      multiply<0>(sum, a0, b0);
      AROUND_FIRST(KTRACE_POP(t));
    }
    read<1>(a0, b0, tile_a[now], tile_b[now]);
    {
#ifdef RANGES
      KTRACE_RANGE(t, "mma");
#endif
      AROUND_SECOND(KTRACE_PUSH(t, "mma"));
      multiply<1>(sum, a1, b1);
      AROUND_SECOND(KTRACE_POP(t));
    }
    tile_a[now ^ 1][item] = next_a;
    tile_b[now ^ 1][item] = next_b;
    __syncthreads();
  }
#pragma unroll
  for (unsigned u = 0; u < 4; ++u) {
    out[item * 4 + u] = sum[u];
  }
}
