"""What Chrome's JSON says of the recording, of threads, dispatches and waves."""

from __future__ import annotations

from collections.abc import Iterator

from ktrace_cli.export.chrome_threads import Thread, Threads
from ktrace_cli.export.details import (
    DISPATCH_FLAGS,
    DISPATCH_NUMBERS,
    WAVE_COUNTS,
    WAVE_FLAGS,
    WAVE_NUMBERS,
)
from ktrace_cli.model import Columns, Timeline

Arguments = dict[str, object]


def about_trace(timeline: Timeline, zero: int) -> Arguments:
    """Return what the trace is. Clocks are strings: doubles do not hold their nanoseconds."""
    about: Arguments = {"tool": "ktrace", "unit": timeline.unit}
    process = timeline.process
    if timeline.unit == "ns":
        about["begin_boottime_ns"] = str(zero)
    if process is not None:
        about |= {"host": process.host, "command": list(process.arguments)}
        since = zero - process.boottime_ns
        for name, at in (("monotonic", process.monotonic_ns), ("realtime", process.realtime_ns)):
            if at and timeline.unit == "ns":
                about[f"begin_{name}_ns"] = str(at + since)
    about["devices"] = [
        f"{d.device}: {d.target}, {'modelled' if d.is_software else 'measured'} times"
        for d in timeline.devices
    ]
    about["losses"] = timeline.losses.counted()
    return about


def metadata(threads: Threads) -> Iterator[Arguments]:
    """Yield the events that name processes and threads; lanes are named when they are in use."""
    for index, name in enumerate(threads.processes):
        pid = index + 1
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": index}}
    for thread in threads.own:
        yield from thread_metadata(thread)


def thread_metadata(thread: Thread) -> Iterator[Arguments]:
    """Yield the events that name a thread and give it its place."""
    place = {"ph": "M", "pid": thread.pid, "tid": thread.tid}
    yield {**place, "name": "thread_name", "args": {"name": thread.title}}
    yield {**place, "name": "thread_sort_index", "args": {"sort_index": thread.tid}}


def dispatch_arguments(dispatch: Columns) -> Arguments:
    """Return what is told about a dispatch."""
    found: Arguments = {name: int(dispatch[name]) for name in DISPATCH_NUMBERS}
    found |= {name: dispatch[name].tolist() for name in ("grid", "block")}
    flags = int(dispatch["flags"])
    return found | {name: True for flag, name in DISPATCH_FLAGS.items() if flag & flags}


def wave_arguments(timeline: Timeline, wave: Columns) -> Arguments:
    """Return what is told about a wave."""
    dispatch = int(timeline.dispatches["number"][wave["dispatch"]])
    found: Arguments = {"dispatch": dispatch, "workgroup": wave["block"].tolist()}
    found |= {name: int(wave[name]) for name in WAVE_NUMBERS}
    found |= {name: int(wave[name]) for name in WAVE_COUNTS if wave[name]}
    flags = int(wave["flags"])
    return found | {name: True for flag, name in WAVE_FLAGS.items() if flag & flags}
