"""Slices and instants as one stream of track events: begins and ends in a safe order, by time.

A viewer ends the innermost open slice at each END, whatever we meant. So on every track an END
comes before a BEGIN at the same time, inner before outer, and a slice of no length ends at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.export.tracks import TrackTree, lane_tracks
from ktrace_cli.model import Columns, Timeline, WaveFlag
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
    waves, slices, dispatches = timeline.waves, timeline.slices, timeline.dispatches
    shown_waves = np.flatnonzero((waves["flags"] & WaveFlag.TORN) == 0)
    counts = (len(dispatches), len(shown_waves), len(slices))
    first_wave, first_slice = counts[0], counts[0] + counts[1]

    shown = np.zeros(sum(counts), SHOWN)
    _fill(shown[:first_wave], dispatches, tree.of_dispatch, names.of_dispatch)
    own = waves[shown_waves]
    _fill(shown[first_wave:first_slice], own, tree.of_wave[shown_waves], names.of_wave[shown_waves])
    inner = shown[first_slice:]
    inner["track"] = lane_tracks(tree, timeline)
    inner["name"] = names.of_event[slices["event"]]
    inner["begin_ns"], inner["end_ns"] = slices["begin_ns"], slices["begin_ns"] + slices["ns"]
    inner["depth"] = slices["depth"] + (slices["lane"] == 0)

    # A track's waves come one after the other, each with its own slice in front.
    turn = np.empty(len(waves), np.int64)
    turn[np.lexsort((waves["end_ns"], waves["begin_ns"]))] = np.arange(len(waves))
    turns = np.concatenate([dispatches["begin_ns"], turn[shown_waves], turn[slices["wave"]]])
    order = np.lexsort((np.arange(len(shown)), turns, shown["track"]))
    begin, end = _places(shown["depth"][order])
    begins, ends = np.empty_like(begin), np.empty_like(end)
    begins[order], ends[order] = begin, end

    events = np.zeros(2 * len(shown) + len(timeline.instants), EVENT)
    for at, kind, name in ((begins, BEGIN, shown["name"]), (ends, END, 0)):
        events["type"][at], events["name"][at] = kind, name
        events["track"][at] = shown["track"]
        events["ns"][at] = shown["begin_ns"] if kind == BEGIN else shown["end_ns"]
    instants = events[2 * len(shown) :]
    instants["type"], instants["ns"] = INSTANT, timeline.instants["ns"]
    instants["track"] = tree.of_wave[timeline.instants["wave"]]
    instants["name"] = names.of_event[timeline.instants["event"]]

    by_time = np.argsort(events["ns"], kind="stable")
    place = np.empty_like(by_time)
    place[by_time] = np.arange(len(by_time))
    of_wave = np.full(len(waves), -1, np.int64)
    of_wave[shown_waves] = place[begins[first_wave:first_slice]]
    return TrackEvents(
        events=events[by_time],
        of_slice=place[begins[first_slice:]],
        end_of_slice=place[ends[first_slice:]],
        of_instant=place[2 * len(shown) :],
        of_wave=of_wave,
        of_dispatch=place[begins[:first_wave]],
    )


def _fill(shown: Columns, rows: Columns, track: Ints, name: Ints) -> None:
    shown["track"], shown["name"] = track, name
    shown["begin_ns"], shown["end_ns"] = rows["begin_ns"], rows["end_ns"]


def _places(depth: Ints) -> tuple[Ints, Ints]:
    """Return the place of each slice's BEGIN and END; slices are parents first, track by track."""
    rows = np.arange(len(depth))
    # Before a BEGIN stand all earlier BEGINs, and the ENDs of all but the `depth` open slices.
    begin = 2 * rows - depth
    following = np.full(len(depth), len(depth), np.int64)
    for level in range(int(depth.max(initial=-1)) + 1):
        outer = np.flatnonzero(depth <= level)
        is_here = depth[outer] == level
        following[outer[is_here]] = np.append(outer[1:], len(depth))[is_here]
    return begin, 2 * following - depth - 1
