"""Traces of other tools on a page: their kernels as a whole, and what was repaired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.files import Found, Input, find_inputs
from ktrace_cli.importers.host_trace import HOST_SLICE, HostTrace, Kind
from ktrace_cli.importers.inputs import TraceInput
from ktrace_cli.importers.kernel_names import shown_name
from ktrace_cli.model import Columns
from ktrace_cli.report.blocks import cell, head, row_head, table
from ktrace_cli.report.markup import Content, Html, code, in_full, join, prose, tag
from ktrace_cli.report.pages import Page
from ktrace_cli.units import counted, format_duration

_WHAT = {Kind.CALL: "call", Kind.KERNEL: "kernel", Kind.COPY: "copy"}


@dataclass(frozen=True)
class TraceKernel:
    """All launches of a kernel, as another tool has seen them."""

    name: str
    count: int
    total_ns: int
    median_ns: float
    min_ns: int
    max_ns: int


@dataclass(frozen=True)
class Imported:
    """A trace of another tool, or several in one file or folder."""

    path: Path
    page: Page
    format: str
    devices: tuple[str, ...]
    counts: tuple[tuple[str, int], ...]
    """How many calls, kernels and copies."""
    kernels: tuple[TraceKernel, ...]
    """Longest total first."""
    span_ns: int
    losses: tuple[str, ...]
    """A sentence for everything that is missing, repaired or assumed."""
    notes: tuple[str, ...]

    @property
    def dispatches(self) -> int:
        """Launches of all kernels."""
        return sum(kernel.count for kernel in self.kernels)

    @property
    def kernel_names(self) -> list[str]:
        """Of all kernels, the one that took most time first."""
        return [kernel.name for kernel in self.kernels]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.losses


def find_traces(path: Path) -> tuple[list[Found], list[str]]:
    """Return the traces of other tools in a file or folder that is nothing else, and notes."""
    try:
        found, notes = find_inputs([path])
    except KtraceError:  # who reads recordings has better words for what it is
        return [], []
    if any(one.kind is Input.RECORDING for one in found):
        return [], []
    return found, notes


def import_traces(path: Path, page: Page, inputs: Sequence[TraceInput]) -> Imported:
    """Find out what a page says of traces.

    Args:
        path: what the user named.
        page: of it.
        inputs: at least one.
    """
    traces = [one.trace for one in inputs]
    slices = np.concatenate([trace.slices for trace in traces])
    devices = dict.fromkeys(
        track.device for trace in traces for track in trace.tracks if track.device
    )
    spans = [one.span for one in inputs if one.span]
    return Imported(
        path=path,
        page=page,
        format=", ".join(dict.fromkeys(trace.format for trace in traces)),
        devices=tuple(devices),
        counts=tuple((what, int(np.sum(slices["kind"] == kind))) for kind, what in _WHAT.items()),
        kernels=_kernels(traces),
        # Times of several traces may count from different clocks.
        span_ns=max((end - begin for begin, end in spans), default=0),
        losses=tuple(line for trace in traces for line in trace.repairs.sentences()),
        notes=tuple(note for trace in traces for note in trace.notes),
    )


def _kernels(traces: Sequence[HostTrace]) -> tuple[TraceKernel, ...]:
    times: dict[str, list[Columns]] = {}
    for trace in traces:
        rows = trace.slices[trace.kernels]
        assert rows.dtype == HOST_SLICE
        for name in np.unique(rows["name"]).tolist():
            own = rows[rows["name"] == name]
            times.setdefault(trace.strings[name], []).append(own["end_ns"] - own["begin_ns"])
    shown = Counter(map(shown_name, times))
    found = [
        _kernel(shown_name(name) if shown[shown_name(name)] == 1 else _whole(name), parts)
        for name, parts in times.items()
    ]
    return tuple(sorted(found, key=lambda kernel: (-kernel.total_ns, kernel.name)))


def _whole(name: str) -> str:
    """Return a name with its parameters, which tell it from others; ktrace's own is not shown."""
    return name.replace(", ktrace::sink)", ")").replace("(ktrace::sink)", "()")


def _kernel(name: str, parts: list[Columns]) -> TraceKernel:
    ns = np.concatenate(parts)
    return TraceKernel(
        name=name,
        count=len(ns),
        total_ns=int(ns.sum()),
        median_ns=float(np.median(ns)),
        min_ns=int(ns.min()),
        max_ns=int(ns.max()),
    )


def facts_of_trace(imported: Imported) -> Iterator[tuple[str, Content]]:
    """Yield what is known of a trace."""
    yield "Format", imported.format
    if imported.devices:
        yield "Devices", in_full(", ".join(imported.devices))
    what = [
        counted(count, name, "copies" if name == "copy" else "") for name, count in imported.counts
    ]
    yield "Recorded", ", ".join(what)
    yield "From first to last event", format_duration(imported.span_ns)
    yield "File", code(str(imported.path), 400)


def trace_kernels(imported: Imported, top: int) -> Html:
    """Return a table of kernels."""
    shown = imported.kernels[:top] if top else imported.kernels
    if not shown:
        return tag("p", "It has no kernel.")
    whole = max(sum(kernel.total_ns for kernel in imported.kernels), 1)
    titles = ("launches", "% of kernels", "total", "mean", "median", "min", "max")
    rows = [
        [
            row_head(code(kernel.name)),
            cell(f"{kernel.count:,}", is_number=True),
            cell(f"{100 * kernel.total_ns / whole:.1f} %", is_number=True),
            *(
                cell(format_duration(ns), is_number=True)
                for ns in (
                    *(kernel.total_ns, kernel.total_ns / kernel.count),
                    *(kernel.median_ns, kernel.min_ns, kernel.max_ns),
                )
            ),
        ]
        for kernel in shown
    ]
    more = len(imported.kernels) - len(shown)
    note = f"and {counted(more, 'more kernel')} (`--top 0` shows all)" if more else None
    heads = [head("kernel"), *(head(title, is_number=True) for title in titles)]
    shown_table = table(heads, rows, f"Kernels of {in_full(imported.page.title)}")
    return join([shown_table, tag("p", prose(note), class_="note") if note else None])


def trace_quality(imported: Imported) -> Html:
    """Return what is missing, repaired or assumed."""
    tone, text = (
        ("warn", "missing, repaired or assumed") if imported.losses else ("good", "complete")
    )
    items = [
        *(tag("li", in_full(loss), class_="loss") for loss in imported.losses),
        *(tag("li", in_full(note)) for note in imported.notes),
    ]
    badge = tag("p", tag("span", text, class_=f"badge {tone}"))
    return join([badge, tag("ul", *items) if items else None])
