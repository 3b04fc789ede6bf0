"""A kernel in assembly with the statements that ktrace_cli.annotate gives to Python compilers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ktrace_cli.annotate import beginning, instructions
from ktrace_cli.annotate.beginning import BeginOperands
from ktrace_cli.annotate.instructions import Payload
from ktrace_cli.annotate.notes import Marker, kernel_note
from ktrace_cli.annotate.unit import Unit
from ktrace_cli.trace_file.layout import Kind, ValueType
from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler

# s[6:7] becomes the first argument, v1, v2 and v3 the work-item's number on each axis.
_ENTRY = """
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  v_and_b32 v1, 0x3ff, v0
  v_bfe_u32 v2, v0, 10, 10
  v_bfe_u32 v3, v0, 20, 10
  s_waitcnt lgkmcnt(0)
"""
_AT = BeginOperands("s[8:9]", "s10", "v4", "v5", "s[6:7]", ("s2", "s3", "s4"), ("v1", "v2", "v3"))


class Annotated:
    """The statements of one kernel, in order; a compiler would number their labels."""

    def __init__(self, unit: Unit, target: str) -> None:
        self.unit = unit
        self.target = target
        self.statements: list[str] = []

    def begin(self) -> None:
        self._add(kernel_note(self.unit.key, 0) + beginning.begin(self.target, _AT))

    def end(self) -> None:
        self._add(instructions.end(self.target, "s[8:9]", "s10"))

    def mark(self, marker: Marker, payload: Sequence[Payload] = ()) -> None:
        note, event_id = self.unit.note_and_id(marker)
        tag = instructions.event_tag(marker.kind, event_id)
        self._add(note + instructions.event("s11", "s[8:9]", "s10", tag, payload))

    def nameless(self, kind: Kind) -> None:
        tag = instructions.event_tag(kind, 0)
        self._add(instructions.event("s11", "s[8:9]", "s10", tag))

    def text(self, text: str) -> None:
        self.statements.append(text)

    def code_object(self) -> Path:
        kernel = AsmKernel(_ENTRY + "\n".join(self.statements), name="annotated")
        return any_compiler(self.target).assemble(kernel.source(self.target))

    def _add(self, statement: str) -> None:
        assert not re.search(r"\$\d", statement)
        self.statements.append(statement.replace("${:uid}", str(len(self.statements))))


def rounds(target: str, count: int) -> Path:
    """A phase `round` for each round with the number of those that are left, in a range."""
    kernel = Annotated(Unit(0x1122334455667788), target)
    kernel.begin()
    kernel.mark(Marker(Kind.GROUP, "worker"))
    kernel.mark(Marker(Kind.PUSH, "all", file="kernel.py", line=3))
    kernel.text(f"s_mov_b32 s12, {count}\nagain:\nv_mov_b32 v6, s12")
    kernel.mark(
        Marker(Kind.PHASE, "round", "rounds", "kernel.py", 5), [Payload("v6", int(ValueType.I32))]
    )
    kernel.text("s_sub_u32 s12, s12, 1\ns_cmp_lg_u32 s12, 0\ns_cbranch_scc1 again")
    kernel.nameless(Kind.PHASE_END)
    kernel.nameless(Kind.POP)
    kernel.end()
    return kernel.code_object()


def parted_lanes(target: str) -> Path:
    """The same mark for lane 0 and for all others, one after the other, then for all."""
    kernel = Annotated(Unit(0x1122334455667788), target)
    mark = Marker(Kind.MARK, "once")
    kernel.begin()
    for mask in ("1", "-2", "-1"):
        kernel.text(f"s_mov_b64 exec, {mask}")
        kernel.mark(mark)
    kernel.end()
    return kernel.code_object()


def no_end(target: str) -> Path:
    """A wave that returns without an end."""
    kernel = Annotated(Unit(0x1122334455667788), target)
    kernel.begin()
    kernel.mark(Marker(Kind.MARK, "last words"))
    return kernel.code_object()
