"""Call bitsandbytes' library for ROCm without PyTorch, and save what went in and what came out.

bitsandbytes_library.py ROCM_VERSION RESULTS.npz
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

N, BLOCK, ROWS, COLUMNS = 4096, 64, 96, 256


def load(version: str) -> Any:
    """Load the library as bitsandbytes does."""
    name = f"libbitsandbytes_rocm{version.replace('.', '')}.so"
    files = importlib.metadata.files("bitsandbytes") or []
    path = next(file for file in files if file.name == name)
    return ctypes.CDLL(str(Path(str(path.locate()))))


def at(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def main(version: str, output: str) -> None:
    library, random = load(version), np.random.default_rng(0)
    x = random.standard_normal(N).astype(np.float32)
    absmax, codes = np.zeros(N // BLOCK, np.float32), np.zeros(N // 2, np.uint8)
    y, half = np.zeros(N, np.float32), np.zeros(N, np.float16)
    library.cquantize_blockwise_fp32_nf4(None, at(x), at(absmax), at(codes), BLOCK, N)
    library.cdequantize_blockwise_fp32_nf4(None, at(codes), at(absmax), at(y), BLOCK, N, None)
    library.cdequantize_blockwise_fp16_nf4(None, at(codes), at(absmax), at(half), BLOCK, N, None)
    weight = random.integers(0, 256, ROWS * COLUMNS // 2, dtype=np.uint8)
    scales = random.random(ROWS * COLUMNS // BLOCK, dtype=np.float32) + np.float32(0.1)
    table = np.linspace(-1, 1, 16, dtype=np.float32)
    row = random.standard_normal(COLUMNS).astype(np.float32)
    product = np.zeros(ROWS, np.float32)
    operands = (at(row), at(weight), at(scales), at(table), at(product))
    strides = (ROWS, COLUMNS // 2, ROWS, BLOCK)
    library.cgemm_4bit_inference_naive_fp32(ROWS, 1, COLUMNS, *operands, *strides, None)
    hip = ctypes.CDLL("libamdhip64.so.7")
    if status := hip.hipDeviceSynchronize():
        raise RuntimeError(f"HIP: {status}")
    four_bits = {"x": x, "codes": codes, "absmax": absmax, "y": y, "half": half}
    gemv = {"weight": weight, "scales": scales, "table": table, "row": row, "product": product}
    np.savez(output, **four_bits, **gemv)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
