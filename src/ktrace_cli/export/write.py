"""A timeline to a file, in any format; whether a viewer can open that much."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from ktrace_cli.errors import UsageError
from ktrace_cli.export.chrome import write_chrome
from ktrace_cli.export.csv import write_csv
from ktrace_cli.export.formats import Format, Target
from ktrace_cli.export.html.page import MOST_ROWS, write_html
from ktrace_cli.export.output import Sink, compressed, open_output
from ktrace_cli.export.parquet import load_pyarrow, write_parquet
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.text import write_text
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.model import Timeline

# A viewer in a browser keeps some 100 to 160 bytes per event within 4 GiB.
MOST_IN_PERFETTO = 25_000_000
# Some 90 bytes of JSON per event; browsers fail at about a gigabyte of it.
_MOST_IN_CHROME = 10_000_000

_LIMITS = {
    Format.PFTRACE: (MOST_IN_PERFETTO, "the Perfetto UI opens"),
    Format.CHROME: (_MOST_IN_CHROME, "browsers open as JSON"),
    Format.HTML: (2 * MOST_ROWS, "a page holds"),
}


class Written(Protocol):
    """What every exporter says of its output."""

    @property
    def slices(self) -> int:
        """How many slices of waves it holds."""

    @property
    def instants(self) -> int:
        """How many marks it holds."""


@dataclass(frozen=True)
class Looks:
    """How a timeline is shown, in formats that can say so."""

    group_by: GroupBy | None = None
    """What tracks are; None: what fits their number."""
    notes: tuple[str, ...] = ()
    """Sentences on what is shown, such as how much was selected."""


_GROUPED: dict[Format, Callable[..., Written]] = {
    Format.PFTRACE: write_perfetto,
    Format.CHROME: write_chrome,
}
_WRITERS: dict[Format, Callable[[Timeline, Sink], Written]] = {
    Format.CSV: write_csv,
    Format.PARQUET: write_parquet,
    Format.TEXT: write_text,
}


def check_grouping(target: Target, group_by: GroupBy | None) -> None:
    """Refuse to group what has no tracks.

    Raises:
        UsageError: the format has none.
    """
    if group_by is not None and target.format not in _GROUPED:
        raise UsageError(
            f"cannot group {target.format.value} by {group_by.value}",
            why="it has no tracks",
            fix="leave out `--group-by`, or write " + " or ".join(f.value for f in _GROUPED),
        )


def write_timeline(timeline: Timeline, target: Target, looks: Looks) -> Written:
    """Write `timeline` to its target.

    Args:
        timeline: what is written.
        target: as what, and where.
        looks: how it is shown.

    Raises:
        KtraceError: the file must not be replaced or cannot be written, or the format cannot show
            this timeline.
    """
    if target.format is Format.PARQUET:
        load_pyarrow()  # before the file is opened
    with (
        open_output(target.path, may_replace=target.may_replace) as out,
        compressed(out) if target.is_compressed else nullcontext(out) as stream,
    ):
        if writer := _GROUPED.get(target.format):
            return writer(timeline, stream, group_by=looks.group_by)
        if target.format is Format.HTML:
            return write_html(timeline, stream, looks.notes)
        return _WRITERS[target.format](timeline, stream)


def passes(timeline: Timeline, wanted: Format) -> int:
    """Return how often a format reads all parts of a timeline."""
    return 2 if wanted is Format.TEXT and timeline.edges else 1


def size_warning(timeline: Timeline, wanted: Format) -> str:
    """Return what to say before more is written than a viewer opens; "" if it is not too much."""
    limit = _LIMITS.get(wanted)
    events = count_events(timeline)
    if limit is None or events <= limit[0]:
        return ""
    most, viewer = limit
    if timeline.is_window and (events := _count_in_window(timeline)) <= most:
        return ""
    return (
        f"{events:,} events are more than {viewer} (about {most:,}): choose some with `--kernel`,"
        " `--dispatch`, `--blocks`, `--waves`, `--xcd`, `--from` and `--to`, or `--limit`;"
        " `ktrace summary` takes all"
    )


def count_events(timeline: Timeline) -> int:
    """Return how many events a trace has: begins and ends of waves and slices, and marks.

    Of a window of time this is how many it has at most.
    """
    slices, instants = (int(timeline.waves[name].sum()) for name in ("slices", "instants"))
    return 2 * (slices + len(timeline.waves)) + instants


def _count_in_window(timeline: Timeline) -> int:
    """Count events by reading all of them: no count tells which lie in a window of time."""
    events = 2 * len(timeline.waves)
    return events + sum(2 * len(part.slices) + len(part.instants) for part in timeline.parts())
