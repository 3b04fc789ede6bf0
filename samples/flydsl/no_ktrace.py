"""The names of ktrace_cli.annotate.flydsl as nothing, for where ktrace is not.

Copy it beside kernels. One that is compiled with it is that of the source without markers, but for
the parameter.
"""

from contextlib import nullcontext
from typing import Any

__all__ = ["begin", "end", "group", "mark", "phase", "phase_end", "pop", "push", "range"]


def begin(trace: Any) -> Any:
    """Return what the markers take."""
    return trace


def range(t: Any, name: str, *values: Any, lane: str = "") -> Any:  # noqa: A001
    """Return a block without an end."""
    return nullcontext()


def _nothing(t: Any, *values: Any, lane: str = "") -> None:
    pass


end = group = mark = phase = phase_end = pop = push = _nothing
