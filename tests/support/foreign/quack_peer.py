"""QuACK's own decoder and writer, where the package is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.foreign.absent import load_part

_ABSENT = (
    *("torch", "cutlass", "cutlass.cute", "cutlass.base_dsl", "cutlass.base_dsl.arch"),
    *("cutlass._mlir", "cutlass._mlir.dialects", "cutlass.cutlass_dsl"),
    *("quack.copy_utils", "quack.cute_dsl_utils"),
)


class _Buffer:
    """A tensor, as much of it as is read."""

    def __init__(self, content: bytes) -> None:
        self._array = np.frombuffer(content, np.uint8)

    def cpu(self) -> _Buffer:
        return self

    def numpy(self) -> Any:
        return self._array


def load_quack() -> Any | None:
    """Return `quack.trace`; None: there is none, or a release that has lost it."""
    try:
        return load_part("quack", "trace", _ABSENT)
    except ImportError:  # what later releases have instead says so
        return None


def session(quack: Any, content: bytes, blocks: int, warps: int, capacity: int) -> Any:
    """Return a TraceSession that has read this buffer from a device."""
    made = quack.TraceSession.__new__(quack.TraceSession)
    made.path, made.per_warp_cap, made.total_blocks = None, capacity, blocks
    made.warps_per_block, made.warp_ids, made.device = warps, None, "cuda"
    made.d_buf = _Buffer(content)
    return made
