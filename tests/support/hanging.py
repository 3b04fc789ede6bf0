"""A kernel of which one wave never ends, and a program that launches it."""

from pathlib import Path

from support.compile_kernel import any_compiler

INCLUDE = Path(__file__).parents[2] / "preload" / "include"
SOURCE = """
#include <mini_hip.hpp>
#include <ktrace/ktrace.hpp>
extern "C" __global__ void spin(const volatile int* flag, int n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_PUSH(t, "mainloop");
  for (int i = 0; i < n; ++i) {
    KTRACE_RANGE(t, "k_tile", i);
  }
  {
    KTRACE_PUSH(t, "wait_flag", n);
    while (threadIdx.x < 64 && *flag == 0) {
      __builtin_amdgcn_s_sleep(127);
    }
    KTRACE_POP(t);
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
check(hip.hipHostMalloc(ctypes.byref(flag), ctypes.c_size_t(4), 0))
word = ctypes.c_int.from_address(flag.value)
word.value = 0
n, sink = ctypes.c_int(3), ctypes.c_void_p()
places = (ctypes.c_void_p * 3)(*map(ctypes.addressof, (flag, n, sink)))
def launch(blocks=2, threads=192):
    check(hip.hipModuleLaunchKernel(
        function, blocks, 1, 1, threads, 1, 1, 0, None, places, None))
"""


def hanging_code_object(*options: str, target: str = "gfx942") -> Path:
    """Compile the kernel: of each workgroup of 192 threads the first wave waits for a flag."""
    return any_compiler(target).hip(SOURCE, "-DKTRACE_ENABLE", "-O2", *options, includes=[INCLUDE])
