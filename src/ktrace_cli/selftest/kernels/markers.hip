// Annotated kernels of `ktrace selftest`: known patterns of words, and loops that differ by one marker.
// src/ktrace_cli/selftest/pattern.py says what the patterns must record; samples/build_selftest.py builds
// this.
#include <hip/hip_runtime.h>

#include <ktrace/ktrace.hpp>

#define LOOP _Pragma("clang loop unroll(disable)")
#ifndef KERNEL_NAME
#define KERNEL_NAME(name) selftest_##name
#endif

namespace {

// The same in all lanes, different in each wave of the grid.
__device__ __forceinline__ unsigned key_of_wave(unsigned seed) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  return seed ^
         static_cast<unsigned>(__builtin_amdgcn_readfirstlane(static_cast<int>(item / 64))) * 2654435761u;
}

}  // namespace

// Every kind of word: groups, nested ranges, payloads of all sizes, tokens, and a side stream.
extern "C" __global__ void KERNEL_NAME(pattern)(unsigned rounds, unsigned seed KTRACE_PARAM) {
  KTRACE_WAVE(t);
  const unsigned key = key_of_wave(seed);
  KTRACE_GROUP(t, "pattern");
  KTRACE_PUSH(t, "push", key);
  LOOP for (unsigned i = 0; i < rounds; ++i) {
    {
      KTRACE_RANGE(t, "range", key + i);
      KTRACE_MARK(t, "mark", i, static_cast<float>(i) * 0.5f, static_cast<unsigned long>(key) * 4294967311ul);
    }
    if ((threadIdx.x & 1) != 0) {
      KTRACE_MARK(t, "side", key ^ i);
    }
    KTRACE_PHASE(t, "phase");
    KTRACE_TOKEN(token);
    KTRACE_START(t, token, "token");
    KTRACE_STOP(t, token);
  }
  KTRACE_PHASE_END(t);
  KTRACE_POP(t);
}

// More words than there is room for: of the main stream, then of the side stream.
extern "C" __global__ void KERNEL_NAME(overflow)(unsigned main_marks, unsigned side_marks,
                                                 unsigned seed KTRACE_PARAM) {
  KTRACE_WAVE(t);
  const unsigned key = key_of_wave(seed);
  KTRACE_GROUP(t, "overflow");
  LOOP for (unsigned i = 0; i < main_marks; ++i) { KTRACE_MARK(t, "main", key + i); }
  if ((threadIdx.x & 1) != 0) {
    LOOP for (unsigned i = 0; i < side_marks; ++i) { KTRACE_MARK(t, "side", key + i); }
  }
}

extern "C" __global__ void KERNEL_NAME(empty)(KTRACE_ONLY_PARAM) { KTRACE_WAVE(t); }

// Loops of dependent multiplications. Of two of them, one has a marker more. With few multiplications each
// marker waits for the store of the one before; with many, that has ended long ago.
#define COST_KERNEL(name, multiplications, marker)                                    \
  extern "C" __global__ void KERNEL_NAME(name)(float* out, unsigned n KTRACE_PARAM) { \
    KTRACE_WAVE(t);                                                                   \
    float x = static_cast<float>(threadIdx.x);                                        \
    LOOP for (unsigned i = 0; i < n; ++i) {                                           \
      marker;                                                                         \
      _Pragma("unroll") for (int m = 0; m < multiplications; m += 2) {                \
        x = x * 1.5f + 0.5f;                                                          \
        x = x * 0.5f + 1.5f;                                                          \
      }                                                                               \
    }                                                                                 \
    if (x == -1.0f) {                                                                 \
      *out = x;                                                                       \
    }                                                                                 \
  }
#define COST_KERNELS(prefix, multiplications)                                            \
  COST_KERNEL(prefix##_none, multiplications, )                                          \
  COST_KERNEL(prefix##_mark, multiplications, KTRACE_MARK(t, "mark"))                    \
  COST_KERNEL(prefix##_mark_payload, multiplications, KTRACE_MARK(t, "mark", i))         \
  COST_KERNEL(prefix##_push_pop, multiplications, KTRACE_PUSH(t, "push"); KTRACE_POP(t)) \
  COST_KERNEL(prefix##_range, multiplications, { KTRACE_RANGE(t, "range"); })
COST_KERNELS(cost, 2)
COST_KERNELS(spaced, 256)

using f32x4 = float __attribute__((ext_vector_type(4)));
using f16x4 = _Float16 __attribute__((ext_vector_type(4)));

namespace {

__device__ __forceinline__ void multiply(f32x4 (&sum)[4], const f16x4 (&a)[4], const f16x4 (&b)[4]) {
#pragma unroll
  for (int u = 0; u < 4; ++u) {
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      sum[u] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[u], b[v], sum[u], 0, 0, 0);
    }
  }
}

template <unsigned Step>
__device__ __forceinline__ void read(f16x4 (&a)[4], f16x4 (&b)[4], const f16x4* tile) {
#pragma unroll
  for (unsigned u = 0; u < 4; ++u) {
    a[u] = tile[(threadIdx.x + u * 32 + Step * 7) & 511];
    b[u] = tile[(threadIdx.x + u * 16 + Step * 5) & 511];
  }
}

}  // namespace

// A double-buffered loop: LDS reads of the next group are in flight while the matrix unit works on this one.
#define PIPELINED_KERNEL(name, marker, end)                                                       \
  extern "C" __global__ void KERNEL_NAME(pipelined_##name)(float* out, unsigned n KTRACE_PARAM) { \
    KTRACE_WAVE(t);                                                                               \
    __shared__ f16x4 tile[2][512];                                                                \
    const unsigned item = threadIdx.x;                                                            \
    const _Float16 half = static_cast<_Float16>(item & 15);                                       \
    tile[0][item] = tile[1][item] = f16x4{half, half, half, half};                                \
    tile[0][item + 256] = tile[1][item + 256] = f16x4{half, half, half, half};                    \
    f32x4 sum[4] = {};                                                                            \
    f16x4 a0[4], b0[4], a1[4], b1[4];                                                             \
    __syncthreads();                                                                              \
    read<0>(a0, b0, tile[0]);                                                                     \
    LOOP for (unsigned i = 0; i < n; ++i) {                                                       \
      read<1>(a1, b1, tile[i & 1]);                                                               \
      {                                                                                           \
        marker;                                                                                   \
        multiply(sum, a0, b0);                                                                    \
        end;                                                                                      \
      }                                                                                           \
      read<2>(a0, b0, tile[i & 1]);                                                               \
      multiply(sum, a1, b1);                                                                      \
      tile[(i & 1) ^ 1][item] = a0[0];                                                            \
      __syncthreads();                                                                            \
    }                                                                                             \
    const f32x4 all = sum[0] + sum[1] + sum[2] + sum[3];                                          \
    if (all[0] == -1.0f) {                                                                        \
      *out = all[1];                                                                              \
    }                                                                                             \
  }
PIPELINED_KERNEL(none, , )
PIPELINED_KERNEL(mark, KTRACE_MARK(t, "mark"), )
PIPELINED_KERNEL(mark_payload, KTRACE_MARK(t, "mark", i), )
PIPELINED_KERNEL(push_pop, KTRACE_PUSH(t, "push"), KTRACE_POP(t))
PIPELINED_KERNEL(range, KTRACE_RANGE(t, "range"), )
