"""Markers for Triton kernels on AMD GPUs.

    from ktrace_cli.annotate import triton as kt

    @triton.jit
    def kernel(x, n, BLOCK: tl.constexpr, trace: tl.int64 = 0):
        t = kt.begin(trace)
        kt.push(t, "load")
        ...
        kt.pop(t)
        kt.end(t)

docs/annotating-python.md explains them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import triton
from triton.language import core

from ktrace_cli.annotate import beginning, instructions, registers
from ktrace_cli.annotate.beginning import BeginOperands
from ktrace_cli.annotate.instructions import Payload
from ktrace_cli.annotate.notes import Marker, kernel_note
from ktrace_cli.annotate.unit import Unit, unit_of
from ktrace_cli.trace_file.layout import Kind, ValueType

__all__ = ["begin", "end", "group", "mark", "phase", "phase_end", "pop", "push"]

TARGETS: Final = ("gfx90a", "gfx942", "gfx950")
_UNIT: Final = "ktrace_unit"
_SOURCES: Final = (
    "beginning.py",
    "instructions.py",
    "notes.py",
    "registers.py",
    "triton.py",
    "unit.py",
)
_VERSION = core.constexpr(
    hashlib.sha256(
        b"".join(Path(__file__).with_name(name).read_bytes() for name in _SOURCES)
    ).hexdigest()
)


@core.builtin
def begin(trace: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """Begin a wave's record, once, at the top of the kernel; return what the markers take.

    Args:
        trace: the kernel's parameter `trace: tl.int64 = 0`.
    """
    target = _target(_semantic)
    argument = _argument_index(trace, _generator)
    unit = unit_of(_generator.file_name, _generator.function_name)
    setattr(_generator.module, _UNIT, unit)
    at = BeginOperands("$0", "$1", "$2", "$3", "$4", ("$5", "$6", "$7"), ("$8",))
    text = kernel_note(unit.key, argument) + beginning.begin(target, at)
    blocks = [core.program_id(axis, _semantic=_semantic) for axis in range(3)]
    outputs = core.inline_asm_elementwise(
        text,
        f"=&s,=&s,=&v,=&v,s,s,s,s,v,{registers.SCRATCH},{registers.CLOBBERS}",
        [trace, *blocks, _work_item(_semantic)],
        (core.int64, core.int32, core.int32, core.int32),
        is_pure=False,
        pack=1,
        _semantic=_semantic,
    )
    return core.tuple(outputs[:2])


# Triton's key of a compiled kernel has the text of functions of its own kind, and not what builtins
# do: by this one, which no kernel goes without, markers of another ktrace are other kernels.
@triton.jit
def end(t):  # type: ignore[no-untyped-def]
    """End the record: before every `return` of the kernel, and at its end."""
    _end(t, _VERSION)


@core.builtin
def _end(t: Any, version: Any, _semantic: Any = None) -> None:
    text = instructions.end(_target(_semantic), "$2", "$3")
    _assemble(text, f"s,s,{registers.SCRATCH}", t, [], _semantic)


@core.builtin
def push(
    t: Any, name: Any, *values: Any, lane: Any = "", _semantic: Any = None, _generator: Any = None
) -> None:
    """Begin a range within the one that is open; `pop` ends it."""
    _mark(Kind.PUSH, t, (name, values, lane), _semantic, _generator)


@core.builtin
def pop(t: Any, _semantic: Any = None) -> None:
    """End the range that the latest open `push` began."""
    _nameless(Kind.POP, t, _semantic)


@core.builtin
def phase(
    t: Any, name: Any, *values: Any, lane: Any = "", _semantic: Any = None, _generator: Any = None
) -> None:
    """End the phase before, and begin one."""
    _mark(Kind.PHASE, t, (name, values, lane), _semantic, _generator)


@core.builtin
def phase_end(t: Any, _semantic: Any = None) -> None:
    """End the phase before."""
    _nameless(Kind.PHASE_END, t, _semantic)


@core.builtin
def mark(t: Any, name: Any, *values: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Name a moment."""
    _mark(Kind.MARK, t, (name, values, ""), _semantic, _generator)


@core.builtin
def group(t: Any, name: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Name the role of this wave."""
    _mark(Kind.GROUP, t, (name, (), ""), _semantic, _generator)


def _mark(kind: Kind, t: Any, what: tuple[Any, Any, Any], semantic: Any, generator: Any) -> None:
    name, values, lane = (_plain(part) for part in what)
    unit = getattr(generator.module, _UNIT, None)
    if not isinstance(unit, Unit):
        raise ValueError("ktrace: no kt.begin(trace) comes before this marker in the kernel")
    if not isinstance(name, str):
        raise ValueError(f"ktrace: a marker's name is a string literal, and not {name!r}")
    line = generator.begin_line + getattr(generator.cur_node, "lineno", 0)
    marker = Marker(kind, name, lane, generator.file_name, line)
    note, event_id = unit.note_and_id(marker)
    words = [word for value in values for word in _words(value, semantic)]
    payload = [Payload(f"${4 + number}", kind) for number, (_, kind) in enumerate(words)]
    tag = instructions.event_tag(kind, event_id)
    text = note + instructions.event("$0", "$2", "$3", tag, payload)
    _assemble(text, "s,s" + ",v" * len(words), t, [word for word, _ in words], semantic)


def _nameless(kind: Kind, t: Any, semantic: Any) -> None:
    _target(semantic)
    text = instructions.event("$0", "$2", "$3", instructions.event_tag(kind, 0))
    _assemble(text, "s,s", t, [], semantic)


def _assemble(text: str, constraints: str, t: Any, values: list[Any], semantic: Any) -> None:
    if not (isinstance(t, core.tuple) and len(t.values) == 2):
        raise ValueError("ktrace: the first argument of a marker is what kt.begin(trace) returned")
    # LLVM moves nothing across what may change EXEC. Triton has no other word for such a barrier,
    # and of a clobbered EXEC the compiler warns.
    core.inline_asm_elementwise(
        text,
        f"=&s,={{exec}},{constraints},{registers.CLOBBERS}",
        [*t.values, *values],
        (core.int32, core.int64),
        is_pure=False,
        pack=1,
        _semantic=semantic,
    )


def _words(value: Any, semantic: Any) -> list[tuple[Any, int]]:
    """Return a payload's words, each of 32 bits in an int32, and their types."""
    number = semantic.to_tensor(value)
    if number.type.is_block():
        raise ValueError(f"ktrace: a payload is a scalar, and not a tensor {number.type}")
    dtype = number.dtype
    if dtype.is_floating():
        bits = number.to(core.float32, _semantic=semantic)
        return [(bits.to(core.int32, bitcast=True, _semantic=semantic), int(ValueType.F32))]
    if dtype.is_bool():
        return [(number.to(core.int32, _semantic=semantic), int(ValueType.BOOL))]
    wide = dtype.primitive_bitwidth == 64
    signed = dtype.is_int_signed()
    if not wide:
        kind = ValueType.I32 if signed else ValueType.U32
        return [(number.to(core.int32, _semantic=semantic), int(kind))]
    kind = ValueType.I64 if signed else ValueType.U64
    high = number.__rshift__(32, _semantic=semantic)
    return [
        (part.to(core.int32, _semantic=semantic), type_of_half)
        for part, type_of_half in zip((number, high), instructions.halves_of(kind), strict=True)
    ]


def _target(semantic: Any) -> str:
    target = str(getattr(semantic.builder.options, "arch", ""))
    if target not in TARGETS:
        raise ValueError(f"ktrace: markers are for {', '.join(TARGETS)}, and not for {target!r}")
    return target


def _work_item(semantic: Any) -> Any:
    """Return the number of the work-item in its workgroup: Triton has no word for it."""
    symbol = "llvm.amdgcn.workitem.id.x"
    kinds = {(): (symbol, core.int32)}
    return core.extern_elementwise("", "", [], kinds, is_pure=True, _semantic=semantic)


def _argument_index(trace: Any, generator: Any) -> int:
    function = generator.fn
    if isinstance(trace, core.tensor) and trace.dtype == core.int64:
        for index in range(function.get_num_args()):
            if function.args(index).id() == trace.handle.id():
                return index
    raise ValueError(
        "ktrace: kt.begin takes a parameter of the kernel itself; add `trace: tl.int64 = 0` as its "
        "last one"
    )


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, core.constexpr) else value
