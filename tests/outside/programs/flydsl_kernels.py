"""Compile FlyDSL kernels and launch them, traced by FlyDSL's own ktrace and not, and save results.

    flydsl_kernels.py RESULTS.npz

What FlyDSL's own decoder says about its own buffer goes to standard output as JSON.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_on_hip import on_device, pass_for_hip

pass_for_hip("7.2")

import flydsl.compiler as flyc  # noqa: E402
import flydsl.expr as fx  # noqa: E402
from flydsl.expr import ktrace  # noqa: E402

THREADS = 64
TILE, TILE_K = 64, 32  # rows and columns of a workgroup's part of the product
N, SIZE = 64 * 50, 512


@flyc.kernel
def add_kernel(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor) -> None:
    block, thread = fx.block_idx.x, fx.thread_idx.x
    one = fx.make_layout(1, 1)
    parts = [
        fx.logical_divide(
            fx.slice(fx.logical_divide(x, fx.make_layout(THREADS, 1)), (None, block)), one
        )
        for x in (a, b, c)
    ]
    copy = fx.make_copy_atom(fx.UniversalCopy32b(), fx.Float32)
    left, right, total = (fx.make_rmem_tensor(1, fx.Float32) for _ in range(3))
    with ktrace.range("load", payload=block):
        fx.copy_atom_call(copy, fx.slice(parts[0], (None, thread)), left)
        fx.copy_atom_call(copy, fx.slice(parts[1], (None, thread)), right)
    ktrace.mark("sum")
    fx.memref_store_vec(fx.arith.addf(fx.memref_load_vec(left), fx.memref_load_vec(right)), total)
    fx.copy_atom_call(copy, total, fx.slice(parts[2], (None, thread)))


@flyc.jit
def add(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor) -> None:
    add_kernel(a, b, c).launch(grid=(N // THREADS, 1, 1), block=(THREADS, 1, 1))


@flyc.kernel
def gemm_kernel(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor) -> None:
    thread = fx.thread_idx.x
    row, column, _ = fx.block_idx
    a, b, c = (fx.rocdl.make_buffer_tensor(x) for x in (a, b, c))
    a_tiles = fx.flat_divide(a, (TILE, TILE_K))[None, None, row, None]
    b_tiles = fx.flat_divide(b, (TILE, TILE_K))[None, None, column, None]
    c_tile = fx.flat_divide(c, (TILE, TILE))[None, None, row, column]
    atom = fx.make_mma_atom(fx.rocdl.MFMA(16, 16, 16, fx.Float16))
    waves = fx.make_tiled_mma(atom, fx.make_layout((2, 2, 1), (1, 2, 0)))
    mine = waves.thr_slice(thread)
    load = fx.make_copy_atom(fx.rocdl.BufferCopy64b(), fx.Float16)
    store = fx.make_copy_atom(fx.rocdl.BufferCopy32b(), fx.Float32)
    copy_a = fx.make_tiled_copy_A(load, waves).get_slice(thread)
    copy_b = fx.make_tiled_copy_B(load, waves).get_slice(thread)
    copy_c = fx.make_tiled_copy_C(store, waves).get_slice(thread)
    from_a, from_b = copy_a.partition_S(a_tiles), copy_b.partition_S(b_tiles)
    part_a = mine.make_fragment_A(a_tiles[None, None, 0])
    part_b = mine.make_fragment_B(b_tiles[None, None, 0])
    part_c = mine.make_fragment_C(c_tile)
    into_a, into_b = copy_a.retile(part_a), copy_b.retile(part_b)

    def add_tile(k: fx.Int32) -> None:  # a loop must not see what it cannot carry around
        token = ktrace.range_start("tile", payload=k)
        fx.copy(load, from_a[None, None, None, k], into_a)
        fx.copy(load, from_b[None, None, None, k], into_b)
        fx.gemm(waves, part_c, part_a, part_b, part_c)
        ktrace.range_stop(token)

    part_c.fill(0)
    for k in range(SIZE // TILE_K):
        add_tile(fx.Int32(k))
    fx.copy(store, copy_c.retile(part_c), copy_c.partition_S(c_tile))


@flyc.jit
def gemm(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor) -> None:
    grid = (SIZE // TILE, SIZE // TILE, 1)
    gemm_kernel(a, b, c).launch(grid=grid, block=(4 * 64, 1, 1))


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return on_device(torch.randn(*shape, generator=generator).to(dtype))


def captured(name: str, launch: Any, count: int) -> dict[str, Any]:
    """Launch inside FlyDSL's capture; what its decoder says, and what it wrote."""
    with ktrace.capture(name, out_dir=str(Path.cwd())) as capture:
        for _ in range(count):
            launch()
        torch.cuda.synchronize()
    exported = Path(str(capture.export()))
    return {
        "summary": capture.summary(),
        "launches": capture.launches(),
        "exported": exported.name,
        "size": len(gzip.decompress(exported.read_bytes())),
    }


def main(output: str) -> None:
    a, b, c = random(N, seed=1), random(N, seed=2), on_device(torch.zeros(N))
    left = random(SIZE, SIZE, dtype=torch.float16, seed=3)
    right = random(SIZE, SIZE, dtype=torch.float16, seed=4)
    product = on_device(torch.zeros(SIZE, SIZE))
    add(a, b, c)
    gemm(left, right, product)
    torch.cuda.synchronize()
    saved = {
        "a": a,
        "b": b,
        "c": c.clone(),
        "left": left,
        "right": right,
        "product": product.clone(),
    }
    c.zero_()
    product.zero_()
    said = {
        "add": captured("add", lambda: add(a, b, c), 3),
        "gemm": captured("gemm", lambda: gemm(left, right, product), 1),
    }
    saved |= {"traced_c": c, "traced_product": product}
    np.savez(output, **{name: each.numpy() for name, each in saved.items()})
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1])
