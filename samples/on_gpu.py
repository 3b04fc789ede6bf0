"""Tensors on the GPU, for samples in Python languages: with PyTorch for ROCm, or the CPU's.

PyTorch for ROCm is not on PyPI. On ktrace's software device the CPU's takes its place: what the
languages ask of `torch.cuda` is answered by what this repository's tests use for that.
"""

import sys
from pathlib import Path
from typing import Any

import torch

__all__ = ["on_gpu", "to_host"]

if torch.version.hip:

    def on_gpu(tensor: torch.Tensor) -> torch.Tensor:
        """Return a copy of `tensor` on the GPU."""
        return tensor.to("cuda")

else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/outside/programs"))
    try:
        from torch_on_hip import on_device as on_gpu
        from torch_on_hip import pass_for_hip
    except OSError as error:  # no HIP library
        hint = "  try: ktrace run -- python with this sample's path"
        raise SystemExit(f"no PyTorch for ROCm, and no HIP library: {error}\n{hint}") from error
    pass_for_hip("7.2")


def to_host(tensor: torch.Tensor) -> Any:
    """Return what `tensor` holds as a numpy array; waits for the kernels before it."""
    torch.cuda.synchronize()
    return tensor.cpu().numpy()
