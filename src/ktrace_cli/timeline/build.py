"""A recording to the model: every stage of this package, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ktrace_cli.model import DISPATCH, Columns, Device, Losses, Process, Timeline
from ktrace_cli.timeline.batch import Batch, batches
from ktrace_cli.timeline.clock import ANCHOR, ClockMap, fit_clock
from ktrace_cli.timeline.flows import find_flows
from ktrace_cli.timeline.host_clock import HostClock, fit_host_clock
from ktrace_cli.timeline.join import join_events, join_waves, keep_used, set_wave_times
from ktrace_cli.timeline.lanes import LaneTable
from ktrace_cli.timeline.losses import (
    count_missing_waves,
    count_out_of_window,
    count_recording,
    count_slices,
    count_unfinished,
    count_unknown_clocks,
    count_unnamed,
    count_waves,
)
from ktrace_cli.timeline.names import Names, read_names
from ktrace_cli.timeline.unfinished import keep_open
from ktrace_cli.trace_file.layout import RecordFormat, WaveState
from ktrace_cli.trace_file.recording import DispatchRecord, Recording


def build_timeline(recording: Recording) -> Timeline:
    """Decode a recording.

    Raises:
        KtraceError: times cannot be told because no rate is known of a clock.
    """
    names = read_names(recording)
    records = tuple(d for d in recording.dispatches if _is_readable(recording, d))
    lanes = LaneTable()
    parts = list(batches(records, names, lanes))
    waves = join_waves(parts)
    dispatches = _dispatches(records, names)
    host_clocks = _host_clocks(recording, records)
    clock = _core_clock(parts, waves, dispatches, host_clocks)
    set_wave_times(waves, dispatches, clock)
    lane_names, lane_place = lanes.sorted()
    slices, instants, values = join_events(parts, lane_place, clock)
    keep_open(dispatches, waves, slices)
    flows, lost_flows = find_flows(slices, waves, dispatches, names.events, names.edges)

    losses = _count_before(recording, records, names, parts)
    losses.update(count_missing_waves(records))
    losses.update(count_waves(waves))
    losses.update(count_unfinished(dispatches))
    losses.update(count_slices(slices))
    losses.update(count_unnamed(names.named, (waves["group"], slices["event"], instants["event"])))
    slack = np.array([host_clocks[int(d)].slack_ns for d in dispatches["device"]], np.int64)
    losses.update(count_out_of_window(dispatches, waves, slack))
    losses.update(lost_flows)
    losses.update(count_unknown_clocks(clock, dispatches, waves))
    return Timeline(
        process=_process(recording),
        devices=_devices(recording),
        kernels=names.kernels,
        events=keep_used(names.events, waves, slices, instants),
        lanes=lane_names,
        edges=names.edges,
        dispatches=dispatches,
        waves=waves,
        slices=slices,
        instants=instants,
        values=values,
        flows=flows,
        clocks=clock.fits,
        losses=Losses(**losses),
        launches=int(recording.end["launches"]) if recording.end is not None else 0,
    )


def _count_before(
    recording: Recording, records: Sequence[DispatchRecord], names: Names, parts: Sequence[Batch]
) -> Counter[str]:
    """Count what was lost before there was a timeline: in the file, in names, in words."""
    losses = count_recording(recording)
    for part in parts:
        losses.update(part.losses)
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
        headers = dispatch.headers
        headers = headers[headers["realtime_begin"] > 0]
        if len(headers):
            ended = headers[headers["state"] == WaveState.ENDED]["realtime_end"]
            first = int(headers["realtime_begin"].min())
            last = int(ended.max(initial=first))
            times = (int(dispatch.record[name]) for name in ("launched_ns", "completed_ns"))
            bounds.append((first, last, *times))
    return {
        number: fit_host_clock(
            recording.clocks[recording.clocks["device"] == number],
            recording.devices[number],
            np.array(bounds, np.int64).reshape(-1, 4),
        )
        for number, bounds in sorted(bounds_by_device.items())
    }


def _core_clock(
    parts: Sequence[Batch], waves: Columns, dispatches: Columns, host_clocks: dict[int, HostClock]
) -> ClockMap:
    first_wave = 0
    for part in parts:
        part.anchors["wave"] += first_wave
        first_wave += len(part.waves)
    device = dispatches["device"][waves["dispatch"]].astype(np.int64)
    anchors = [part.anchors for part in parts]
    if not anchors:
        return fit_clock(np.zeros(0, ANCHOR), waves, device, host_clocks)
    return fit_clock(np.concatenate(anchors), waves, device, host_clocks)


def _process(recording: Recording) -> Process | None:
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


def _devices(recording: Recording) -> tuple[Device, ...]:
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
