"""Machine code for tests, written as lines with labels, and the markers of ktrace in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ktrace_cli.code_object.contents import (
    Annotation,
    CodeObject,
    Event,
    Kernel,
    Resources,
)
from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode
from ktrace_cli.trace_file.layout import Kind

UNIT_KEY = 0x11
START = 0x1000
_LABEL = re.compile(r"^(\w+):$")


@dataclass
class KernelText:
    """A kernel that is written line by line; every instruction has 4 bytes."""

    lines: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    number: int = 0

    def add(self, *lines: str) -> KernelText:
        """Append instructions, `label:` lines and branches to `@label`."""
        self.lines += lines
        return self

    def marker(self, kind: int, event_id: int = 0, setting: str = "") -> KernelText:
        """Append a marker as ktrace's header writes it; its slow path comes last of all."""
        self.number += 1
        done, cold = f"done{self.number}", f"cold{self.number}"
        tag = setting or f"s_mov_b32 vcc_hi, 0x{kind << 27 | event_id:x}"
        self.add("s_cmp_lg_u64 exec, s[2:3]", f"s_cbranch_scc1 @{cold}")
        self.add("s_memtime vcc", "s_waitcnt lgkmcnt(0)")
        if kind == Kind.RANGE:
            self.add("s_mov_b32 s9, vcc_lo")
            tag = f"s_mov_b32 vcc_hi, 0x{Kind.LONG_BEGIN << 27 | event_id:x}"
        elif kind == Kind.LONG_END:
            self.add(f"s_or_b32 vcc_hi, vcc_hi, 0x{1 << 31 | event_id << 20:x}")
            self.add("s_buffer_store_dwordx2 vcc, s[12:15], s6", "s_add_u32 s6, s6, 8")
        else:
            self.add(tag, "s_buffer_store_dwordx2 vcc, s[12:15], s6", "s_add_u32 s6, s6, 8")
        self.add(f"{done}:")
        self.slow += [f"{cold}:", "s_cmp_eq_u64 s[2:3], 0", f"s_cbranch_scc1 @{done}"]
        self.slow += [tag, f"s_branch @{done}"]
        return self

    def code(self) -> tuple[MachineCode, range]:
        """Return the instructions, and where those of the kernel itself lie."""
        texts, places = [], {}
        for line in [*self.lines, *self.slow]:
            label = _LABEL.match(line)
            if label:
                places[label[1]] = len(texts)
            else:
                texts.append(line)

        def linked(index: int, text: str) -> str:
            def offset(found: re.Match[str]) -> str:
                return str((places[found[1]] - index - 1) & 0xFFFF)

            return re.sub(r"@(\w+)", offset, text)

        own = sum(not _LABEL.match(line) for line in self.lines)
        lines = [Instruction(START + 4 * i, 4, linked(i, text)) for i, text in enumerate(texts)]
        return MachineCode("test", tuple(lines)), range(START, START + 4 * own)


def event(event_id: int, name: str, kind: int = Kind.PHASE, *pcs: int, line: int = 0) -> Event:
    return Event(UNIT_KEY, event_id, kind, name, "", "k.hip", line, pcs or (START,))


def annotated(events: Sequence[Event], code: range) -> tuple[CodeObject, Kernel]:
    """Return a code object with one annotated kernel, and that kernel."""
    resources = Resources(32, 32, 0, 0, 0, 0, 0, 256, 64, 64)
    annotation = Annotation(UNIT_KEY, 1, 1, 0, None, "")
    kernel = Kernel("k", "k.kd", code, (), resources, annotation)
    return CodeObject("gfx942", True, (kernel,), tuple(events), ()), kernel
