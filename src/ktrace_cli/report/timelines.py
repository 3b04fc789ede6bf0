"""The interactive timeline of a recording, as a file of its own of limited size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.html.page import write_html
from ktrace_cli.model import Timeline
from ktrace_cli.report.results import Embedded
from ktrace_cli.report.site import Site
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.timeline.select import Selection, select
from ktrace_cli.units import counted

FILE = "timeline.html"


def write_timeline(
    timeline: Timeline, most: int, notes: Sequence[str], site: Site, folder: str
) -> Embedded:
    """Write the timeline of a recording beside its page.

    Args:
        timeline: all that could be shown.
        most: ranges and marks that are shown; 0: there shall be no timeline.
        notes: sentences for its line on data quality.
        site: where to write it.
        folder: in the site.
    """
    if not most:
        return Embedded(None, "left out, as asked for (`--timeline 0`)")
    if not len(timeline.waves):
        return Embedded(None, "nothing was recorded")
    shown, note = fit(timeline, most)
    try:
        with site.open(f"{folder}/{FILE}") as out:
            write_html(shown, out, [*notes, note] if note else notes)
    except KtraceError as problem:  # the run's numbers can be shown nevertheless
        return Embedded(None, f"{problem.what}: {problem.why}")
    return Embedded(FILE, note)


def fit(timeline: Timeline, most: int) -> tuple[Timeline, str]:
    """Leave out launches, or waves, of a timeline that is too large, and say which are left.

    The first launch of each kernel goes before all others.
    """
    waves = timeline.waves
    rows = waves["slices"].astype(np.int64) + waves["instants"]
    if rows.sum() <= most:
        return timeline, ""
    of_launch = np.bincount(waves["dispatch"], rows, len(timeline.dispatches)).astype(np.int64)
    launches = _that_fit(timeline, of_launch, most)
    if len(launches):
        numbers = np.sort(timeline.dispatches["launch"][launches]).tolist()
        shown = select(timeline, Selection(launches=[range(n, n + 1) for n in numbers]))
    else:
        limit = int(np.searchsorted(np.cumsum(rows), most, "right"))
        shown = select(timeline, Selection(limit=max(limit, 1)))
    dispatches = counted(len(timeline.dispatches), "dispatch", "dispatches")
    return shown, (
        f"the timeline shows {len(shown.waves):,} of {counted(len(waves), 'wave')}, in"
        f" {len(shown.dispatches):,} of {dispatches}: all would be {int(rows.sum()):,} ranges and"
        f" marks, and {most:,} are wanted at most (`--timeline`); tables are of all"
    )


def _that_fit(timeline: Timeline, of_launch: Ints, most: int) -> Ints:
    """Return the rows of launches that can be shown together."""
    _, first = np.unique(timeline.dispatches["kernel"], return_index=True)
    others = np.setdiff1d(np.arange(len(of_launch)), first)
    order = np.concatenate([np.sort(first), others])
    left, chosen = most, []
    for row, size in zip(order.tolist(), of_launch[order].tolist(), strict=True):
        if size <= left:
            chosen.append(row)
            left -= size
    has_waves = of_launch[chosen] > 0 if chosen else np.zeros(0, np.bool_)
    return np.array(chosen, np.int64)[has_waves]
