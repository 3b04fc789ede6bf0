"""Timelines as traces that Perfetto's own trace_processor has loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktrace_cli.export.output import compressed, open_output
from ktrace_cli.export.perfetto import Written, write_perfetto
from ktrace_cli.model import Timeline
from support.recording import HOST_EPOCH_NS, Wave
from support.trace_processor import LoadedTrace, load_trace


def write(timeline: Timeline, folder: Path, **options: Any) -> tuple[LoadedTrace, Written]:
    path = folder / "run.pftrace.gz"
    with open_output(path, may_replace=False) as out, compressed(out) as stream:
        written = write_perfetto(timeline, stream, **options)
    trace = load_trace(path)
    assert trace.problems() == []
    assert trace.one("select count(*) from slice where dur < 0") == 0
    return trace, written


def shown(trace: LoadedTrace, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Name, track, depth, begin after the epoch and duration of the slices of these names."""
    wanted = ", ".join(f"'{name}'" for name in names)
    return trace.rows(
        f"select s.name, t.name as track, depth, ts - {HOST_EPOCH_NS} as begin, dur from slice s"
        f" join track t on t.id = s.track_id where s.name in ({wanted}) order by ts, depth"
    )


def tree(trace: LoadedTrace) -> list[tuple[str, str | None]]:
    """Name and parent's name of each track below our root."""
    return trace.rows(
        "select t.name, p.name as parent from track t left join track p on p.id = t.parent_id"
        " where t.name != '' order by t.id"
    )


def exact(begin: int, main: list[Any], **more: Any) -> Wave:
    """A wave of exactly 1 ms at 2.1 GHz, so that 2.1 cycles are one nanosecond."""
    return Wave(begin=begin, end=begin + 2_100_000, main=main, **more)
