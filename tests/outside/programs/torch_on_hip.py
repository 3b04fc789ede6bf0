"""Let a CPU build of PyTorch pass for one with HIP: libraries for AMD GPUs then take its tensors.

There is no build of PyTorch for ROCm on PyPI. What its users ask of `torch.cuda` is answered here
by HIP itself; memory is the process's own, which the software device reads as it reads its own.
Nothing of the libraries that use PyTorch is changed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

HIP = ctypes.CDLL("libamdhip64.so.7")
NULL_STREAM = 0


def check(status: int) -> None:
    """Stop at an error of HIP."""
    if status:
        HIP.hipGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(f"HIP: {HIP.hipGetErrorString(status).decode()}")


def pass_for_hip(version: str) -> None:
    """Answer for `torch.cuda` as a build of PyTorch for this version of ROCm would."""
    torch.version.hip = version
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.is_initialized = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.set_device = lambda device: None
    cuda.synchronize = lambda device=None: check(HIP.hipDeviceSynchronize())
    cuda.get_device_properties = _properties
    cuda.get_device_capability = lambda device=None: (9, 4 if _arch() == "gfx942" else 5)
    cuda.current_stream = lambda device=None: SimpleNamespace(cuda_stream=NULL_STREAM)
    cuda.is_current_stream_capturing = lambda: False
    core: Any = torch._C
    core._cuda_getCurrentRawStream = lambda device: NULL_STREAM


def take_kernels_of_cuda() -> None:
    """Register operators that are written for `cuda` for CPU tensors, in place of the `cpu` ones.

    Call it before the library that registers them is imported.
    """
    register = torch.library.register_kernel

    def register_kernel(operator: str, device: str, *rest: Any) -> Callable[..., Any]:
        if device == "cpu":
            return lambda function: function
        return register(operator, "cpu" if device == "cuda" else device, *rest)  # type: ignore[no-any-return]

    library: Any = torch.library
    library.register_kernel = register_kernel


def on_device(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor into memory of hipMalloc, where it stays until the process ends."""
    tensor = tensor.contiguous()
    pointer = ctypes.c_void_p()
    size = tensor.numel() * tensor.element_size()
    check(HIP.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)))
    memory = (ctypes.c_char * size).from_address(pointer.value or 0)
    made = torch.frombuffer(memory, dtype=torch.uint8).view(tensor.dtype).view(tensor.shape)
    return made.copy_(tensor)


def _properties(device: object = None) -> SimpleNamespace:
    return SimpleNamespace(
        name="software device", gcnArchName=_arch(), major=9, minor=4, multi_processor_count=304
    )


def _arch() -> str:
    properties = ctypes.create_string_buffer(4096)
    check(HIP.hipGetDevicePropertiesR0600(properties, 0))
    return "gfx" + properties.raw.split(b"gfx")[-1].split(b"\0")[0].split(b":")[0].decode()
