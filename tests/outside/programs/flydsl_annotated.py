"""Launch a FlyDSL kernel whose markers have payloads of every type, and some that do not compile.

What the compiler says of the latter goes to standard output as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch_on_hip import on_device, pass_for_hip

pass_for_hip("7.2")

import flydsl.compiler as flyc  # noqa: E402
import flydsl.expr as fx  # noqa: E402

from ktrace_cli.annotate import flydsl as kt  # noqa: E402


@flyc.kernel
def payload_kernel(
    trace: fx.Int64, n: fx.Int32, wide: fx.Int64, real: fx.Float32, count: fx.Uint32
) -> None:
    t = kt.begin(trace)
    kt.group(t, "worker")
    kt.mark(t, "constants", True, -1, 0.5)
    kt.mark(t, "values", n, wide, real, count, fx.block_idx.x)
    kt.push(t, "by hand", lane="a lane")
    kt.pop(t)
    kt.end(t)


@flyc.jit
def payloads(
    trace: fx.Int64, n: fx.Int32, wide: fx.Int64, real: fx.Float32, count: fx.Uint32
) -> None:
    payload_kernel(trace, n, wide, real, count).launch(grid=(1, 1, 1), block=(64, 1, 1))


@flyc.kernel
def not_first_kernel(x: fx.Tensor, trace: fx.Int64) -> None:
    kt.begin(trace)


@flyc.jit
def not_first(x: fx.Tensor, trace: fx.Int64) -> None:
    not_first_kernel(x, trace).launch(grid=(1, 1, 1), block=(64, 1, 1))


@flyc.kernel
def no_handle_kernel(trace: fx.Int64, x: fx.Tensor) -> None:
    kt.pop(trace)


@flyc.jit
def no_handle(x: fx.Tensor, trace: fx.Int64) -> None:
    no_handle_kernel(trace, x).launch(grid=(1, 1, 1), block=(64, 1, 1))


def refusal(launch: Any, x: torch.Tensor) -> str:
    try:
        launch(x, 0)
    except (ValueError, TypeError) as error:
        return str(error)
    return ""


def main() -> None:
    payloads(0, -5, 7 << 40, 2.25, 9)
    torch.cuda.synchronize()
    x = on_device(torch.zeros(4))
    sys.stdout.write(json.dumps([refusal(not_first, x), refusal(no_handle, x)]))


if __name__ == "__main__":
    main()
