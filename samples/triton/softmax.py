"""A softmax in Triton with its phases marked, checked against numpy."""

import sys

import numpy as np
import torch
import triton
import triton.language as tl

try:
    from ktrace_cli.annotate import triton as kt
except ImportError:  # without ktrace the markers are nothing
    import no_ktrace as kt

ROWS, COLUMNS, BLOCK = 7, 781, 1024


@triton.jit
def softmax(output, x, columns, BLOCK: tl.constexpr, trace: tl.int64 = 0):
    t = kt.begin(trace)
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    kt.push(t, "softmax", row)
    kt.phase(t, "load")
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    kt.phase(t, "compute")
    powers = tl.exp(values - tl.max(values, axis=0))
    result = powers / tl.sum(powers, axis=0)
    kt.phase(t, "store")
    tl.store(output + row * columns + at, result, mask=at < columns)
    kt.phase_end(t)
    kt.pop(t)
    kt.end(t)


def main() -> int:
    x = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(1))
    on_gpu, output = x.to("cuda"), torch.zeros(ROWS, COLUMNS, device="cuda")
    for _ in range(3):
        softmax[(ROWS,)](output, on_gpu, COLUMNS, BLOCK=BLOCK)
    torch.cuda.synchronize()
    powers = np.exp(x.numpy().astype(np.float64) - x.numpy().max(1, keepdims=True))
    error = np.abs(output.cpu().numpy() / (powers / powers.sum(1, keepdims=True)) - 1).max()
    print(f"softmax {ROWS}x{COLUMNS}: max error {error:.2g}, {'ok' if error < 2e-6 else 'wrong'}")
    return 0 if error < 2e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
