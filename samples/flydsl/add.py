"""A vector addition in FlyDSL with its phases marked, checked against numpy."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from on_gpu import on_gpu, to_host  # first: it lets the CPU's torch pass for ROCm's

# isort: split
import flydsl.compiler as flyc
import flydsl.expr as fx

try:
    from ktrace_cli.annotate import flydsl as kt
except ImportError:  # in production, say: markers are nothing
    import no_ktrace as kt

THREADS, ROUNDS, BLOCKS = 128, 4, 50
N = THREADS * ROUNDS * BLOCKS


@flyc.kernel
def add_kernel(trace: fx.Int64, a: fx.Tensor, b: fx.Tensor, c: fx.Tensor) -> None:
    t = kt.begin(trace)
    block, thread = fx.block_idx.x, fx.thread_idx.x
    one = fx.make_layout(1, 1)
    parts = [fx.logical_divide(x, fx.make_layout(THREADS, 1)) for x in (a, b, c)]
    copy = fx.make_copy_atom(fx.UniversalCopy32b(), fx.Float32)
    left, right, total = (fx.make_rmem_tensor(1, fx.Float32) for _ in range(3))

    def add_part(k: fx.Int32) -> None:  # a loop must not see what it cannot carry around
        at = block * ROUNDS + k
        x, y, z = (fx.logical_divide(fx.slice(part, (None, at)), one) for part in parts)
        with kt.range(t, "round", k):
            kt.phase(t, "load")
            fx.copy_atom_call(copy, fx.slice(x, (None, thread)), left)
            fx.copy_atom_call(copy, fx.slice(y, (None, thread)), right)
            kt.phase(t, "compute")
            values = fx.arith.addf(fx.memref_load_vec(left), fx.memref_load_vec(right))
            fx.memref_store_vec(values, total)
            kt.phase(t, "store")
            fx.copy_atom_call(copy, total, fx.slice(z, (None, thread)))
            kt.phase_end(t)

    for k in range(ROUNDS):
        add_part(fx.Int32(k))
    kt.end(t)


@flyc.jit
def add(trace: fx.Int64, a: fx.Tensor, b: fx.Tensor, c: fx.Tensor) -> None:
    add_kernel(trace, a, b, c).launch(grid=(BLOCKS, 1, 1), block=(THREADS, 1, 1))


def main() -> int:
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(N, generator=generator) for _ in range(2))
    c = on_gpu(torch.zeros(N))

    for _ in range(2):
        add(0, on_gpu(a), on_gpu(b), c)  # 0: ktrace puts its buffer here

    right = bool((to_host(c) == a.numpy() + b.numpy()).all())
    print(f"add {N}: {'ok' if right else 'wrong'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
