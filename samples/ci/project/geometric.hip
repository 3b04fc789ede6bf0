// y = 1 / (1 - x) as a geometric series, for |x| <= 1/2: a kernel with three phases.
#include <hip/hip_runtime.h>

#include <ktrace/ktrace.hpp>

constexpr int Terms = 200;

extern "C" __global__ void geometric(int n, const float* x, float* y KTRACE_PARAM) {
  KTRACE_WAVE(t);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);

  KTRACE_PHASE(t, "load");
  const float value = i < n ? x[i] : 0.0F;
  __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0): else the wait is where the value is used first

  KTRACE_PHASE(t, "mainloop");
  float sum = 1.0F;
#pragma unroll 1
  for (int term = 0; term < Terms; ++term) {
    sum = sum * value + 1.0F;
  }

  KTRACE_PHASE(t, "store");
  if (i < n) {
    y[i] = sum;
  }
  KTRACE_PHASE_END(t);
}
