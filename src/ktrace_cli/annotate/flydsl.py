"""Markers for FlyDSL kernels on AMD GPUs.

    from ktrace_cli.annotate import flydsl as kt

    @flyc.kernel
    def kernel(a: fx.Tensor, trace: fx.Int64):
        t = kt.begin(trace)
        with kt.range(t, "load"):
            ...
        kt.end(t)

docs/annotating-python.md explains them.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from flydsl._mlir import ir
from flydsl._mlir.dialects import arith, gpu, llvm
from flydsl.runtime.device import get_rocm_arch

from ktrace_cli.annotate import instructions
from ktrace_cli.annotate.instructions import BeginOperands, Payload
from ktrace_cli.annotate.notes import Marker, kernel_note
from ktrace_cli.annotate.unit import Unit, unit_of
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, ValueType

__all__ = ["begin", "end", "group", "mark", "phase", "phase_end", "pop", "push", "range"]

TARGETS: Final = ("gfx90a", "gfx942", "gfx950")


@dataclass(frozen=True)
class Wave:
    """What the markers of a kernel take."""

    base: Any
    size: Any
    unit: Unit


def begin(trace: Any) -> Wave:
    """Begin a wave's record, once, at the top of the kernel.

    Args:
        trace: the kernel's last parameter, `trace: fx.Int64`.
    """
    sink = _value(trace)
    file, kernel = _check_argument(sink)
    unit = unit_of(file, kernel)
    text = kernel_note(unit.key, layout.LAST_ARGUMENT)
    at = BeginOperands("$0", "$1", "$2", "$3", "$4", ("$5", "$6", "$7"), ("$8", "$9", "$10"))
    text += instructions.begin(_target(), at)
    i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
    axes = [gpu.Dimension.x, gpu.Dimension.y, gpu.Dimension.z]
    places = [gpu.block_id(axis) for axis in axes] + [gpu.thread_id(axis) for axis in axes]
    handle = _assemble(
        text,
        f"=&s,=&s,=&v,=&v,s,s,s,s,v,v,v,{instructions.SCRATCH}",
        [sink, *(arith.index_cast(i32, place) for place in places)],
        ir.Type.parse("!llvm.struct<(i64, i32, i32, i32)>"),
    )
    return Wave(_part(i64, handle, 0), _part(i32, handle, 1), unit)
