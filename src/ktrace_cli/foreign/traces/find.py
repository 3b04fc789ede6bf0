"""A trace file of another in-kernel tracer to all that the builder wants."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.found import Found, Launches, Lines, TimeBase
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.traces.chrome import read_any, read_chrome, read_mori, read_warpscope
from ktrace_cli.foreign.traces.pftrace import read_pftrace
from ktrace_cli.foreign.traces.proton import read_proton
from ktrace_cli.foreign.traces.proton_pftrace import read_proton_pftrace
from ktrace_cli.foreign.traces.quack_json import read_quack
from ktrace_cli.foreign.traces.spans import Spans
from ktrace_cli.foreign.traces.stream import FIRST_TICK, kernel_numbers, make_reader
from ktrace_cli.foreign.traces.writers import (
    Writer,
    find_writer,
    is_chrome,
    is_perfetto,
    peek,
)
from ktrace_cli.model import WAVE, Columns, Device
from ktrace_cli.progress import Advance, unwatched
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.units import counted

_AMD = (Writer.MORI, Writer.FLYDSL)
_CYCLES = (Writer.PROTON, Writer.PROTON_PFTRACE)
_NO_CYCLES = "the file tells nanoseconds only"


def find_trace(
    path: Path, shape: Shape, told: tuple[str, str], advance: Advance = unwatched
) -> tuple[Found, tuple[str, ...]]:
    """Return what a trace file holds, and what is assumed of it.

    Args:
        path: the file.
        shape: what the user tells of it.
        told: what the user calls its kernel and target; "" if nothing.
        advance: is told how far it is.

    Raises:
        KtraceError: it cannot be read, or holds nothing of waves.
    """
    head, tail = peek(path)
    writer = find_writer(head, tail)
    spans = _read(path, (head, writer), shape, advance)
    if not spans.name:
        raise UsageError(
            f"{path} holds no range and no mark of a wave",
            why="its events are of other kinds, or it has none",
            fix="name a trace that an in-kernel tracer has written",
        )
    whose = f"{writer.tool}'s" if writer else "a trace of an unknown tool's"
    what = "Chrome JSON" if is_chrome(head) else "Perfetto trace"
    found = _found(spans, writer, told)
    notes = [f"read as {whose} {what}: {counted(len(spans.places), 'wave')}", *spans.notes]
    if not any(place.kernel for place in spans.places) and not told[0]:
        notes.append(f"it does not name its kernel, which is called {found.naming.kernel} here")
    return found, tuple(notes)


def _read(path: Path, file: tuple[bytes, Writer | None], shape: Shape, advance: Advance) -> Spans:
    head, writer = file
    if is_perfetto(head):
        if writer is Writer.PROTON_PFTRACE:
            return read_proton_pftrace(path, shape, advance)
        return read_pftrace(path, writer, advance)
    if not is_chrome(head):
        raise UsageError(
            f"{path} is no trace",
            why="it is neither JSON nor a Perfetto trace",
            fix="name a file that an in-kernel tracer has written, packed with gzip or not",
        )
    trace = read_chrome(path)
    if writer is Writer.PROTON:
        return read_proton(trace, shape)
    if writer is Writer.MORI:
        return read_mori(trace, shape)
    if writer is Writer.QUACK:
        return read_quack(trace)
    return read_warpscope(trace) if writer is Writer.WARPSCOPE else read_any(trace)


def _found(spans: Spans, writer: Writer | None, told: tuple[str, str]) -> Found:
    reader, by_id = make_reader(spans)
    kernel, target = told
    known = list(dict.fromkeys(place.kernel for place in spans.places))
    otherwise = f"{writer.tool.split()[-1].lower()}_kernel" if writer else "kernel"
    name_of = [name or kernel or otherwise for name in known]
    if len(known) == 1 and kernel:
        name_of = [kernel]
    ids: dict[int, set[int]] = {}
    for number, (row, _) in by_id.items():
        ids.setdefault(row, set()).add(number)
    kernels = tuple((name_of[row], frozenset(own)) for row, own in sorted(ids.items()))
    is_amd = writer in _AMD
    is_told = writer in _CYCLES
    return Found(
        waves=_waves(spans),
        launches=_launches(spans),
        read=reader,
        device=Device(0, target, "AMD GPU" if is_amd else "GPU", False, 0, 1, 0),
        naming=Naming(
            name_of[0],
            target,
            {number: name for number, (_, name) in by_id.items()},
            kernels=kernels,
        ),
        lines=_lines(spans),
        lanes_per_wave=64 if is_amd else 32,
        base=TimeBase(spans.clock, no_cycles="" if is_told else _NO_CYCLES),
        is_paired_by_id=True,
        losses=spans.losses,
    )


def _waves(spans: Spans) -> Columns:
    waves = np.zeros(len(spans.places), WAVE)
    waves["slot"] = np.arange(len(waves))
    waves["block"] = [place.block for place in spans.places]
    waves["wave"] = [place.wave for place in spans.places]
    waves["se"] = [min(place.sm, (1 << 16) - 1) for place in spans.places]
    for wave, (begin, end) in spans.lifetimes.items():
        waves["begin_ticks"][wave] = FIRST_TICK + begin
        waves["end_ticks"][wave] = FIRST_TICK + end
    return waves


def _launches(spans: Spans) -> Launches:
    kernels = kernel_numbers(spans)
    keys = [(k, place.launch) for k, place in zip(kernels, spans.places, strict=True)]
    rows = {key: row for row, key in enumerate(dict.fromkeys(keys))}
    return Launches(np.array([rows[key] for key in keys], np.int64), np.zeros(len(rows), np.int64))


def _lines(spans: Spans) -> Lines:
    def column(values: list[int]) -> Ints:
        return np.array(values, np.int64)

    return Lines(
        column([FIRST_TICK] * len(spans.lines)),
        column([line.ns for line in spans.lines]),
        np.array([line.slope for line in spans.lines], np.float64),
    )
