"""TileOPs' own decoder, where the package is installed."""

from __future__ import annotations

from typing import Any

from support.foreign.absent import load_part

_ABSENT = ("tilelang", "tilelang.language", "tvm", "tvm.ir")


def load_tileops() -> Any | None:
    """Return its module with `decode` and `compute_flows`, whatever the release calls it."""
    for part in ("trace._decode", "trace.decode"):
        if (found := load_part("tileops", part, _ABSENT)) is not None:
            return found
    return None
