"""A recording to the model: every stage of this package, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ktrace_cli.model import DISPATCH, Columns, Device, Losses, Process, Timeline
from ktrace_cli.progress import Advance, part_of, unwatched
from ktrace_cli.timeline.batch import make_decoder
from ktrace_cli.timeline.clock import fit_clock
from ktrace_cli.timeline.host_clock import HostClock, fit_host_clock
from ktrace_cli.timeline.join import keep_used, set_wave_times
from ktrace_cli.timeline.losses import (
    count_clocks,
    count_missing_waves,
    count_out_of_window,
    count_recording,
    count_unfinished,
    count_waves,
)
from ktrace_cli.timeline.names import Names, read_names
from ktrace_cli.timeline.parts import Parts
from ktrace_cli.timeline.scan import scan
from ktrace_cli.timeline.unfinished import keep_waves_open
from ktrace_cli.trace_file.layout import RecordFormat, WaveState
from ktrace_cli.trace_file.mapping import forget
from ktrace_cli.trace_file.recording import DispatchRecord, Recording


def build_timeline(recording: Recording, advance: Advance = unwatched) -> Timeline:
    """Decode a recording.

    Raises:
        KtraceError: times cannot be told because no rate is known of a clock.
    """
    names = read_names(recording)
    records = tuple(d for d in recording.dispatches if _is_readable(recording, d))
    decoder = make_decoder(records, names, recording.data)
    pass_done = part_of(advance, 0.5 if names.edges else 1)
    found = scan(decoder, names, records, pass_done)
    waves, dispatches = found.waves, _dispatches(records, names)
    host_clocks = _host_clocks(recording, records)
    device = dispatches["device"][waves["dispatch"]].astype(np.int64)
    clock = fit_clock(found.anchors, waves, device, host_clocks)
    set_wave_times(waves, dispatches, clock)
    keep_waves_open(dispatches, waves)
    events, event_place = keep_used(names.events, found.is_used, waves)
    decoder.reader.arrange(event_place[:-1], found.lane_place)
    parts = Parts(decoder, clock, found.counts, events, names.edges, dispatches, waves)

    losses = _count_before(recording, records, names)
    losses.update(found.losses)
    if names.edges:
        for part, lost in parts.with_lost_flows():
            losses.update(lost)
            pass_done(len(part.wave_rows) / len(waves))
    losses.update(count_missing_waves(records))
    losses.update(count_waves(waves))
    losses.update(count_unfinished(dispatches))
    slack = np.array([host_clocks[int(d)].slack_ns for d in dispatches["device"]], np.int64)
    losses.update(count_out_of_window(dispatches, waves, slack))
    losses.update(count_clocks(clock, dispatches, waves))
    return Timeline(
        process=process_of(recording),
        devices=devices_of(recording),
        kernels=names.kernels,
        events=events,
        lanes=found.lanes,
        edges=names.edges,
        dispatches=dispatches,
        waves=waves,
        source=parts,
        clocks=clock.fits,
        losses=Losses(**losses),
        launches=int(recording.end["launches"]) if recording.end is not None else 0,
        zero_ns=int(dispatches["begin_ns"].min()) if len(dispatches) else 0,
    )


def _count_before(
    recording: Recording, records: Sequence[DispatchRecord], names: Names
) -> Counter[str]:
    """Count what was lost before there were words: in the file and in names."""
    losses = count_recording(recording)
    losses["unread_code_objects"] += names.unread_code_objects
    losses["unknown_edges"] += names.unknown_edges
    losses["unreadable_dispatches"] += len(recording.dispatches) - len(records)
    return losses


def _is_readable(recording: Recording, dispatch: DispatchRecord) -> bool:
    """Tell whether the records are there without which words mean nothing."""
    kernel = recording.kernels.get(dispatch.kernel)
    is_known = kernel is not None and kernel.record_format == RecordFormat.AMDGCN
    return is_known and dispatch.device in recording.devices


def _dispatches(records: Sequence[DispatchRecord], names: Names) -> Columns:
    rows = np.zeros(len(records), DISPATCH)
    for row, record in zip(rows, (d.record for d in records), strict=True):
        row["number"], row["kernel"] = record["dispatch"], names.row_by_kernel[record["kernel"]]
        row["thread"] = record["thread_id"]
        for name in ("launch", "device", "stream", "grid", "block", "shared_bytes", "waves"):
            row[name] = record[name]
        for name in ("launched_ns", "completed_ns", "expected", "flags", "status"):
            row[name] = record[name]
    rows["first_wave"] = np.cumsum(rows["waves"]) - rows["waves"]
    return rows


def _host_clocks(recording: Recording, records: Sequence[DispatchRecord]) -> dict[int, HostClock]:
    """Fit the clock of each device that ran a dispatch."""
    bounds_by_device: dict[int, list[tuple[int, ...]]] = {}
    for dispatch in records:
        bounds = bounds_by_device.setdefault(dispatch.device, [])
        begin, end = dispatch.headers["realtime_begin"], dispatch.headers["realtime_end"]
        is_begun = begin > 0
        if np.any(is_begun):
            is_ended = is_begun & (dispatch.headers["state"] == WaveState.ENDED)
            first = int(begin[is_begun].min())
            last = int(end[is_ended].max(initial=first))
            times = (int(dispatch.record[name]) for name in ("launched_ns", "completed_ns"))
            bounds.append((first, last, *times))
        forget(recording.data)
    return {
        number: fit_host_clock(
            recording.clocks[recording.clocks["device"] == number],
            recording.devices[number],
            np.array(bounds, np.int64).reshape(-1, 4),
        )
        for number, bounds in sorted(bounds_by_device.items())
    }


def process_of(recording: Recording) -> Process | None:
    """Return the process that was recorded; None if its record is lost."""
    record = recording.process
    if record is None:
        return None
    return Process(
        pid=record.pid,
        parent_pid=record.parent_pid,
        host=record.host,
        directory=record.directory,
        arguments=record.arguments,
        boottime_ns=record.boottime_ns,
        monotonic_ns=record.monotonic_ns,
        realtime_ns=record.realtime_ns,
    )


def devices_of(recording: Recording) -> tuple[Device, ...]:
    """Return the devices of a recording, by number."""
    return tuple(
        Device(
            device=record.device,
            target=record.target,
            name=record.name,
            is_software=record.is_software,
            compute_units=record.compute_units,
            xcc_count=record.xcc_count,
            realtime_hz=record.realtime_hz,
        )
        for _, record in sorted(recording.devices.items())
    )
