// C = A * transpose(B) on the matrix cores: f16 in, f32 out.
//
// A (M x K), B (N x K) and C (M x N) are row-major, of fewer than 2^31 elements each; M and N are multiples
// of Tile, K is one of TileK. A workgroup makes one Tile x Tile block of C with specialised waves: two
// producers bring tiles of A and B from memory to LDS, the consumers multiply. LDS holds two tiles of each
// operand, so the producers fill one while the consumers read the other; the loads from memory run one tile
// further ahead, in registers.
#include <hip/hip_runtime.h>

#include <ktrace/ktrace.hpp>

namespace {

using f16x4 = _Float16 __attribute__((ext_vector_type(4)));
using f16x8 = _Float16 __attribute__((ext_vector_type(8)));
using f32x16 = float __attribute__((ext_vector_type(16)));

constexpr int Lanes = 64;
constexpr int Producers = 2;  // wave 0 brings A, wave 1 brings B
constexpr int MmaSize = 32;   // v_mfma_f32_32x32x8_f16
constexpr int MmaK = 8;

// In LDS a row is padded by 8 bytes, so that 16 lanes that read 8 bytes of 16 rows meet every bank once.
template <int TileK>
constexpr int Pitch = TileK + 4;

// A tile of one operand on its way from memory to LDS, in the registers of one wave.
template <int Tile, int TileK>
struct Staged {
  static constexpr int ChunksPerRow = TileK / 8;
  static constexpr int Chunks = Tile * ChunksPerRow / Lanes;
  static_assert(Chunks * Lanes == Tile * ChunksPerRow, "every lane brings the same number of 16-byte chunks");

  f16x8 chunks[Chunks];

  __device__ __forceinline__ void load(const _Float16* matrix, int pitch, int lane) {
#pragma unroll
    for (int i = 0; i < Chunks; ++i) {
      const int chunk = i * Lanes + lane;
      const int row = chunk / ChunksPerRow, column = chunk % ChunksPerRow * 8;
      chunks[i] = *reinterpret_cast<const f16x8*>(matrix + row * pitch + column);
    }
  }

  __device__ __forceinline__ void store(_Float16* tile, int lane) const {
#pragma unroll
    for (int i = 0; i < Chunks; ++i) {
      const int chunk = i * Lanes + lane;
      const int row = chunk / ChunksPerRow, column = chunk % ChunksPerRow * 8;
      auto* place = reinterpret_cast<f16x4*>(tile + row * Pitch<TileK> + column);  // aligned to 8 bytes only
      place[0] = chunks[i].lo;
      place[1] = chunks[i].hi;
    }
  }
};

// What one lane gives to one MFMA: four halves of row (lane % 32), the upper 32 lanes the four after them.
template <int TileK>
__device__ __forceinline__ f16x4 fragment(const _Float16* tile, int first_row, int step, int lane) {
  const int row = first_row + lane % MmaSize, column = step * MmaK + lane / MmaSize * 4;
  return *reinterpret_cast<const f16x4*>(tile + row * Pitch<TileK> + column);
}

// Waits for this wave's loads from memory. The compiler waits where they are used first; here a slice ends.
__device__ __forceinline__ void wait_for_loads() {
  __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0), nothing else
}

// Two tiles of each operand: one is filled while the other is read.
template <int Tile, int TileK>
using Buffers = _Float16[2][Producers][Tile * Pitch<TileK>];

// One round more than there are tiles: round i asks for tile i and publishes tile i - 1.
template <int Tile, int TileK>
__device__ __forceinline__ void produce(const _Float16* operand, int k, Buffers<Tile, TileK>& buffers,
                                        int wave, int lane KTRACE_INLINE_PARAM(t)) {
  KTRACE_GROUP(t, "producer");
  const int tiles = k / TileK;
  Staged<Tile, TileK> staged;
  KTRACE_TOKEN(load);
  load = ktrace::no_token;  // nothing is loading yet
  for (int tile = 0; tile <= tiles; ++tile) {
    KTRACE_RANGE(t, "round", tile);
    wait_for_loads();
    KTRACE_STOP(t, load);  // begun in the round before; nothing in round 0
    if (tile > 0) {
      // The consumers are done with this buffer: else they had not passed the last barrier.
      staged.store(buffers[(tile - 1) % 2][wave], lane);
      KTRACE_MARK(t, "stored", tile - 1);
    }
    if (tile < tiles) {
      KTRACE_START(t, load, "load", KTRACE_LANE("vmem"));
      staged.load(operand + tile * TileK, k, lane);
    }
    if (tile > 0) {
      __syncthreads();  // publishes tile - 1; the load stays in flight
    }
  }
}

// Multiplies the rows of A that start at `strip` by all rows of B, which makes MmaSize x Tile of C.
template <int Tile, int TileK>
__device__ __forceinline__ void consume(float* block, int n, int k, const Buffers<Tile, TileK>& buffers,
                                        int strip, int lane KTRACE_INLINE_PARAM(t)) {
  KTRACE_GROUP(t, "consumer");
  constexpr int Parts = Tile / MmaSize, Steps = TileK / MmaK;
  f32x16 sums[Parts] = {};
  for (int tile = 0; tile < k / TileK; ++tile) {
    KTRACE_PHASE(t, "wait");
    __syncthreads();
    KTRACE_PHASE(t, "mma");
    KTRACE_RANGE(t, "k_tile", tile * TileK);
    const auto& [a_tile, b_tile] = buffers[tile % 2];
    f16x4 a[Steps], b[Steps][Parts];
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
      a[step] = fragment<TileK>(a_tile, strip, step, lane);
#pragma unroll
      for (int part = 0; part < Parts; ++part) {
        b[step][part] = fragment<TileK>(b_tile, part * MmaSize, step, lane);
      }
    }
    __builtin_amdgcn_sched_barrier(0);  // else clang asks for half of them only after the first four MFMAs
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int part = 0; part < Parts; ++part) {
        sums[part] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[step], b[step][part], sums[part], 0, 0, 0);
      }
    }
  }
  KTRACE_PHASE(t, "store");
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {  // a lane holds a column: four rows, four of the other half's, and so on
      const int row = strip + i / 4 * 8 + lane / MmaSize * 4 + i % 4;
      block[row * n + part * MmaSize + lane % MmaSize] = sums[part][i];
    }
  }
  KTRACE_PHASE_END(t);
}

}  // namespace

KTRACE_EDGE("load", "mma");

template <int Tile, int TileK>
__global__ void __launch_bounds__(Lanes*(Producers + Tile / MmaSize))
    gemm(const _Float16* __restrict__ a, const _Float16* __restrict__ b, float* __restrict__ c, int n,
         int k KTRACE_PARAM) {
  alignas(16) __shared__ Buffers<Tile, TileK> buffers;
  KTRACE_WAVE(t);
  const int item = static_cast<int>(threadIdx.x);
  // A scalar: otherwise clang cannot know that a wave has one role, and masks lanes instead of branching.
  const int wave = __builtin_amdgcn_readfirstlane(item / Lanes);
  const int lane = item % Lanes;
  const int first_row = static_cast<int>(blockIdx.y) * Tile;
  const int first_column = static_cast<int>(blockIdx.x) * Tile;

  // Both roles pass k / TileK barriers.
  if (wave < Producers) {
    const _Float16* operand = wave == 0 ? a + first_row * k : b + first_column * k;
    produce<Tile, TileK>(operand, k, buffers, wave, lane KTRACE_INLINE_ARG(t));
  } else {
    const int strip = (wave - Producers) * MmaSize;
    consume<Tile, TileK>(c + first_row * n + first_column, n, k, buffers, strip, lane KTRACE_INLINE_ARG(t));
  }
}

// By decltype, because KTRACE_PARAM has a default argument and an instantiation may not repeat it.
template __global__ decltype(gemm<64, 32>) gemm<64, 32>;
