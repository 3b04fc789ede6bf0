"""The tree of tracks: which track shows which wave and dispatch. Knows no lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.export.slots import Slots, fit_slots, numbers_in_runs
from ktrace_cli.export.space import Space
from ktrace_cli.model import Columns, Device, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints, run_starts

MOST_WAVE_TRACKS = 4096
"""With more waves than this, tracks are hardware slots, which many waves use in turn."""

_PLACE, _WORKGROUP, _WAVE = range(3)
_TRACKS_AT_ONCE = 1 << 14


class GroupBy(str, Enum):
    """What tracks are."""

    WORKGROUP = "workgroup"
    """One per wave, below kernel, dispatch, XCD, SE and CU, workgroup."""
    HARDWARE = "hardware"
    """One per wave slot of the hardware, which waves use in turn."""


@dataclass(frozen=True)
class Track:
    """A row of the viewer. Its children are shown in order of their rank."""

    uuid: int
    name: str
    parent: int
    rank: int


@dataclass
class TrackTree:
    """All tracks, and where things are shown on them. 0 is no track."""

    process: int
    """The track of the process; the others' numbers follow."""
    root: int = 0
    """Another track that stands for the process; 0: `process`."""
    tracks: list[Track] = field(default_factory=list)
    of_waves: WaveTracks | None = None
    """Behind `tracks`."""
    of_wave: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    of_dispatch: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    uses_slots: bool = False
    _uuid_by_path: dict[tuple[object, ...], int] = field(default_factory=dict)
    _next_rank: dict[int, int] = field(default_factory=dict)

    def track(self, parent: int, key: object, name: str) -> int:
        """Return the child of `parent` that has this key, made with this name if it is new."""
        path = (parent, key)
        if path not in self._uuid_by_path:
            uuid = self.process + 1 + len(self.tracks)
            rank = self._next_rank.get(parent, 0)
            self._next_rank[parent] = rank + 1
            self.tracks.append(Track(uuid, name, parent, rank))
            self._uuid_by_path[path] = uuid
        return self._uuid_by_path[path]

    @property
    def count(self) -> int:
        """How many numbers of tracks are in use, that of the process among them."""
        return 1 + len(self.tracks) + (len(self.of_waves.kind) if self.of_waves else 0)

    def all_tracks(self, timeline: Timeline) -> Iterator[Track]:
        """Yield all tracks but that of the process, parents first."""
        yield from self.tracks
        if self.of_waves is not None:
            yield from self.of_waves.tracks(timeline)


@dataclass(frozen=True)
class WaveTracks:
    """Tracks of places, workgroups and waves as columns, because there may be millions."""

    first: int
    """The first one's uuid."""
    kind: Columns
    parent: Ints
    rank: Ints
    wave: Ints
    """Row of Timeline.waves: the wave, or one of it."""

    def tracks(self, timeline: Timeline) -> Iterator[Track]:
        """Yield them in order of their numbers."""
        for first in range(0, len(self.kind), _TRACKS_AT_ONCE):
            rows = slice(first, first + _TRACKS_AT_ONCE)
            waves, kind = timeline.waves[self.wave[rows]], self.kind[rows]
            names = np.empty(len(kind), object)
            for number, name in enumerate((_place_names, _workgroup_names, _wave_names)):
                is_here = kind == number
                names[is_here] = name(timeline, waves[is_here])
            columns = (names, self.parent[rows], self.rank[rows])
            uuids = range(self.first + first, self.first + first + len(kind))
            yield from map(Track, uuids, *(column.tolist() for column in columns))


def plan_tracks(timeline: Timeline, space: Space, group_by: GroupBy | None) -> TrackTree:
    """Lay out the tracks of all dispatches and of all waves that have a time.

    Args:
        timeline: what is shown.
        space: the tracks' numbers, and below what they are shown.
        group_by: None: by workgroup, if no wave needs more tracks than a viewer has room for.
    """
    tree = TrackTree(space.first_uuid, space.process_uuid)
    shown = np.flatnonzero((timeline.waves["flags"] & WaveFlag.TORN) == 0)
    tree.of_wave = np.zeros(len(timeline.waves), np.int64)
    tree.of_dispatch = np.zeros(len(timeline.dispatches), np.int64)
    if group_by is None and len(shown) > MOST_WAVE_TRACKS and not space.parents:
        group_by = GroupBy.HARDWARE
    tree.uses_slots = group_by is GroupBy.HARDWARE
    if tree.uses_slots:
        _plan_slots(tree, timeline, shown)
    else:
        _plan_dispatches(tree, timeline, space)
        _plan_waves(tree, timeline, shown)
    return tree


def _place_names(_: Timeline, waves: Columns) -> list[str]:
    places = zip(*(waves[name].tolist() for name in ("xcc", "se", "cu")), strict=True)
    return [f"XCD {xcc} · SE {se} · CU {cu}" for xcc, se, cu in places]


def _workgroup_names(_: Timeline, waves: Columns) -> list[str]:
    return [f"workgroup {x},{y},{z}" for x, y, z in waves["block"].tolist()]


def _wave_names(timeline: Timeline, waves: Columns) -> list[str]:
    """Return what waves are called: `wave 2 · producer`."""
    roles = [*(f" · {event.name}" for event in timeline.events), ""]  # NONE is the last one
    both = zip(waves["wave"].tolist(), waves["group"].tolist(), strict=True)
    return [f"wave {wave}{roles[group]}" for wave, group in both]


def _root(tree: TrackTree, timeline: Timeline, device: Device | None, number: int) -> int:
    # The viewer shows some 32 characters of a track's name.
    parts = ["ktrace", f"device {number}"] if number else ["ktrace"]
    if device is not None:
        parts.append(device.target.split(":")[0])
    if timeline.unit != "ns":
        parts.append(f"unit: {timeline.unit}")
    if device is not None and device.is_software:
        parts.append("modelled time")
    return tree.track(tree.root or tree.process, ("device", number), " · ".join(parts))


def _plan_dispatches(tree: TrackTree, timeline: Timeline, space: Space) -> None:
    """Kernel, dispatch."""
    devices = {device.device: device for device in timeline.devices}
    for row, dispatch in enumerate(timeline.dispatches):
        kernel, number = int(dispatch["kernel"]), int(dispatch["device"])
        if (parent := space.parents.get(row)) is None:
            root = _root(tree, timeline, devices.get(number), number)
            parent = tree.track(root, kernel, display_name(timeline.kernels[kernel].mangled))
        name = f"dispatch {dispatch['number']}"
        tree.of_dispatch[row] = tree.track(parent, ("dispatch", row), name)


def _plan_waves(tree: TrackTree, timeline: Timeline, shown: Ints) -> None:
    """XCD, SE and CU; workgroup; wave: each in front of what is below it."""
    waves = timeline.waves[shown]
    block = waves["block"]
    places = (waves["dispatch"], waves["xcc"], waves["se"], waves["cu"])
    groups = (block[:, 2], block[:, 1], block[:, 0])
    order = np.lexsort((waves["slot"], waves["wave"], *groups[::-1], *places[::-1]))
    place = _change_numbers([column[order] for column in places])
    group = _change_numbers([place, *(column[order] for column in groups)])
    row = np.arange(len(order))
    # Before a wave's track are those of all waves before it, of its place and workgroup, and of
    # those before these.
    of_wave = row + place + group + 2
    of_group = of_wave[run_starts(group)] - 1
    of_place = of_group[run_starts(place[run_starts(group)])] - 1
    first = tree.process + 1 + len(tree.tracks)
    count = len(of_wave) + len(of_group) + len(of_place)
    tracks = WaveTracks(
        first,
        kind=np.full(count, _WAVE, np.uint8),
        parent=np.zeros(count, np.int64),
        rank=np.zeros(count, np.int64),
        wave=np.zeros(count, np.int64),
    )
    dispatch_of_place = waves["dispatch"][order[run_starts(place)]]
    for kind, at, parent, rows in (
        (_WAVE, of_wave, first + of_group[group], row),
        (_WORKGROUP, of_group, first + of_place[place[run_starts(group)]], run_starts(group)),
        (_PLACE, of_place, tree.of_dispatch[dispatch_of_place], run_starts(place)),
    ):
        tracks.kind[at], tracks.parent[at] = kind, parent
        tracks.rank[at] = numbers_in_runs(parent)
        tracks.wave[at] = shown[order[rows]]
    tree.of_waves = tracks
    tree.of_wave[shown[order]] = first + of_wave


def _change_numbers(columns: list[Columns]) -> Ints:
    """Return how many of the rows before differ, in some column, from the one before them."""
    is_new = np.zeros(len(columns[0]), np.bool_)
    for column in columns:
        is_new[1:] |= column[1:] != column[:-1]
    return np.cumsum(is_new)


def _plan_slots(tree: TrackTree, timeline: Timeline, shown: Ints) -> None:
    """Per device: dispatches by stream; XCD, SE and CU, wave slot."""
    devices = {device.device: device for device in timeline.devices}
    dispatches, waves = timeline.dispatches, timeline.waves[shown]
    streams = fit_slots([dispatches["device"], dispatches["stream"]], dispatches)
    uuids = []
    for (device, stream), number in streams:
        root = _root(tree, timeline, devices.get(device), device)
        parent = tree.track(root, "dispatches", "dispatches")
        name = f"stream {stream}" + _again(number)
        uuids.append(tree.track(parent, (stream, number), name))
    tree.of_dispatch = _chosen(uuids, streams)
    device_of = dispatches["device"][waves["dispatch"]]
    names = ("xcc", "se", "cu", "simd", "hardware_slot")
    slots = fit_slots([device_of, *(waves[name] for name in names)], waves)
    uuids = []
    for (device, xcc, se, cu, simd, slot), number in slots:
        root = _root(tree, timeline, devices.get(device), device)
        xcc_track = tree.track(root, ("xcc", xcc), f"XCD {xcc}")
        cu_track = tree.track(xcc_track, (se, cu), f"SE {se} · CU {cu}")
        # Waves that seem to overlap in one slot (its clock is known to some nanoseconds) are kept.
        name = f"SIMD {simd} · slot {slot}" + _again(number)
        uuids.append(tree.track(cu_track, (simd, slot, number), name))
    tree.of_wave[shown] = _chosen(uuids, slots)


def _again(number: int) -> str:
    return f" ({number + 1})" if number else ""


def _chosen(uuids: list[int], slots: Slots) -> Ints:
    return np.array(uuids, np.int64)[slots.of_row] if uuids else np.zeros(0, np.int64)
