"""A kernel of which some waves never end, and a program that launches it."""

from pathlib import Path

from support.compile_kernel import any_compiler

INCLUDE = Path(__file__).parents[2] / "preload" / "include"
SOURCE = """
#include <mini_hip.hpp>
#include <ktrace/ktrace.hpp>
__device__ void arrive(int* arrived) {
  if (threadIdx.x % 64 == 0) {
    __hip_atomic_fetch_add(arrived, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}
__device__ __noinline__ void wait_for(const volatile int* flag, int* arrived KTRACE_FN_PARAM(t)) {
  KTRACE_RANGE(t, "poll");
  arrive(arrived);
  while (*flag == 0) {
    __builtin_amdgcn_s_sleep(127);
  }
}
extern "C" __global__ void spin(const volatile int* flag, int* arrived, int n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_PUSH(t, "mainloop");
  for (int i = 0; i < n; ++i) {
    KTRACE_RANGE(t, "k_tile", i);
  }
  if (threadIdx.x < 64) {
    KTRACE_RANGE(t, "wait_flag", n);
    wait_for(flag, arrived KTRACE_FN_ARG(t));
  } else if (threadIdx.x < 128) {
    KTRACE_PHASE(t, "wait_barrier");
    arrive(arrived);
    while (*flag == 0) {
      __builtin_amdgcn_s_sleep(127);
    }
  }
  KTRACE_POP(t);
}
"""
PROGRAM = """
import ctypes, os, signal, sys, threading
import numpy as np
from pathlib import Path
hip = ctypes.CDLL("libamdhip64.so.7")
def check(status):
    if status:
        sys.exit(f"HIP error {status}")
image = Path(sys.argv[1]).read_bytes()
module, function, flag = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(hip.hipModuleLoadData(ctypes.byref(module), image))
check(hip.hipModuleGetFunction(ctypes.byref(function), module, b"spin"))
check(hip.hipHostMalloc(ctypes.byref(flag), ctypes.c_size_t(8), 0))
words = (ctypes.c_int * 2).from_address(flag.value)
words[0] = words[1] = 0  # the flag, and how many waves wait for it
arrived, n, sink = ctypes.c_void_p(flag.value + 4), ctypes.c_int(3), ctypes.c_void_p()
places = (ctypes.c_void_p * 4)(*map(ctypes.addressof, (flag, arrived, n, sink)))
def launch():
    check(hip.hipModuleLaunchKernel(function, 2, 1, 1, 192, 1, 1, 0, None, places, None))
    check(hip.hipDeviceSynchronize())
def wait_until_it_hangs():
    while words[1] < 4:
        os.sched_yield()
"""


def hanging_code_object(*options: str, target: str = "gfx942") -> Path:
    """Compile the kernel: of each workgroup of 192 threads the first two waves wait for a flag."""
    return any_compiler(target).hip(SOURCE, "-DKTRACE_ENABLE", "-O2", *options, includes=[INCLUDE])
