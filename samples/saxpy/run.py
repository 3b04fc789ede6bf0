"""Run the saxpy kernel and check its result: the smallest host of an annotated kernel."""

import argparse
import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from host import check, hip, load_kernel, open_device, to_device, to_host

BLOCK = 256
BLOCKS = 16


def main() -> int:
    parser = argparse.ArgumentParser(description="y = a * x + y on the GPU, checked.")
    parser.add_argument("--size", type=int, default=50_000, help="elements (%(default)s)")
    parser.add_argument(
        "--untraced", action="store_true", help="run the kernel without annotations"
    )
    options = parser.parse_args()

    saxpy = load_kernel("saxpy", open_device("saxpy"), "saxpy", not options.untraced)
    random = np.random.default_rng(seed=1)
    x, y = random.uniform(-1, 1, (2, options.size)).astype(np.float32)
    x_memory, y_memory = to_device(x), to_device(y)
    a = np.float32(2.5)
    arguments: list[Any] = [
        ctypes.c_int(options.size),
        ctypes.c_float(a),
        ctypes.c_void_p(int(x_memory)),
        ctypes.c_void_p(int(y_memory)),
    ]
    if not options.untraced:
        arguments.append(ctypes.c_void_p(None))  # KTRACE_PARAM: ktrace puts its buffer here
    places = [ctypes.addressof(argument) for argument in arguments]
    check(hip.hipModuleLaunchKernel(saxpy, BLOCKS, 1, 1, BLOCK, 1, 1, 0, None, places, None))

    difference = np.abs(to_host(y_memory, y) - (a * x.astype(np.float64) + y))
    error = float(difference.max(initial=0))
    right = error <= 2 * np.finfo(np.float32).eps * 3.5  # two roundings of values up to |a| + 1
    print(f"saxpy {options.size}: max error {error:.2g}, {'ok' if right else 'wrong'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
