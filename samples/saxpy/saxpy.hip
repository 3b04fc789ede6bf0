// y = a * x + y: the smallest annotated kernel.
#include <hip/hip_runtime.h>

#include <ktrace/ktrace.hpp>

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y KTRACE_PARAM) {
  KTRACE_WAVE(t);
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  // `first` is the same in all lanes, so every wave runs each round as a whole and records one slice for it.
  for (int first = static_cast<int>(blockIdx.x * blockDim.x); first < n; first += stride) {
    KTRACE_RANGE(t, "round", first);
    const int i = first + static_cast<int>(threadIdx.x);
    if (i < n) {
      y[i] = a * x[i] + y[i];
    }
  }
  KTRACE_MARK(t, "done");
}
