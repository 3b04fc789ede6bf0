"""samples/minimal_hip: the names of HIP that it brings mean what they mean in HIP."""

from pathlib import Path

import numpy as np
import pytest

from device_api.build import ENABLE, INCLUDE, WARNINGS
from device_api.launch import Device
from support.compile_kernel import Compiler
from support.trace_buffer import Choice

MINIMAL_HIP = Path(__file__).parents[2] / "samples" / "minimal_hip"
GRID, BLOCK = (2, 3, 2), (8, 4, 4)  # 12 blocks of 128 work-items

SOURCE = """
#include <hip/hip_runtime.h>
#include <ktrace/ktrace.hpp>
__constant__ int seven = 7;
__host__ __device__ __noinline__ int twice(int x) { return 2 * x; }
extern "C" __global__ void __launch_bounds__(128, 2)
    everything(unsigned* seen, int* ints, unsigned* uints, float* floats, unsigned long long* wide
               KTRACE_PARAM) {
  __shared__ unsigned tile[128];
  KTRACE_WAVE(t);
  const unsigned item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned size = blockDim.x * blockDim.y * blockDim.z;
  KTRACE_PUSH(t, "exchange", item);
  tile[item] = block * size + item;
  __syncthreads();
  seen[block * size + size - 1 - item] = tile[size - 1 - item] + gridDim.z * 1000;
  KTRACE_POP(t);
  const int number = static_cast<int>(item);
  atomicAdd(&ints[0], twice(seven));
  atomicAdd(&ints[1], max(number, 100) - min(number, -3));
  atomicAdd(&ints[2], static_cast<int>(max(min(item, 5u), 2u)));
  atomicAdd(&ints[3], static_cast<int>(min(max(-0.5f, static_cast<float>(number)), 3.0f)));
  atomicAdd(&ints[4], static_cast<int>(max(1.5, 2.5) + min(2.0, 9.0)));
  atomicAdd(&ints[5], static_cast<int>(min(9L, 4L) + max(-9L, -8L)));
  atomicAdd(uints, block);
  atomicAdd(floats, 0.25f);
  atomicAdd(wide, 1ull << 40);
}
"""


@pytest.mark.parametrize("options", [(), (ENABLE,)], ids=["disabled", "enabled"])
def test_a_kernel_that_uses_every_name_computes_what_hip_would(
    device: Device, compiler: Compiler, options: tuple[str, ...]
) -> None:
    includes = [MINIMAL_HIP, INCLUDE]
    code_object = compiler.hip(SOURCE, "-O3", *WARNINGS, *options, includes=includes)
    items, blocks = 128, 12
    arguments = [
        np.zeros(items * blocks, np.uint32),
        np.zeros(6, np.int32),
        np.zeros(1, np.uint32),
        np.zeros(1, np.float32),
        np.zeros(1, np.uint64),
    ]
    choice = Choice() if options else None

    traced = device.trace(
        code_object, "everything", arguments, grid=GRID, block=BLOCK, choice=choice
    )

    seen, ints, uints, floats, wide = traced.outputs
    assert (seen == np.arange(items * blocks) + 2000).all()
    numbers = np.arange(items)
    assert ints.tolist() == [
        items * blocks * 14,
        blocks * int((np.maximum(numbers, 100) + 3).sum()),
        blocks * int(np.clip(numbers, 2, 5).sum()),
        blocks * int(np.clip(numbers, 0, 3).sum()),
        items * blocks * 4,
        items * blocks * -4,
    ]
    assert uints.tolist() == [items * sum(range(blocks))]
    assert floats.tolist() == [items * blocks * 0.25]
    assert wide.tolist() == [items * blocks << 40]
