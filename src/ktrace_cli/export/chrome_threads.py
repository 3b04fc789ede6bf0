"""Which thread of which process shows a wave, a lane or a dispatch in Chrome's trace format.

That format knows processes and threads only. With few waves each dispatch is a process and each
wave a thread; with many, each CU is a process and each wave slot a thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.export.records import role_of
from ktrace_cli.export.slots import fit_slots
from ktrace_cli.export.tracks import MOST_WAVE_TRACKS, GroupBy
from ktrace_cli.model import NONE, Timeline, WaveFlag
from ktrace_cli.timeline.segments import Ints


@dataclass(frozen=True)
class Thread:
    """One row of the viewer."""

    pid: int
    tid: int
    name: str
    role: str = ""
    """Shown behind its name, but not on its lanes: viewers show some 28 characters."""

    @property
    def title(self) -> str:
        """Return what it is called."""
        return f"{self.name} · {self.role}" if self.role else self.name


@dataclass
class Threads:
    """All processes and threads, and where things are shown."""

    processes: list[str]
    """Their names; the first one is process 1."""
    own: list[Thread]
    """Of dispatches and of waves, in the order in which they are shown."""
    of_wave: Ints
    """Per wave, a row of `own`; NONE for torn waves, which have no time."""
    of_dispatch: Ints
    lanes: tuple[str, ...]

    def lane(self, row: int, lane: int) -> Thread:
        """Return the thread of a lane: `own[row]` itself, or one that is shown below it."""
        own = self.own[row]
        if lane == 0:
            return own
        return Thread(own.pid, own.tid + lane, f"{own.name} · {self.lanes[lane]}")


def plan_threads(timeline: Timeline, group_by: GroupBy | None) -> Threads:
    """Lay out the threads of all dispatches and of all waves that have a time.

    Args:
        timeline: what is shown.
        group_by: what threads are; None: wave slots if there are very many waves.
    """
    shown = np.flatnonzero((timeline.waves["flags"] & WaveFlag.TORN) == 0)
    plan = _Plan(timeline)
    if group_by is None and len(shown) > MOST_WAVE_TRACKS:
        group_by = GroupBy.HARDWARE
    if group_by is GroupBy.HARDWARE:
        plan.add_slots(shown)
    else:
        plan.add_waves(shown)
    return plan.threads()


class _Plan:
    """Collects processes and threads; their numbers follow when all are known."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._devices = {device.device: device for device in timeline.devices}
        self._processes: dict[str, int] = {}
        self._names: list[tuple[int, str, str]] = []
        self._of_wave = np.full(len(timeline.waves), NONE, np.int64)
        self._of_dispatch = np.full(len(timeline.dispatches), NONE, np.int64)

    def threads(self) -> Threads:
        """Return what was collected. A thread's lanes have the numbers that follow its own.

        No thread has a process's number: viewers take that one for its main thread.
        """
        step = len(self._timeline.lanes)
        first = len(self._processes) + 1
        return Threads(
            processes=list(self._processes),
            own=[
                Thread(pid, first + row * step, name, role)
                for row, (pid, name, role) in enumerate(self._names)
            ],
            of_wave=self._of_wave,
            of_dispatch=self._of_dispatch,
            lanes=self._timeline.lanes,
        )

    def add_waves(self, shown: Ints) -> None:
        """Add a process for each dispatch, and a thread for each wave."""
        timeline = self._timeline
        waves = timeline.waves[shown]
        block = waves["block"]
        order = np.lexsort(
            (waves["wave"], block[:, 0], block[:, 1], block[:, 2], waves["dispatch"])
        )
        row_of_dispatch = waves["dispatch"][order]
        for row, dispatch in enumerate(timeline.dispatches):
            kernel = display_name(timeline.kernels[dispatch["kernel"]].mangled)
            pid = self._process(
                int(dispatch["device"]), f"{kernel} · dispatch {dispatch['number']}"
            )
            self._of_dispatch[row] = self._thread(pid, "dispatch")
            first, last = np.searchsorted(row_of_dispatch, [row, row + 1])
            for place in shown[order[first:last]]:
                wave = timeline.waves[place]
                name = f"{','.join(map(str, wave['block']))} · wave {wave['wave']}"
                self._of_wave[place] = self._thread(pid, name, role_of(timeline, wave))

    def add_slots(self, shown: Ints) -> None:
        """Add threads for the dispatches of each stream, and for the wave slots of each CU."""
        dispatches = self._timeline.dispatches
        slots = fit_slots([dispatches["device"], dispatches["stream"]], dispatches)
        threads = [
            self._thread(self._process(device, "dispatches"), f"stream {stream}{_again(number)}")
            for (device, stream), number in slots
        ]
        self._of_dispatch[:] = np.array(threads, np.int64)[slots.of_row]
        waves = self._timeline.waves[shown]
        places = [waves[name] for name in ("xcc", "se", "cu", "simd", "hardware_slot")]
        slots = fit_slots([dispatches["device"][waves["dispatch"]], *places], waves)
        threads = [
            self._thread(
                self._process(device, f"XCD {xcc} · SE {se} · CU {cu}"),
                f"SIMD {simd} · slot {slot}{_again(number)}",
            )
            for (device, xcc, se, cu, simd, slot), number in slots
        ]
        self._of_wave[shown] = np.array(threads, np.int64)[slots.of_row]

    def _process(self, number: int, name: str) -> int:
        """Return the process of this name on a device."""
        parts = [name, f"device {number}"] if number else [name]
        device = self._devices.get(number)
        if device is not None and device.is_software:
            parts.append("modelled time")
        return self._processes.setdefault(" · ".join(parts), len(self._processes) + 1)

    def _thread(self, pid: int, name: str, role: str = "") -> int:
        self._names.append((pid, name, role))
        return len(self._names) - 1


def _again(number: int) -> str:
    return f" ({number + 1})" if number else ""
