"""What the Perfetto UI shows first of our trace: one workgroup's waves, while its dispatch ran."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ktrace_cli.export.space import ALONE
from ktrace_cli.export.tracks import Track, plan_tracks
from ktrace_cli.model import Timeline

# Tracks that we name with numbers and words of our own.
_NUMBERED = re.compile(
    r"dispatch \d+|XCD \d+(?: · SE \d+ · CU \d+)?|SE \d+ · CU \d+|workgroup [\d,]+"
)


@dataclass(frozen=True)
class Opening:
    """What to open, and where to look."""

    tracks: tuple[str, ...]
    """Names of the tracks on the way to the first wave; none of them names a kernel or program."""
    begin_ns: int
    """Of the dispatch."""
    end_ns: int


def plan_opening(timeline: Timeline) -> Opening | None:
    """Find the first track of a wave, as `write_perfetto` orders them; None if there is none."""
    tree = plan_tracks(timeline, ALONE, None)
    with_track = np.flatnonzero(tree.of_wave)
    if not len(with_track):
        return None
    wave = with_track[tree.of_wave[with_track].argmin()]
    dispatch = timeline.dispatches[timeline.waves["dispatch"][wave]]
    way = _way_to(int(tree.of_wave[wave]), tree.all_tracks(timeline))
    return Opening(
        tracks=tuple(name for name in way if _NUMBERED.fullmatch(name)),
        begin_ns=int(dispatch["begin_ns"]),
        end_ns=int(dispatch["end_ns"]),
    )


def _way_to(wanted: int, tracks: Iterable[Track]) -> list[str]:
    """Return the names of a track and of all above it, the topmost first."""
    seen: dict[int, Track] = {}
    for track in tracks:
        seen[track.uuid] = track
        if track.uuid == wanted:
            break
    names: list[str] = []
    while wanted in seen:
        names.insert(0, seen[wanted].name)
        wanted = seen[wanted].parent
    return names
