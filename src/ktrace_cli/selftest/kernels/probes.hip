// Kernels of `ktrace selftest` without annotations: what the clocks of the device do.
#include <hip/hip_runtime.h>

#define LOOP _Pragma("clang loop unroll(disable)")

namespace {

using u32 = unsigned;
using u64 = unsigned long;

// Each reading has arrived before the next instruction: `memory` keeps loads and stores on their side of it.
__device__ __forceinline__ u64 core_clock() {
  u64 ticks;
  asm volatile("s_memtime %0\n\ts_waitcnt lgkmcnt(0)" : "=s"(ticks)::"memory");
  return ticks;
}
__device__ __forceinline__ u64 reference_clock() {
  u64 ticks;
  asm volatile("s_memrealtime %0\n\ts_waitcnt lgkmcnt(0)" : "=s"(ticks)::"memory");
  return ticks;
}

__device__ __forceinline__ u32 xcc_number() {
#ifdef __gfx90a__
  return 0;  // it has none
#else
  u32 number;
  asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID, 0, 4)" : "=s"(number));
  return number;
#endif
}

template <class Value>
__device__ __forceinline__ Value load(const Value* from) {
  return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
template <class Value>
__device__ __forceinline__ void store(Value* to, Value value) {
  __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

}  // namespace

extern "C" __global__ void selftest_plain() {}

// One wave: readings of each clock, one right behind the other, in groups of four. Between groups a wait that
// differs from group to group, so that all steps of a clock show.
extern "C" __global__ void selftest_clock_steps(u64* core, u64* reference, u32 groups) {
  LOOP for (u32 group = 0; group < groups; ++group) {
    u64 a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = core_clock();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      b[i] = reference_clock();
    }
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        core[group * 4 + i] = a[i];
        reference[group * 4 + i] = b[i];
      }
    }
    LOOP for (u32 i = 0; i < (group & 7); ++i) { asm volatile("s_nop 0"); }
  }
}

// Both clocks of each wave, as near to each other as they can be read, at its begin and at its end.
extern "C" __global__ void selftest_clock_rates(u64* pairs, u32 spins) {
  const u64 core_begin = core_clock(), reference_begin = reference_clock();
  LOOP for (u32 i = 0; i < spins; ++i) { asm volatile("s_sleep 8"); }
  const u64 core_end = core_clock(), reference_end = reference_clock();
  if (threadIdx.x == 0) {
    u64* own = pairs + blockIdx.x * 5;
    own[0] = xcc_number();
    own[1] = core_begin;
    own[2] = reference_begin;
    own[3] = core_end;
    own[4] = reference_end;
  }
}

struct Mailbox {  // a cache line of its own
  u32 is_taken;
  u32 request;
  u32 reply;
  u32 reserved;
  u64 replied_at;
  u64 unused[13];
};

// Workgroup 0 asks one workgroup on each XCC for the time, as NTP does: what the other one reads lies between
// two readings of its own. Every wait ends after `polls` looks, whether or not the other one is there.
// `state` is whether it is over, and the XCC of workgroup 0.
extern "C" __global__ void selftest_xcc_skew(Mailbox* boxes, u64* times, u32* state, u32 xccs, u32 rounds,
                                             u32 polls) {
  if (threadIdx.x != 0) {
    return;
  }
  if (blockIdx.x != 0) {
    Mailbox& box = boxes[xcc_number()];
    if (__hip_atomic_exchange(&box.is_taken, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) != 0) {
      return;
    }
    u32 answered = 0;
    LOOP for (u32 poll = 0; poll < polls && load(state) == 0; ++poll) {
      const u32 request = load(&box.request);
      if (request != answered) {
        box.replied_at = reference_clock();
        store(&box.reply, request);
        answered = request;
      }
    }
    return;
  }
  LOOP for (u32 xcc = 0; xcc < xccs; ++xcc) {
    Mailbox& box = boxes[xcc];
    LOOP for (u32 poll = 0; poll < polls && load(&box.is_taken) == 0; ++poll) {}
    LOOP for (u32 round = 1; round <= rounds && load(&box.is_taken) != 0; ++round) {
      const u64 asked = reference_clock();
      store(&box.request, round);
      u32 poll = 0;
      LOOP while (poll < polls && load(&box.reply) != round) { ++poll; }
      const u64 heard = reference_clock();
      if (poll == polls) {
        break;
      }
      u64* own = times + (xcc * rounds + round - 1) * 3;
      own[0] = asked;
      own[1] = load(&box.replied_at);
      own[2] = heard;
    }
  }
  state[1] = xcc_number();
  store(state, 1u);
}
