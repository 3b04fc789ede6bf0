"""The whole kernels of softdev_bench.py: arguments, grids, and what numpy says of their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Argument = Array | np.generic
SOURCE = Path(__file__).with_name("softdev_kernels.hip")


@dataclass(frozen=True)
class Whole:
    """One dispatch of a kernel of softdev_kernels.hip."""

    name: str
    kernel: str
    target: float
    grid: tuple[int, int, int]  # blocks
    block: tuple[int, int, int]
    arguments: Callable[[], Sequence[Argument]]
    is_right: Callable[[Sequence[Argument], Sequence[Array]], bool]
    """Of the arguments, and the buffers among them after one dispatch."""


def _random(*shape: int) -> Array:
    return np.random.default_rng(1).random(shape, np.float32)


def _saxpy() -> Sequence[Argument]:
    return np.float32(2.5), _random(1 << 20), _random(1 << 20) + 1, np.int32(1 << 20)


def _saxpy_is_right(given: Sequence[Argument], after: Sequence[Array]) -> bool:
    x, y = np.asarray(given[1], np.float64), np.asarray(given[2], np.float64)
    return bool(np.array_equal(after[1], (2.5 * x + y).astype(np.float32)))


def _gemm(side: int, kind: type[np.floating[Any]]) -> Sequence[Argument]:
    left, right = _random(2, side, side).astype(kind)
    return left, right, np.zeros((side, side), np.float32), np.int32(side)


def _gemm_is_right(given: Sequence[Argument], after: Sequence[Array]) -> bool:
    return bool(np.allclose(after[2], np.asarray(given[0]) @ np.asarray(given[1]), rtol=1e-4))


def _gemm_mfma_is_right(given: Sequence[Argument], after: Sequence[Array]) -> bool:
    left, right = (np.asarray(matrix, np.float32) for matrix in given[:2])
    return bool(np.allclose(after[2], left @ right.T, rtol=1e-4))


def _softmax() -> Sequence[Argument]:
    return _random(64, 4096) * 10, np.zeros((64, 4096), np.float32), np.int32(4096)


def _softmax_is_right(given: Sequence[Argument], after: Sequence[Array]) -> bool:
    values = np.exp2(np.asarray(given[0], np.float64))
    return bool(np.allclose(after[1], values / values.sum(axis=1, keepdims=True), rtol=1e-4))


def _histogram() -> Sequence[Argument]:
    data = np.random.default_rng(2).integers(0, 256, 1 << 18).astype(np.uint32)
    return data, np.zeros(256, np.uint32), np.int32(data.size)


def _histogram_is_right(given: Sequence[Argument], after: Sequence[Array]) -> bool:
    return bool(np.array_equal(after[1], np.bincount(np.asarray(given[0]), minlength=256)))


WHOLES = (
    Whole("saxpy, 1 M", "saxpy", 3.0, (4096, 1, 1), (256, 1, 1), _saxpy, _saxpy_is_right),
    Whole(
        "gemm f32 256^3, LDS", "gemm_lds", 3.0, (8, 8, 1), (16, 16, 1),
        lambda: _gemm(256, np.float32), _gemm_is_right,
    ),
    Whole(
        "gemm f16 512^3, MFMA", "gemm_mfma", 3.0, (8, 8, 1), (256, 1, 1),
        lambda: _gemm(512, np.float16), _gemm_mfma_is_right,
    ),
    Whole(
        "softmax, 64 x 4096", "softmax", 1.3, (64, 1, 1), (64, 1, 1),
        _softmax, _softmax_is_right,
    ),
    Whole(
        "histogram, 256 k", "histogram", 3.0, (16, 1, 1), (256, 1, 1),
        _histogram, _histogram_is_right,
    ),
)  # fmt: skip
