"""A softmax in Triton with its phases marked, checked against numpy."""

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

ROWS, COLUMNS, BLOCK = 7, 781, 1024


@triton.jit
def softmax(output, x, columns, BLOCK: tl.constexpr, trace: tl.int64 = 0):
    t = kt.begin(trace)
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    kt.push(t, "softmax", row)
    kt.phase(t, "load")
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    kt.phase(t, "compute")
    powers = tl.exp(values - tl.max(values, axis=0))
    result = powers / tl.sum(powers, axis=0)
    kt.phase(t, "store")
    tl.store(output + row * columns + at, result, mask=inside)
    kt.phase_end(t)
    kt.pop(t)
    kt.end(t)


def main() -> int:
    x = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(1))
    output = on_gpu(torch.zeros(ROWS, COLUMNS))

    for _ in range(3):
        softmax[(ROWS,)](output, on_gpu(x), COLUMNS, BLOCK=BLOCK)

    wide = x.numpy().astype(np.float64)
    powers = np.exp(wide - wide.max(1, keepdims=True))
    error = np.abs(to_host(output) / (powers / powers.sum(1, keepdims=True)) - 1).max()
    right = bool(error < 2e-6)
    print(f"softmax {ROWS}x{COLUMNS}: {'ok' if right else f'wrong, error {error:.2g}'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
