"""A matrix product in Triton whose loop has its steps marked, checked against numpy."""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from on_gpu import on_gpu, to_host  # first: it lets the CPU's torch pass for ROCm's

# isort: split
import triton
import triton.language as tl

try:
    from ktrace_cli.annotate import triton as kt
except ImportError:  # in production, say: markers are nothing
    import no_ktrace as kt

SIZE, TILE, TILE_K = 128, 64, 32


@triton.jit
def add_tile(t, a, b, total, k):
    kt.phase(t, "load", k)
    left = tl.load(a)
    right = tl.load(b)
    kt.phase(t, "compute")
    return tl.dot(left, right, total)


@triton.jit
def matmul(a, b, c, size, TILE: tl.constexpr, TILE_K: tl.constexpr, trace: tl.int64 = 0):
    t = kt.begin(trace)
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    kt.push(t, "mainloop")
    for k in range(0, size, TILE_K):
        left = a + rows[:, None] * size + (k + inner)[None, :]
        right = b + (k + inner)[:, None] * size + columns[None, :]
        total = add_tile(t, left, right, total, k)
    kt.phase_end(t)
    kt.pop(t)
    kt.push(t, "store", lane="memory")
    tl.store(c + rows[:, None] * size + columns[None, :], total)
    kt.pop(t)
    kt.end(t)


def main() -> int:
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(SIZE, SIZE, generator=generator).half() for _ in range(2))
    c = on_gpu(torch.zeros(SIZE, SIZE))

    grid = (SIZE // TILE, SIZE // TILE)
    matmul[grid](on_gpu(a), on_gpu(b), c, SIZE, TILE=TILE, TILE_K=TILE_K)

    left, right = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
    error = np.abs(to_host(c) - left @ right)
    right_everywhere = bool((error <= 2.0**-20 * (np.abs(left) @ np.abs(right))).all())
    print(f"matmul {SIZE}x{SIZE}x{SIZE}: {'ok' if right_everywhere else 'wrong'}")
    return 0 if right_everywhere else 1


if __name__ == "__main__":
    sys.exit(main())
