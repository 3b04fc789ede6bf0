"""Run the f16 GEMM and check its result against numpy."""

import argparse
import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from host import check, hip, load_kernel, open_device, to_device, to_host

TILE = 64  # gemm<64, 32>: M and N are multiples of 64, K is one of 32
WORK_ITEMS = 256
# A template's name says its parameters' types; built with annotations, it has one parameter more.
UNTRACED = "_Z4gemmILi64ELi32EEvPKDF16_S1_Pfii"
TRACED = UNTRACED + "N6ktrace4sinkE"


def multiple_of_tile(text: str) -> int:
    size = int(text)
    if size <= 0 or size % TILE:
        raise argparse.ArgumentTypeError(f"{size} is not a positive multiple of {TILE}")
    return size


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="C = A * transpose(B), f16 in, f32 out, checked.")
    parser.add_argument("--size", type=multiple_of_tile, default=256, help="M, N, K (%(default)s)")
    parser.add_argument("--launches", type=int, default=3, help="of the kernel (%(default)s)")
    parser.add_argument(
        "--untraced", action="store_true", help="run the kernel without annotations"
    )
    return parser.parse_args()


def multiply(
    a: NDArray[np.float16], b: NDArray[np.float16], launches: int, traced: bool
) -> NDArray[np.float32]:
    """Return a * transpose(b), as the GPU computes it."""
    gemm = load_kernel("gemm", open_device("gemm"), TRACED if traced else UNTRACED, traced)
    rows, columns, depth = a.shape[0], b.shape[0], a.shape[1]
    c = np.full((rows, columns), np.nan, dtype=np.float32)  # an element that is never written shows
    c_memory = to_device(c)
    # hip-python packs device memory and ctypes values in order, each aligned to its size.
    arguments: tuple[Any, ...] = (
        to_device(a),
        to_device(b),
        c_memory,
        ctypes.c_int(columns),
        ctypes.c_int(depth),
    )
    if traced:
        arguments += (ctypes.c_void_p(None),)  # KTRACE_PARAM: ktrace puts its buffer here
    for _ in range(launches):
        check(
            hip.hipModuleLaunchKernel(
                gemm,
                *(columns // TILE, rows // TILE, 1),
                *(WORK_ITEMS, 1, 1),
                sharedMemBytes=0,
                stream=None,
                kernelParams=None,
                extra=arguments,
            )
        )
    return to_host(c_memory, c)


def main() -> int:
    options = parse_options()
    size = options.size
    random = np.random.default_rng(seed=1)
    a, b = random.uniform(-1, 1, (2, size, size)).astype(np.float16)

    c = multiply(a, b, options.launches, traced=not options.untraced)

    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    difference = np.abs(c - wide_a @ wide_b.T)
    # Products of two f16 are exact in f32, so only the K additions round.
    bound = size * np.finfo(np.float32).eps * (np.abs(wide_a) @ np.abs(wide_b).T)
    right = bool((difference <= bound).all())  # also false where c is not a number
    verdict = "ok" if right else "wrong"
    print(f"gemm {size}x{size}x{size}: max error {difference.max():.2g}, {verdict}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
