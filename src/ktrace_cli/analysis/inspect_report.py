"""What `ktrace inspect` shows: the kernels of files, and the differences of two builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ktrace_cli.analysis.code_report import describe_code, describe_occupancy
from ktrace_cli.analysis.report import Block, Column, Heading, Line, Name, Table, printable
from ktrace_cli.code_object.contents import Event, Kernel, Resources
from ktrace_cli.code_object.listing import kind_name
from ktrace_cli.code_object.names import display_name
from ktrace_cli.kernel_code.comparison import Change, Comparison, KernelChange, PhaseChange
from ktrace_cli.kernel_code.inspected import InspectedCodeObject, InspectedKernel
from ktrace_cli.kernel_code.measured import Measured
from ktrace_cli.kernel_code.occupancy_words import limit_words
from ktrace_cli.units import counted, format_bytes

_LONGEST_ORIGIN: Final = 1000
_RESOURCE_WORDS: Final = {
    "vgprs": "VGPRs",
    "agprs": "of them AGPRs",
    "sgprs": "SGPRs",
    "vgpr_spills": "VGPR spills",
    "sgpr_spills": "SGPR spills",
    "lds_bytes": "LDS, bytes",
    "scratch_bytes": "scratch per lane, bytes",
    "code_bytes": "code, bytes",
}


def report_code_object(inspected: InspectedCodeObject, measured: Measured) -> Iterator[Block]:
    """Yield what is known of a code object."""
    code_object = inspected.code_object
    annotated = [one for one in inspected.kernels if one.kernel.is_annotated]
    yield Heading((printable(inspected.origin, _LONGEST_ORIGIN),))
    total = counted(len(code_object.kernels), "kernel")
    yield Line((f"{code_object.target}: {total}, {len(annotated)} annotated",))
    for warning in code_object.warnings:
        yield Line((f"note: {warning}",))
    for one in annotated:
        yield from _annotated(inspected, one, measured)
    if code_object.events_in_functions and annotated:
        yield Heading(("in functions that kernels call",))
        yield _event_table(code_object.events_in_functions)
    for edge in code_object.edges:
        yield Line(("edge: ", Name(edge.source), " -> ", Name(edge.destination)))
    others = [one for one in inspected.kernels if not one.kernel.is_annotated]
    if others:
        yield Heading(("not annotated",))
        yield _kernel_table(others)


def _annotated(
    inspected: InspectedCodeObject, one: InspectedKernel, measured: Measured
) -> Iterator[Block]:
    kernel = one.kernel
    yield Heading((Name(display_name(kernel.name)), ": annotated"))
    yield from _trace_argument(kernel)
    yield Line((_resources(kernel.resources),))
    yield from describe_occupancy(one)
    events = inspected.code_object.events_in(kernel)
    if events:
        yield _event_table(events)
    else:
        yield Line(("no markers: only the time of whole waves is recorded",))
    yield from describe_code(one, measured)


def _trace_argument(kernel: Kernel) -> Iterator[Block]:
    annotation = kernel.annotation
    if annotation is None:
        return
    argument = annotation.trace_argument
    if argument is None:
        yield Line((f"cannot be traced: {annotation.refusal}",))
        return
    total = sum(one.is_explicit for one in kernel.arguments)
    place = f"argument {argument.index + 1} of {total} (offset {argument.offset})"
    yield Line((f"trace argument: {place}",))


def _resources(resources: Resources) -> str:
    spills = f"{resources.sgpr_spills} SGPR and {resources.vgpr_spills} VGPR spills"
    return (
        f"{resources.vgprs} VGPRs ({resources.agprs} AGPRs), {resources.sgprs} SGPRs, {spills}, "
        f"{format_bytes(resources.lds_bytes)} LDS, "
        f"{format_bytes(resources.scratch_bytes)} scratch per lane, "
        f"up to {resources.max_workgroup_size} work-items per workgroup"
    )


def _event_table(events: Sequence[Event]) -> Table:
    columns = (
        Column("event", is_number=False, is_name=True),
        Column("kind", is_number=False),
        Column("lane", is_number=False, is_name=True, drop=1),
        Column("source", is_number=False, is_name=True),
        Column("places", drop=2),
    )
    rows = tuple(
        (event.name, kind_name(event), event.lane or "-", f"{event.file}:{event.line}",
         str(len(event.pcs)))
        for event in events
    )  # fmt: skip
    return Table(columns, rows)


def _kernel_table(kernels: Sequence[InspectedKernel]) -> Table:
    columns = (
        Column("kernel", is_number=False, is_name=True),
        Column("VGPRs"),
        Column("SGPRs"),
        Column("LDS"),
        Column("scratch"),
        Column("waves per SIMD", drop=1),
        Column("limited by", is_number=False, drop=2),
    )
    return Table(columns, tuple(_kernel_row(one) for one in kernels))


def _kernel_row(one: InspectedKernel) -> tuple[str, ...]:
    resources, found = one.kernel.resources, one.occupancy
    return (
        display_name(one.kernel.name),
        str(resources.vgprs),
        str(resources.sgprs),
        format_bytes(resources.lds_bytes),
        format_bytes(resources.scratch_bytes),
        str(found.waves_per_simd) if found else "?",
        limit_words(found.limited_by) if found else "",
    )


def report_comparison(comparison: Comparison, names: tuple[str, str]) -> Iterator[Block]:
    """Yield the differences of two builds."""
    yield Heading((" -> ".join(printable(name, _LONGEST_ORIGIN) for name in names),))
    for change in comparison.kernels:
        yield from _kernel_change(change)
    for only, name in zip((comparison.only_before, comparison.only_after), names, strict=True):
        for one in only:
            yield Line((Name(display_name(one.kernel.name)), " is only in ", Name(name)))


def _kernel_change(change: KernelChange) -> Iterator[Block]:
    before, after = change.before, change.after
    yield Heading((Name(display_name(before.kernel.name)), f": {_roles(change)}"))
    yield from _occupancy_change(change)
    differing = {name: one for name, one in change.resources.items() if one.difference}
    if differing:
        rows = [(_RESOURCE_WORDS[name], *_cells(one)) for name, one in differing.items()]
        yield Table(_change_columns("resource"), tuple(rows))
    else:
        yield Line(("registers, spills, LDS, scratch and size of the code are the same",))
    if change.total is None:
        return
    yield from _tracing(change, change.total)
    yield from _mix_change(change.total)
    if change.phases:
        yield _phase_table(change.phases)
    elif before.kernel.is_annotated != after.kernel.is_annotated:
        yield Line(("only one side is annotated: there is no comparison per phase",))


def _roles(change: KernelChange) -> str:
    words = {True: "annotated", False: "not annotated"}
    before, after = change.before.kernel.is_annotated, change.after.kernel.is_annotated
    return words[before] if before == after else f"{words[before]} -> {words[after]}"


def _occupancy_change(change: KernelChange) -> Iterator[Block]:
    waves = change.waves_per_simd
    if waves is None:
        yield Line((f"occupancy: the rules of {change.before.target} are not known",))
        return
    if not waves.difference:
        yield Line((f"occupancy: {counted(waves.after, 'wave')} per SIMD on both sides",))
    else:
        what = "a step down" if waves.difference < 0 else "a step up"
        yield Line((f"occupancy: {waves.before} -> {waves.after} waves per SIMD, {what}",))
    for line in describe_occupancy(change.after):
        yield Line(line.text, indent=2) if not line.indent else line


def _tracing(change: KernelChange, total: PhaseChange) -> Iterator[Block]:
    """Yield what markers have on both sides, or what tracing adds to the untraced side."""
    before, after = (one.code for one in (change.before, change.after))
    if before is None or after is None:
        return
    traced, added = after, total.instructions.difference
    if change.before.kernel.is_annotated:
        traced, added = before, -added
    markers = traced.marker_instructions
    if change.before.kernel.is_annotated != change.after.kernel.is_annotated:
        words = (
            f"tracing adds {added + markers:,} instructions: {markers:,} in markers and {added:,} "
            f"around them, which are counted below; {traced.slow_instructions:,} more lie on slow "
            "paths"
        )
        yield Line((words,))
    elif markers or after.marker_instructions:
        words = f"{before.marker_instructions:,} -> {after.marker_instructions:,}"
        yield Line((f"instructions of markers: {words}, not counted below",))


def _mix_change(total: PhaseChange) -> Iterator[Block]:
    rows = [("instructions", *_cells(total.instructions)), ("waits", *_cells(total.waits))]
    rows += [(kind.value, *_cells(one)) for kind, one in total.by_class.items() if one.difference]
    yield Table(_change_columns("code"), tuple(rows))


def _change_columns(title: str) -> tuple[Column, ...]:
    return (
        Column(title, is_number=False),
        Column("before"),
        Column("after"),
        Column("difference"),
    )


def _cells(change: Change) -> tuple[str, str, str]:
    return f"{change.before:,}", f"{change.after:,}", _signed(change.difference)


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def _phase_table(phases: Sequence[PhaseChange]) -> Table:
    columns = (
        Column("phase", is_number=False, is_name=True),
        Column("instructions"),
        Column("waits", drop=1),
        Column("what differs", is_number=False, drop=2),
    )
    rows = tuple(
        (phase.label or "outside", _arrow(phase.instructions), _arrow(phase.waits), _differs(phase))
        for phase in phases
    )
    return Table(columns, rows)


def _arrow(change: Change) -> str:
    if not change.difference:
        return f"{change.after:,}"
    return f"{change.before:,} -> {change.after:,}"


def _differs(phase: PhaseChange) -> str:
    found = [
        f"{kind.value} {_signed(one.difference)}"
        for kind, one in phase.by_class.items()
        if one.difference
    ]
    return ", ".join(found)
