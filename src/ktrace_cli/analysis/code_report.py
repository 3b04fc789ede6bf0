"""Words and tables on one kernel's machine code: occupancy, mix per phase, what tracing added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ktrace_cli.analysis.report import Block, Column, Line, Table
from ktrace_cli.kernel_code.inspected import InspectedKernel
from ktrace_cli.kernel_code.inspection import KernelInspection, Mix, PhaseMix
from ktrace_cli.kernel_code.instructions import InstructionClass
from ktrace_cli.kernel_code.measured import Measured, find_time
from ktrace_cli.kernel_code.moved import Moved
from ktrace_cli.kernel_code.occupancy_words import limit_words, limits_words, step_words
from ktrace_cli.units import counted, format_bytes, format_time

# What a table has room for; JSON has every class.
_GROUPS: Final = (
    ("MFMA", (InstructionClass.MFMA,), 1),
    ("VALU", (InstructionClass.VALU,), 2),
    ("SALU", (InstructionClass.SALU,), 7),
    ("loads", (InstructionClass.VMEM_LOAD,), 3),
    ("stores", (InstructionClass.VMEM_STORE, InstructionClass.VMEM_ATOMIC), 4),
    ("LDS", (InstructionClass.LDS,), 3),
    ("SMEM", (InstructionClass.SMEM,), 6),
    ("waits", tuple(kind for kind in InstructionClass if kind.is_wait), 2),
    ("barriers", (InstructionClass.BARRIER,), 8),
    ("nops", (InstructionClass.S_NOP,), 9),
    ("branches", (InstructionClass.BRANCH,), 10),
    ("other", (InstructionClass.MESSAGE, InstructionClass.OTHER), 11),
)  # fmt: skip
_MOST_MOVED: Final = 20


def describe_occupancy(kernel: InspectedKernel) -> Iterator[Line]:
    """Yield the lines on how many waves fit, and why no more."""
    launch, found = kernel.launch, kernel.occupancy
    if found is None:
        yield Line((f"occupancy: the rules of {kernel.target} are not known",))
        return
    dynamic = launch.dynamic_lds_bytes
    lds = f" and {format_bytes(dynamic)} dynamic LDS" if dynamic else ""
    for_what = f"workgroups of {launch.workgroup_size:,} work-items{lds} ({launch.origin})"
    if not found.workgroups_per_cu:
        yield Line((f"occupancy: not even one workgroup fits, for {for_what}",))
    else:
        what = counted(found.waves_per_simd, "wave")
        most = found.max_waves_per_simd
        yield Line((f"occupancy: {what} per SIMD, of {most} at most, for {for_what}",))
    yield Line((f"limited by {limit_words(found.limited_by)}; {limits_words(found)}",), 2)
    if kernel.is_bound_by_allocation:
        allocated, used = kernel.allocated_vgprs, kernel.kernel.resources.vgprs
        words = f"the kernel descriptor allocates {allocated} VGPRs; the metadata names {used}"
        yield Line((words,), 2)
    if found.next_step:
        yield Line((step_words(found.next_step),), 2)


def describe_code(kernel: InspectedKernel, measured: Measured) -> Iterator[Block]:
    """Yield what the instructions of a kernel tell."""
    code = kernel.code
    if code is None:
        return
    yield Line((_totals(code),))
    if code.phases:
        yield _phase_table(kernel, code.phases, measured)
    if code.overlapping:
        yield Line(("between KTRACE_START and KTRACE_STOP, whatever phase it is in:",))
        yield _phase_table(kernel, code.overlapping, measured)
    if code.markers:
        yield Line(("what the markers are made of:",))
        yield _marker_table(code)
    yield from _describe_moved(code)
    for notice in code.notices:
        yield Line((f"note: {notice}",))


def _totals(code: KernelInspection) -> str:
    text = f"code: {counted(code.instructions, 'instruction')}, disassembled by {code.tool}"
    if not code.markers:
        return text
    setup = code.setup_instructions
    of_setup = "" if setup is None else f", {setup:,} of them KTRACE_WAVE's"
    slow = f"{code.slow_instructions:,} on their slow paths"
    return f"{text}{of_setup}; markers have {code.marker_instructions:,} more, and {slow}"


def _phase_table(kernel: InspectedKernel, phases: Sequence[PhaseMix], measured: Measured) -> Table:
    has_times = bool(measured)
    columns = [Column("phase", is_number=False, is_name=True), Column("instructions")]
    shown = [g for g in _GROUPS if any(_number(phase.mix, g[1]) for phase in phases)]
    columns += [Column(title, drop=drop) for title, _, drop in shown]
    times = [find_time(measured, kernel.kernel.name, phase) for phase in phases]
    if has_times:
        note = "modelled times: software device" if any(t and t.is_modelled for t in times) else ""
        columns += [Column("slices", drop=5), Column("mean", note=note), Column("self", drop=1)]
    rows = []
    for phase, time in zip(phases, times, strict=True):
        cells = [phase.label or "outside", f"{phase.instructions:,}"]
        cells += [_cell(_number(phase.mix, kinds)) for _, kinds, _ in shown]
        if has_times and time:
            mean = format_time(time.mean, time.unit)
            cells += [f"{time.count:,}", mean, f"{time.self_share:.1%}"]
        elif has_times:
            cells += ["", "", ""]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows))


def _number(mix: Mix, kinds: Sequence[InstructionClass]) -> int:
    return sum(mix.get(kind, 0) for kind in kinds)


def _cell(number: int) -> str:
    return f"{number:,}" if number else ""


def _marker_table(code: KernelInspection) -> Table:
    columns = (
        Column("marker", is_number=False, is_name=True),
        Column("kind", is_number=False, drop=1),
        Column("words", drop=2),
        Column("instructions"),
        Column("waits"),
        Column("slow path", drop=3),
    )
    rows = tuple(
        (one.name, one.kind, f"{one.blocks}", f"{one.instructions}", _cell(one.waits),
         _cell(one.slow_instructions))
        for one in code.markers
    )  # fmt: skip
    return Table(columns, rows)


def _describe_moved(code: KernelInspection) -> Iterator[Block]:
    if code.moved is None:
        if code.phases:
            words = "no debug information: compile with -gline-tables-only to see what was moved"
            yield Line((words,))
        return
    if code.moved:
        total = sum(one.instructions for one in code.moved)
        yield Line((f"moved out of their phases by the compiler: {counted(total, 'instruction')}",))
        yield _moved_table(code.moved[:_MOST_MOVED])
        left = len(code.moved) - _MOST_MOVED
        if left > 0:
            yield Line((f"and {counted(left, 'more row')}, which --json has",))


def _moved_table(moved: Sequence[Moved]) -> Table:
    columns = (
        Column("phase", is_number=False, is_name=True),
        Column("source line", is_number=False, is_name=True),
        Column("found in", is_number=False, is_name=True),
        Column("instructions"),
    )
    rows = tuple(
        (one.phase, f"{one.file}:{one.line}", one.found_in or "outside", f"{one.instructions}")
        for one in moved
    )
    return Table(columns, rows)
