"""What a format module found to a timeline: launches in order, names, clocks, losses."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ktrace_cli.foreign.decoder import ForeignDecoder
from ktrace_cli.foreign.found import Found
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.survey import Survey, in_order, is_timed, make_headers, survey
from ktrace_cli.model import (
    DISPATCH,
    Columns,
    Edge,
    Event,
    Flags,
    Kernel,
    Losses,
    Timeline,
)
from ktrace_cli.progress import Advance, part_of, unwatched
from ktrace_cli.timeline import native
from ktrace_cli.timeline.batch import workgroups_of
from ktrace_cli.timeline.clock import ClockMap
from ktrace_cli.timeline.headers import Headers
from ktrace_cli.timeline.host_clock import HostClock
from ktrace_cli.timeline.join import keep_used, set_wave_times
from ktrace_cli.timeline.losses import count_waves
from ktrace_cli.timeline.names import Names
from ktrace_cli.timeline.parts import Parts
from ktrace_cli.timeline.scan import scan
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.timeline.word_reader import Reader
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.recording import DispatchRecord

_LATE = 1 << 62


def build_foreign(found: Found, advance: Advance = unwatched) -> Timeline:
    """Decode another tracer's buffer."""
    surveyed = survey(found, part_of(advance, 0.3))
    waves, order, launches = in_order(found, surveyed.waves)
    kernel = surveyed.kernel_of_launch[launches]
    headers = make_headers(found, waves, surveyed.words[order], kernel[waves["dispatch"]])
    names = _names(found.naming, surveyed)
    decoder = _decoder(found, headers, names)
    dispatches = _dispatches(found, waves, launches)
    dispatches["kernel"] = kernel
    records = tuple(_record() for _ in dispatches)
    pass_done = part_of(advance, 0.35 if found.naming.edges else 0.7)
    looked = scan(decoder, names, records, pass_done)
    waves = looked.waves
    clock = _clock(found, waves, order)
    _set_times(waves, dispatches, clock)
    _tell_launches(found, dispatches, launches)
    events, event_place = keep_used(names.events, looked.is_used, waves)
    decoder.reader.arrange(event_place[:-1], looked.lane_place)
    parts = Parts(decoder, clock, looked.counts, events, names.edges, dispatches, waves)
    losses = Counter(found.losses)
    losses.update(surveyed.losses)
    losses.update(looked.losses)
    if names.edges:
        for part, lost in parts.with_lost_flows():
            losses.update(lost)
            pass_done(len(part.wave_rows) / len(waves))
    losses.update(count_waves(waves))
    return Timeline(
        process=found.process,
        devices=(found.device,),
        kernels=names.kernels,
        events=events,
        lanes=looked.lanes,
        edges=names.edges,
        dispatches=dispatches,
        waves=waves,
        source=parts,
        clocks=found.clocks,
        losses=Losses(**losses),
        launches=found.launches.launched,
        zero_ns=int(dispatches["begin_ns"].min()) if len(dispatches) else 0,
        unit=found.base.unit,
        own_clock=found.base.clock,
        no_cycles=found.base.no_cycles,
    )


def _names(naming: Naming, surveyed: Survey) -> Names:
    unit, kernels = 0, surveyed.kernels
    names = Names(
        kernels=tuple(Kernel(name, name, naming.target, "") for name in kernels),
        edges=tuple(
            Edge(*ends, unit, frozenset(range(len(kernels))), naming.has_joint_clock)
            for ends in naming.edges
        ),
        unread_code_objects=0,
        unknown_edges=0,
        row_by_kernel={row: row for row in range(len(kernels))},
        records=(),
    )
    for kernel in range(len(kernels)):
        for number, name in naming.names.items():
            lane, kind = naming.lanes.get(number, ""), surveyed.kinds[number]
            names.add(kernel, unit, number, Event(name, kind, lane, "", 0, kernel, unit))
    names.named = len(names.events)
    return names


def _decoder(found: Found, headers: Headers, names: Names) -> ForeignDecoder:
    bases = list(dict.fromkeys(event.lane or event.name for event in names.events))
    base_by_name = {name: base for base, name in enumerate(bases)}
    events = np.zeros(len(names.events), native.EVENT)
    for row, (kernel, _, number), event in zip(events, names.row_by_key, names.events, strict=True):
        row["kernel"], row["id"], row["kind"] = kernel, number, event.kind
        row["base"] = base_by_name[event.lane or event.name]
        row["flags"] = native.EventFlag.LANE if event.lane else 0
    reader = Reader(np.zeros(len(names.kernels), np.uint32), events, len(bases))
    workgroup = workgroups_of(headers.waves)
    return ForeignDecoder(headers, reader, bases, workgroup, found.data, found.read)


def _clock(found: Found, waves: Columns, order: Ints) -> ClockMap:
    has_clock = is_timed(waves)
    if found.lines is not None:
        lines, count = found.lines, len(waves)
        return ClockMap(
            clock_of_wave=np.where(has_clock, np.arange(count), -1),
            first_piece=np.arange(count + 1),
            ticks=lines.ticks[order],
            ns=lines.ns[order],
            slope=lines.slope[order],
            fits=(),
        )
    if found.host is not None:
        return _host_clock(found.host, has_clock)
    first = int(waves["begin_ticks"].min(initial=_LATE, where=has_clock)) if has_clock.any() else 0
    return ClockMap(
        clock_of_wave=np.where(has_clock, 0, -1),
        first_piece=np.array([0, 1]),
        ticks=np.array([first]),
        ns=np.array([round(first * found.tick_ns)]),
        slope=np.array([found.tick_ns]),
        fits=(),
    )


def _host_clock(host: HostClock, has_clock: Flags) -> ClockMap:
    """Return a piece of the clock between each two samples."""
    ticks, ns = np.diff(host.ticks), np.diff(host.host_ns)
    slopes = ns / ticks if len(ticks) else np.array([1e9 / host.hz])
    pieces = len(slopes)
    return ClockMap(
        clock_of_wave=np.where(has_clock, 0, -1),
        first_piece=np.array([0, pieces]),
        ticks=host.ticks[:pieces],
        ns=host.host_ns[:pieces],
        slope=slopes,
        fits=(),
    )


def _dispatches(found: Found, waves: Columns, launches: Ints) -> Columns:
    """Return model.DISPATCH. Grid and block are as large as waves tell."""
    rows = np.zeros(len(launches), DISPATCH)
    rows["number"] = rows["launch"] = np.arange(1, len(launches) + 1)
    rows["stream"] = found.launches.streams[launches]
    of = waves["dispatch"]
    np.maximum.at(rows["grid"], of, waves["block"] + np.uint32(1))
    rows["block"] = 1
    np.maximum.at(rows["block"][:, 0], of, (waves["wave"] + np.uint32(1)) * found.lanes_per_wave)
    rows["waves"] = np.bincount(of, minlength=len(launches))
    rows["first_wave"] = np.cumsum(rows["waves"]) - rows["waves"]
    return rows


def _set_times(waves: Columns, dispatches: Columns, clock: ClockMap) -> None:
    """Set all nanoseconds. Nothing is known of the host: a launch is when its first wave began."""
    set_wave_times(waves, dispatches, clock)
    has_clock = is_timed(waves)
    timed = np.bincount(waves["dispatch"][has_clock], minlength=len(dispatches)) > 0
    if timed.any():
        first = dispatches["begin_ns"][timed].min()
        dispatches["begin_ns"][~timed] = dispatches["end_ns"][~timed] = first
    dispatches["launched_ns"], dispatches["completed_ns"] = (
        dispatches["begin_ns"],
        dispatches["end_ns"],
    )
    for name in ("begin_ns", "end_ns"):
        waves[name][~has_clock] = dispatches["begin_ns"][waves["dispatch"][~has_clock]]


def _tell_launches(found: Found, dispatches: Columns, launches: Ints) -> None:
    """Set what a recording tells of launches."""
    if found.launches.records is None:
        return
    is_told = np.array([bool(found.launches.kernels[launch]) for launch in launches], np.bool_)
    records = found.launches.records[launches]
    names = ("launch", "device", "stream", "grid", "block", "shared_bytes", "expected")
    for name in names:
        dispatches[name][is_told] = records[name][is_told]
    dispatches["thread"][is_told] = records["thread_id"][is_told]
    if found.host is not None:
        for name in ("launched_ns", "completed_ns"):
            has_time = is_told & (records[name] > 0)
            dispatches[name][has_time] = records[name][has_time]


def _record() -> DispatchRecord:
    """Return what `scan` asks of a launch: that it is over."""
    return DispatchRecord(np.zeros(1, layout.DISPATCH)[0], memoryview(b""))
