"""What the samples' hosts share: checked HIP calls, code objects, arrays on the device."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from rocm.bindings import hip
except ImportError as error:
    raise SystemExit("this sample needs hip-python\n  try: pip install hip-python") from error

__all__ = ["check", "hip", "load_kernel", "open_device", "to_device", "to_host"]

SAMPLES = Path(__file__).resolve().parent


def check(result: tuple[Any, ...]) -> Any:
    """Return what a HIP call gave besides its error code; raise if that is one."""
    code, *values = result
    if code != hip.hipError_t.hipSuccess:
        raise RuntimeError(f"{code.name} ({code.value})")
    return values[0] if values else None


def open_device(sample: str) -> str:
    """Return the first device's target, such as gfx942; exit if there is no device."""
    remedy = f"\n  try: ktrace run -- python samples/{sample}/run.py"
    try:
        code, count = hip.hipGetDeviceCount()
    except RuntimeError as error:  # hip-python opens the library at the first call
        raise SystemExit(f"{sample}: no HIP library\n  why: {error}{remedy}") from error
    if code == hip.hipError_t.hipErrorNoDevice or count == 0:
        raise SystemExit(f"{sample}: no HIP device{remedy}")
    check((code,))
    name = str(check(hip.hipGetDeviceProperties(0)).gcnArchName)  # gfx942:sramecc+:xnack-
    return name.partition(":")[0]


def load_kernel(sample: str, target: str, symbol: str, traced: bool) -> Any:
    """Return `symbol` of the sample's code object for `target`; exit if there is none."""
    path = SAMPLES / sample / f"{sample}.{target}{'' if traced else '.untraced'}.co"
    if not path.exists():
        known = ", ".join(sorted(p.name for p in path.parent.glob("*.co")))
        raise SystemExit(f"{sample}: no {path.name}\n  why: there are {known} only")
    module = check(hip.hipModuleLoad(str(path).encode()))
    return check(hip.hipModuleGetFunction(module, symbol.encode()))


def to_device(array: NDArray[Any]) -> Any:
    """Return device memory that holds a copy of `array`."""
    memory = check(hip.hipMalloc(array.nbytes))
    check(hip.hipMemcpy(memory, array, array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    return memory


def to_host(memory: Any, like: NDArray[Any]) -> NDArray[Any]:
    """Return what `memory` holds, shaped like `like`; waits for the kernels before it."""
    array = np.empty_like(like)
    check(hip.hipMemcpy(array, memory, array.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    return array
