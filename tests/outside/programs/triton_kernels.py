"""Compile Triton kernels for the GPU that its own driver finds, launch them, and save results.

triton_kernels.py RESULTS.npz
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from torch_on_hip import on_device, pass_for_hip

pass_for_hip("7.2")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

SIZE, TILE, TILE_K = 128, 64, 32
ROWS, COLUMNS = 7, 781
N = 5000
# fp8 of gfx942 has no negative zero and no infinity, that of gfx950 is the one of the OCP.
FP8 = {"gfx942": torch.float8_e4m3fnuz, "gfx950": torch.float8_e4m3fn}


@triton.jit
def add_kernel(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside)
    tl.store(c + at, total, mask=inside)


@triton.jit
def softmax_kernel(output, x, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    row = tl.load(x + start + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(output + start + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul_kernel(a, b, c, size, TILE: tl.constexpr, TILE_K: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, size, TILE_K):
        left = tl.load(a + rows[:, None] * size + (k + inner)[None, :])
        right = tl.load(b + (k + inner)[:, None] * size + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * size + columns[None, :], total)


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def main(output: str) -> None:
    arch = triton.runtime.driver.active.get_current_target().arch
    saved = {}
    a, b, c = on_device(normal(N, seed=1)), on_device(normal(N, seed=2)), on_device(torch.zeros(N))
    add_kernel[(triton.cdiv(N, 1024),)](a, b, c, N, BLOCK=1024)
    x, y = on_device(normal(ROWS, COLUMNS, seed=3)), on_device(torch.zeros(ROWS, COLUMNS))
    softmax_kernel[(ROWS,)](y, x, COLUMNS, BLOCK=1024)
    saved |= {"a": a, "b": b, "c": c, "x": x, "y": y}
    types = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp8": FP8[arch]}
    for name, dtype in types.items():
        left, right = (on_device(normal(SIZE, SIZE, seed=seed).to(dtype)) for seed in (4, 5))
        product = on_device(torch.zeros(SIZE, SIZE))
        grid = (SIZE // TILE, SIZE // TILE)
        matmul_kernel[grid](left, right, product, SIZE, TILE=TILE, TILE_K=TILE_K)
        torch.cuda.synchronize()
        saved |= {f"{name}/left": left.float(), f"{name}/right": right.float()}
        saved[f"{name}/product"] = product
    np.savez(output, arch=np.array(arch), **{name: each.numpy() for name, each in saved.items()})


if __name__ == "__main__":
    main(sys.argv[1])
