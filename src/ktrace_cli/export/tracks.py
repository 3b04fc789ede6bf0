"""The tree of tracks: which track shows which wave, lane and dispatch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.code_object.names import display_name
from ktrace_cli.model import NONE, Columns, Device, Timeline, WaveFlag
from ktrace_cli.timeline.lanes import first_fit
from ktrace_cli.timeline.segments import Ints

MOST_WAVE_TRACKS = 4096
"""With more waves than this, tracks are hardware slots, which many waves use in turn."""
PROCESS_TRACK = 1


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

    tracks: list[Track] = field(default_factory=list)
    of_wave: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    of_dispatch: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    uses_slots: bool = False
    _uuid_by_path: dict[tuple[object, ...], int] = field(default_factory=dict)
    _next_rank: dict[int, int] = field(default_factory=dict)

    def track(self, parent: int, key: object, name: str, rank: int | None = None) -> int:
        """Return the child of `parent` that has this key, made with this name if it is new."""
        path = (parent, key)
        if path not in self._uuid_by_path:
            uuid = PROCESS_TRACK + 1 + len(self.tracks)
            place = self._next_rank.get(parent, 0)
            self._next_rank[parent] = place + 1
            self.tracks.append(Track(uuid, name, parent, place if rank is None else rank))
            self._uuid_by_path[path] = uuid
        return self._uuid_by_path[path]


def plan_tracks(timeline: Timeline) -> TrackTree:
    """Lay out the tracks of all dispatches and of all waves that have a time."""
    tree = TrackTree()
    shown = np.flatnonzero((timeline.waves["flags"] & WaveFlag.TORN) == 0)
    tree.of_wave = np.zeros(len(timeline.waves), np.int64)
    tree.of_dispatch = np.zeros(len(timeline.dispatches), np.int64)
    tree.uses_slots = len(shown) > MOST_WAVE_TRACKS
    if tree.uses_slots:
        _plan_slots(tree, timeline, shown)
    else:
        _plan_waves(tree, timeline, shown)
    return tree


def lane_tracks(tree: TrackTree, timeline: Timeline) -> Ints:
    """Return the track of each slice; makes the tracks of lanes."""
    slices = timeline.slices
    tracks: Ints = tree.of_wave[slices["wave"]]
    rows = np.flatnonzero(slices["lane"])
    key = tracks[rows] * len(timeline.lanes) + slices["lane"][rows]
    pairs, inverse = np.unique(key, return_inverse=True)
    uuids = [
        tree.track(owner, ("lane", lane), timeline.lanes[lane], rank=lane)
        for owner, lane in (divmod(int(pair), len(timeline.lanes)) for pair in pairs)
    ]
    tracks[rows] = np.array(uuids, np.int64)[inverse]
    return tracks


def wave_name(timeline: Timeline, wave: Columns) -> str:
    """Return what a wave is called: `wave 2 · producer`."""
    name = f"wave {wave['wave']}"
    if wave["group"] == NONE:
        return name
    return f"{name} · {timeline.events[wave['group']].name}"


def _root(tree: TrackTree, device: Device | None, number: int) -> int:
    # The viewer shows some 32 characters of a track's name.
    parts = ["ktrace", f"device {number}"] if number else ["ktrace"]
    if device is not None:
        parts.append(device.target.split(":")[0])
        parts += ["modelled time"] if device.is_software else []
    name = " · ".join(parts)
    return tree.track(PROCESS_TRACK, ("device", number), name)


def _plan_waves(tree: TrackTree, timeline: Timeline, shown: Ints) -> None:
    """Kernel, dispatch, XCD/SE/CU, workgroup, wave."""
    devices = {device.device: device for device in timeline.devices}
    for row, dispatch in enumerate(timeline.dispatches):
        kernel = int(dispatch["kernel"])
        number = int(dispatch["device"])
        root = _root(tree, devices.get(number), number)
        kernel_track = tree.track(root, kernel, display_name(timeline.kernels[kernel].mangled))
        tree.of_dispatch[row] = tree.track(
            kernel_track, int(dispatch["number"]), f"dispatch {dispatch['number']}"
        )
    waves = timeline.waves[shown]
    block = waves["block"]
    order = np.lexsort(
        (waves["wave"], block[:, 0], block[:, 1], block[:, 2], *_place(waves), waves["dispatch"])
    )
    for row in shown[order]:
        wave = timeline.waves[row]
        place = (int(wave["xcc"]), int(wave["se"]), int(wave["cu"]))
        name = "XCD {} · SE {} · CU {}".format(*place)
        place_track = tree.track(int(tree.of_dispatch[wave["dispatch"]]), place, name)
        index = tuple(int(axis) for axis in wave["block"])
        workgroup = tree.track(place_track, index, "workgroup " + ",".join(map(str, index)))
        key = (int(wave["wave"]), int(wave["slot"]))
        tree.of_wave[row] = tree.track(workgroup, key, wave_name(timeline, wave))


def _plan_slots(tree: TrackTree, timeline: Timeline, shown: Ints) -> None:
    """Per device: dispatches by stream; XCD, SE and CU, wave slot."""
    devices = {device.device: device for device in timeline.devices}
    dispatches = timeline.dispatches
    group = np.column_stack([dispatches["device"].astype(np.int64), dispatches["stream"]])
    for row, number in _fit(group, dispatches["begin_ns"], dispatches["end_ns"]):
        device, stream = (int(value) for value in group[row])
        root = _root(tree, devices.get(device), device)
        parent = tree.track(root, "dispatches", "dispatches")
        name = f"stream {stream}" + (f" ({number + 1})" if number else "")
        tree.of_dispatch[row] = tree.track(parent, (stream, number), name)
    waves = timeline.waves[shown]
    device_of = dispatches["device"][waves["dispatch"]].astype(np.int64)
    columns = [*_place(waves)[::-1], waves["simd"], waves["hardware_slot"]]
    slots = np.column_stack([device_of, *columns])
    for row, number in _fit(slots, waves["begin_ns"], waves["end_ns"]):
        device, xcc, se, cu, simd, slot = (int(value) for value in slots[row])
        root = _root(tree, devices.get(device), device)
        xcc_track = tree.track(root, ("xcc", xcc), f"XCD {xcc}")
        cu_track = tree.track(xcc_track, (se, cu), f"SE {se} · CU {cu}")
        # Waves that seem to overlap in one slot (its clock is known to some nanoseconds) are kept.
        name = f"SIMD {simd} · slot {slot}" + (f" ({number + 1})" if number else "")
        tree.of_wave[shown[row]] = tree.track(cu_track, (simd, slot, number), name)


def _fit(groups: Ints, begin: Ints, end: Ints) -> list[tuple[int, int]]:
    """Return rows, by group, and the number of the first track of the group that is free."""
    _, group = np.unique(groups, axis=0, return_inverse=True)
    order = np.lexsort((end, begin, group.ravel()))
    number = first_fit(group.ravel()[order], begin[order], end[order])
    by_track = np.lexsort((number, group.ravel()[order]))
    return list(zip(order[by_track].tolist(), number[by_track].tolist(), strict=True))


def _place(waves: Columns) -> tuple[Columns, Columns, Columns]:
    return waves["cu"], waves["se"], waves["xcc"]
