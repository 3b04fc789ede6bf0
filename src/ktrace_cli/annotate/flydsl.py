"""Markers for FlyDSL kernels on AMD GPUs.

    from ktrace_cli.annotate import flydsl as kt

    @flyc.kernel
    def kernel(trace: fx.Int64, a: fx.Tensor):
        t = kt.begin(trace)
        with kt.range(t, "load"):
            ...
        kt.end(t)

docs/annotating-python.md explains them.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from flydsl._mlir import ir
from flydsl._mlir.dialects import arith, gpu, llvm
from flydsl.expr import rocdl
from flydsl.runtime.device import get_rocm_arch

from ktrace_cli.annotate import beginning, instructions, registers
from ktrace_cli.annotate.beginning import BeginOperands
from ktrace_cli.annotate.instructions import Payload
from ktrace_cli.annotate.notes import Marker, kernel_note
from ktrace_cli.annotate.unit import Unit, unit_of
from ktrace_cli.trace_file.layout import Kind, ValueType

__all__ = ["begin", "end", "group", "mark", "phase", "phase_end", "pop", "push", "range"]

TARGETS: Final = ("gfx90a", "gfx942", "gfx950")
_CONTEXTLIB: Final = contextlib.__file__


@dataclass(frozen=True)
class Wave:
    """What the markers of a kernel take."""

    base: Any
    size: Any
    unit: Unit

    def __extract_to_ir_values__(self) -> list[Any]:
        """Return what a loop carries around."""
        return [self.base, self.size]

    @classmethod
    def __construct_from_ir_values__(cls, values: list[Any], exemplar: Wave) -> Wave:
        """Return the same wave within a loop."""
        return cls(values[0], values[1], exemplar.unit)


def begin(trace: Any) -> Wave:
    """Begin a wave's record, once, at the top of the kernel.

    Args:
        trace: the kernel's first parameter, `trace: fx.Int64`.
    """
    sink = _value(trace)
    kernel = _check_argument(sink)
    unit = unit_of(_place()[0], kernel)
    text = kernel_note(unit.key, argument=0)
    at = BeginOperands("$0", "$1", "$2", "$3", "$4", ("$5", "$6", "$7"), ("$8", "$9", "$10"))
    text += beginning.begin(_target(), at)
    i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
    axes = [gpu.Dimension.x, gpu.Dimension.y, gpu.Dimension.z]
    places = [gpu.block_id(axis) for axis in axes] + [gpu.thread_id(axis) for axis in axes]
    handle = _assemble(
        text,
        f"=&s,=&s,=&v,=&v,s,s,s,s,v,v,v,{registers.SCRATCH}",
        [sink, *(arith.index_cast(i32, place) for place in places)],
        ir.Type.parse("!llvm.struct<(i64, i32, i32, i32)>"),
    )
    return Wave(_part(i64, handle, 0), _part(i32, handle, 1), unit)


def end(t: Wave) -> None:
    """End the record, at the end of the kernel."""
    text = instructions.end(_target(), "$0", "$1")
    _assemble(text, f"s,s,{registers.SCRATCH}", [t.base, t.size], None)


def push(t: Wave, name: str, *values: Any, lane: str = "") -> None:
    """Begin a range within the one that is open; `pop` ends it."""
    _mark(t, Marker(Kind.PUSH, name, lane, *_place()), values)


def pop(t: Wave) -> None:
    """End the range that the latest open `push` began."""
    _write(t, "", Kind.POP, 0, ())


@contextlib.contextmanager
def range(t: Wave, name: str, *values: Any, lane: str = "") -> Iterator[None]:  # noqa: A001
    """Push before a block, pop behind it."""
    push(t, name, *values, lane=lane)
    yield
    pop(t)


def phase(t: Wave, name: str, *values: Any, lane: str = "") -> None:
    """End the phase before, and begin one."""
    _mark(t, Marker(Kind.PHASE, name, lane, *_place()), values)


def phase_end(t: Wave) -> None:
    """End the phase before."""
    _write(t, "", Kind.PHASE_END, 0, ())


def mark(t: Wave, name: str, *values: Any) -> None:
    """Name a moment."""
    _mark(t, Marker(Kind.MARK, name, "", *_place()), values)


def group(t: Wave, name: str) -> None:
    """Name the role of this wave."""
    _mark(t, Marker(Kind.GROUP, name, "", *_place()), ())


def _mark(t: Wave, marker: Marker, values: tuple[Any, ...]) -> None:
    note, event_id = t.unit.note_and_id(marker)
    _write(t, note, marker.kind, event_id, values)


def _write(t: Wave, note: str, kind: Kind, event_id: int, values: tuple[Any, ...]) -> None:
    if not isinstance(t, Wave):
        raise TypeError("ktrace: the first argument of a marker is what kt.begin(trace) returned")
    words = [word for value in values for word in _words(value)]
    payload = [Payload(f"${3 + number}", kind) for number, (_, kind) in enumerate(words)]
    tag = instructions.event_tag(kind, event_id)
    _assemble(
        note + instructions.event("$0", "$1", "$2", tag, payload),
        "=&s,s,s" + ",v" * len(words),
        [t.base, t.size, *(word for word, _ in words)],
        ir.IntegerType.get_signless(32),
    )


def _words(value: Any) -> list[tuple[Any, int]]:
    """Return a payload's words, each of 32 bits, and their types."""
    if isinstance(value, (bool, int, float)):
        return [_word_of_constant(value)]
    i32 = ir.IntegerType.get_signless(32)
    bits = _value(value)
    width = bits.type.width if isinstance(bits.type, ir.IntegerType) else 0
    is_signed = getattr(type(value), "signed", True)
    if isinstance(bits.type, ir.IndexType):
        return [(arith.index_cast(i32, bits), int(ValueType.I32))]
    if isinstance(bits.type, ir.F32Type):
        return [(arith.bitcast(i32, bits), int(ValueType.F32))]
    if width == 32:
        return [(bits, int(ValueType.I32 if is_signed else ValueType.U32))]
    if width == 64:
        high = arith.shrui(bits, arith.constant(bits.type, 32))
        kind = ValueType.I64 if is_signed else ValueType.U64
        halves = [arith.trunci(i32, part) for part in (bits, high)]
        return list(zip(halves, instructions.halves_of(kind), strict=True))
    raise TypeError(
        f"ktrace: a payload is an i32, an i64 or an f32, and not {bits.type}; convert it"
    )


def _word_of_constant(value: float) -> tuple[Any, int]:
    i32 = ir.IntegerType.get_signless(32)
    if isinstance(value, bool):
        return arith.constant(i32, int(value)), int(ValueType.BOOL)
    if isinstance(value, int):
        return arith.constant(i32, value), int(ValueType.I32)
    return arith.bitcast(i32, arith.constant(ir.F32Type.get(), value)), int(ValueType.F32)


def _assemble(text: str, constraints: str, operands: list[Any], result: Any) -> Any:
    constraints = f"{constraints},{registers.CLOBBERS}"
    rocdl.sched_barrier(0)
    written = llvm.inline_asm(result, operands, text, constraints, has_side_effects=True)
    rocdl.sched_barrier(0)
    return written


def _part(kind: Any, whole: Any, index: int) -> Any:
    return llvm.extractvalue(kind, whole, ir.DenseI64ArrayAttr.get([index]))


def _value(value: Any) -> Any:
    return value if isinstance(value, ir.Value) else value.ir_value()


def _target() -> str:
    target = str(get_rocm_arch()).split(":")[0]
    if target not in TARGETS:
        raise ValueError(f"ktrace: markers are for {', '.join(TARGETS)}, and not for {target!r}")
    return target


def _check_argument(sink: Any) -> str:
    """Return the kernel's name, if `sink` is the first argument of one.

    Where another one lies is not known yet: FlyDSL makes several of a tensor. And its own ktrace
    appends one.
    """
    block = sink.owner
    if isinstance(block, ir.Block) and str(sink.type) == "i64":
        attributes = block.owner.attributes
        if ir.BlockArgument(sink).arg_number == 0 and "sym_name" in attributes:
            return str(attributes["sym_name"])
    raise ValueError(
        "ktrace: kt.begin takes the first parameter of the kernel itself; make `trace: fx.Int64` "
        "its first one"
    )


def _place() -> tuple[str, int]:
    """Return file and line of the user's code: that of the first frame that is none of ours."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename in (__file__, _CONTEXTLIB):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
