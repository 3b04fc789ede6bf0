"""Slices and instants as one stream of track events: begins and ends in a safe order, by time.

A viewer ends the innermost open slice at each END, whatever we meant. So on every track an END
comes before a BEGIN at the same time, inner before outer, and a slice of no length ends at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.export.tracks import TrackTree, lane_tracks
from ktrace_cli.model import Columns, SliceFlag, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints

BEGIN, END, INSTANT = 1, 2, 3

SHOWN = np.dtype(
    [
        ("track", "<i8"),
        ("name", "<i8"),  # iid
        ("begin_ns", "<i8"),
        ("end_ns", "<i8"),
        ("depth", "<i8"),  # on its track
    ]
)
EVENT = np.dtype(
    [("ns", "<i8"), ("type", "u1"), ("track", "<i8"), ("name", "<i8")]  # name: iid; 0 for END
)


@dataclass(frozen=True)
class Names:
    """The iids of what is shown."""

    of_event: Ints
    """Per row of Timeline.events."""
    of_running: Ints
    """Per row of Timeline.events: what is said where its dispatch was still running."""
    of_wave: Ints
    of_dispatch: Ints


@dataclass(frozen=True)
class TrackEvents:
    """All events by time, and where each thing's event is among them."""

    events: Columns
    """EVENT"""
    of_slice: Ints
    """The BEGIN of each row of Timeline.slices."""
    end_of_slice: Ints
    of_instant: Ints
    of_wave: Ints
    """The BEGIN of each wave's slice; -1 for torn waves, which have no time."""
    of_dispatch: Ints


def order_events(timeline: Timeline, tree: TrackTree, names: Names) -> TrackEvents:
    """Lay out everything that the timeline shows."""
    dispatches, instants = len(timeline.dispatches), len(timeline.instants)
    timed = np.flatnonzero((timeline.waves["flags"] & WaveFlag.TORN) == 0)
    shown, turns = _shown(timeline, tree, names, timed)
    first_slice = dispatches + len(timed)
    begins, ends = _places(shown, turns)

    events = np.zeros(2 * len(shown) + instants, EVENT)
    for at, kind, name in ((begins, BEGIN, shown["name"]), (ends, END, 0)):
        events["type"][at], events["name"][at] = kind, name
        events["track"][at] = shown["track"]
        events["ns"][at] = shown["begin_ns"] if kind == BEGIN else shown["end_ns"]
    marks = events[2 * len(shown) :]
    marks["type"], marks["ns"] = INSTANT, timeline.instants["ns"]
    marks["track"] = tree.of_wave[timeline.instants["wave"]]
    marks["name"] = names.of_event[timeline.instants["event"]]

    # Stable: at equal times, the order on each track is kept.
    by_time = np.argsort(events["ns"], kind="stable")
    place = np.empty_like(by_time)
    place[by_time] = np.arange(len(by_time))
    of_wave = np.full(len(timeline.waves), -1, np.int64)
    of_wave[timed] = place[begins[dispatches:first_slice]]
    return TrackEvents(
        events=events.take(by_time),
        of_slice=place[begins[first_slice:]],
        end_of_slice=place[ends[first_slice:]],
        of_instant=place[2 * len(shown) :],
        of_wave=of_wave,
        of_dispatch=place[begins[:dispatches]],
    )


def _shown(timeline: Timeline, tree: TrackTree, names: Names, timed: Ints) -> tuple[Columns, Ints]:
    """Return SHOWN of dispatches, of the waves `timed` and of slices, and their order on a track.

    Within one turn, rows are in order: a wave, then its slices, parents before children.
    """
    waves, slices, dispatches = timeline.waves, timeline.slices, timeline.dispatches
    first_slice = len(dispatches) + len(timed)
    shown = np.zeros(first_slice + len(slices), SHOWN)
    outer, inner = shown[:first_slice], shown[first_slice:]
    outer["track"] = np.concatenate([tree.of_dispatch, tree.of_wave[timed]])
    outer["name"] = np.concatenate([names.of_dispatch, names.of_wave[timed]])
    for name in ("begin_ns", "end_ns"):
        outer[name] = np.concatenate([dispatches[name], waves[name][timed]])
    inner["track"] = lane_tracks(tree, timeline)
    is_running = (slices["flags"] & SliceFlag.RUNNING) != 0
    event = slices["event"]
    inner["name"] = np.where(is_running, names.of_running[event], names.of_event[event])
    inner["begin_ns"], inner["end_ns"] = slices["begin_ns"], slices["begin_ns"] + slices["ns"]
    inner["depth"] = slices["depth"] + (slices["lane"] == 0)

    # The waves of a track come one after the other.
    turn = np.empty(len(waves), np.int64)
    turn[np.lexsort((waves["end_ns"], waves["begin_ns"]))] = np.arange(len(waves))
    turns = np.concatenate([dispatches["begin_ns"], turn[timed], turn[slices["wave"]]])
    return shown, turns


def _places(shown: Columns, turns: Ints) -> tuple[Ints, Ints]:
    """Return the place of each slice's BEGIN and END, track by track."""
    order = np.lexsort((np.arange(len(shown)), turns, shown["track"]))
    depth = shown["depth"][order]
    rows = np.arange(len(depth))
    following = np.full(len(depth), len(depth), np.int64)
    for level in range(int(depth.max(initial=-1)) + 1):
        outer = np.flatnonzero(depth <= level)
        is_here = depth[outer] == level
        following[outer[is_here]] = np.append(outer[1:], len(depth))[is_here]
    begins, ends = np.empty_like(rows), np.empty_like(rows)
    # Before a BEGIN stand all earlier BEGINs, and the ENDs of all but the `depth` open slices.
    begins[order] = 2 * rows - depth
    # Before an END, all BEGINs up to the next slice that is not inside, and their ENDs.
    ends[order] = 2 * following - depth - 1
    return begins, ends
