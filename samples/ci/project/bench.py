"""Launch the kernel ten times and check its result: what CI records."""

import argparse
import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rocm.bindings import hip

BLOCK = 256
CODE_OBJECT = Path(__file__).resolve().parent / "geometric.co"


def check(result: tuple[Any, ...]) -> Any:
    """Return what a HIP call gave besides its error code; raise if that is one."""
    code, *values = result
    if code != hip.hipError_t.hipSuccess:
        raise RuntimeError(f"{code.name} ({code.value})")
    return values[0] if values else None


def geometric(x: NDArray[np.float32], launches: int) -> NDArray[np.float32]:
    """Return 1 / (1 - x), as the GPU computes it."""
    y = np.full_like(x, np.nan)  # an element that is never written shows
    memory = [check(hip.hipMalloc(x.nbytes)) for _ in range(2)]
    check(hip.hipMemcpy(memory[0], x, x.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    module = check(hip.hipModuleLoad(str(CODE_OBJECT).encode()))
    kernel = check(hip.hipModuleGetFunction(module, b"geometric"))
    arguments: list[Any] = [ctypes.c_int(x.size), *(ctypes.c_void_p(int(m)) for m in memory)]
    arguments.append(ctypes.c_void_p(None))  # KTRACE_PARAM: ktrace puts its buffer here
    places = [ctypes.addressof(argument) for argument in arguments]
    blocks = -(-x.size // BLOCK)
    for _ in range(launches):
        check(hip.hipModuleLaunchKernel(kernel, blocks, 1, 1, BLOCK, 1, 1, 0, None, places, None))
    check(hip.hipMemcpy(y, memory[1], y.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    return y


def is_right(x: NDArray[np.float32], y: NDArray[np.float32]) -> bool:
    """Tell whether `y` is 1 / (1 - x)."""
    return bool(np.allclose(y, 1 / (1 - x.astype(np.float64)), rtol=1e-6))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4_000, help="elements (%(default)s)")
    parser.add_argument("--launches", type=int, default=10, help="of the kernel (%(default)s)")
    options = parser.parse_args()

    x = np.linspace(-0.5, 0.5, options.size, dtype=np.float32)
    right = is_right(x, geometric(x, options.launches))
    print(f"geometric {options.size}: {'ok' if right else 'wrong'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
