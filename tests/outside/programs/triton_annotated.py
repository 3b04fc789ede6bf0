"""Launch Triton kernels whose markers have payloads of every type, and some that do not compile.

What the compiler says of the latter goes to standard output as JSON.
"""

from __future__ import annotations

import json
import sys

import torch
from torch_on_hip import on_device, pass_for_hip

pass_for_hip("7.2")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from ktrace_cli.annotate import triton as kt  # noqa: E402


@triton.jit
def payloads(x, n, FLAG: tl.constexpr, trace: tl.int64 = 0):
    t = kt.begin(trace)
    if n < 0:
        kt.mark(t, "left early")
        kt.end(t)
        return
    kt.group(t, "worker")
    if FLAG:
        kt.mark(t, "with flag", n, n.to(tl.uint32), n.to(tl.int64) << 40)
    else:
        kt.mark(t, "without flag", 0.5, n > 3, 7, tl.load(x))
    for k in tl.static_range(2):
        kt.push(t, "unrolled", k)
        tl.store(x + k, k + 1.0)
        kt.pop(t)
    kt.end(t)


@triton.jit
def no_beginning(x, trace: tl.int64 = 0):
    kt.push((trace, trace), "a")


@triton.jit
def no_parameter(x, trace: tl.int64 = 0):
    kt.begin(trace + 1)


@triton.jit
def no_literal(x, trace: tl.int64 = 0):
    kt.push(kt.begin(trace), trace)


@triton.jit
def no_scalar(x, trace: tl.int64 = 0):
    kt.push(kt.begin(trace), "a", tl.arange(0, 4))


@triton.jit
def no_plain_name(x, trace: tl.int64 = 0):
    kt.push(kt.begin(trace), "50 %")


@triton.jit
def no_handle(x, trace: tl.int64 = 0):
    kt.begin(trace)
    kt.pop(trace)


def refusal(kernel: triton.JITFunction, x: torch.Tensor) -> str:
    try:
        kernel[(1,)](x)
    except triton.CompilationError as error:
        return str(error).splitlines()[-1]
    return ""


def main() -> None:
    x = on_device(torch.full((4,), 2.25))
    for n, flag in ((5, False), (5, True), (-1, True)):
        payloads[(1,)](x, n, FLAG=flag, num_warps=1)
    torch.cuda.synchronize()
    wrong = (no_beginning, no_parameter, no_literal, no_scalar, no_plain_name, no_handle)
    said = {kernel.__name__: refusal(kernel, x) for kernel in wrong}
    sys.stdout.write(json.dumps({"refusals": said, "x": x.tolist()}))


if __name__ == "__main__":
    main()
