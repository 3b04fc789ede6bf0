"""The names of ktrace_cli.annotate.triton as nothing, for where ktrace is not.

Copy it beside kernels. One that is compiled with it is that of the source without markers, but for
the parameter.
"""

from typing import Any

import triton
from triton.language import core

__all__ = ["begin", "end", "group", "mark", "phase", "phase_end", "pop", "push"]


@core.builtin
def begin(trace: Any, _semantic: Any = None) -> Any:
    """Return what the markers take."""
    return trace


@core.builtin
def _nothing(*values: Any, lane: Any = "", _semantic: Any = None) -> None:
    pass


@triton.jit
def end(t):
    """Do nothing; a kernel with this text in it is not taken for one with markers."""


group = mark = phase = phase_end = pop = push = _nothing
