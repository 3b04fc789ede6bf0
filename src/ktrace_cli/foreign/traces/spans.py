"""What a trace file of another in-kernel tracer shows: waves, and ranges and marks of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ktrace_cli.foreign.events import CLOCK_LIMIT

NO_END = -1


@dataclass(frozen=True)
class Place:
    """Where a wave ran, as far as names of processes, threads and tracks tell."""

    kernel: str = ""
    launch: int = 0
    block: tuple[int, int, int] = (0, 0, 0)
    wave: int = 0
    sm: int = 0
    role: str = ""


@dataclass(frozen=True)
class Line:
    """The nanosecond of a wave's tick 0, and nanoseconds per tick."""

    ns: int = 0
    slope: float = 1.0


@dataclass
class Spans:
    """Ranges and marks in any order, column by column. Times are ticks of each wave's own line."""

    places: list[Place] = field(default_factory=list)
    """Of each wave."""
    lines: list[Line] = field(default_factory=list)
    """Of each wave."""
    lifetimes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Begin and end of waves that the file tells."""
    wave: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    """That of a mark is its begin; NO_END of a range that never ended."""
    is_mark: list[bool] = field(default_factory=list)
    payload: list[int | float | None] = field(default_factory=list)
    losses: Counter[str] = field(default_factory=Counter)
    """By field of model.Losses."""
    notes: list[str] = field(default_factory=list)
    """What was assumed."""
    clock: str = "the clock that its file counts"
    """What times count."""
    _waves: dict[Place, int] = field(default_factory=dict)

    def wave_at(self, place: Place, line: Line | None = None) -> int:
        """Return the number of the wave at a place."""
        number = self._waves.get(place)
        if number is None:
            number = self._waves[place] = len(self.places)
            self.places.append(place)
            self.lines.append(line or Line())
        return number

    def add_range(
        self, wave: int, name: str, begin: int, end: int, payload: int | float | None = None
    ) -> None:
        """Add a range; `end` may be NO_END."""
        if not self._is_time(begin) or (end != NO_END and not self._is_time(end)):
            return
        if end != NO_END and end < begin:
            self.losses["clamped_slices"] += 1
            end = begin
        self._add((wave, name), begin, end, payload)
        self.is_mark.append(False)

    def add_mark(
        self, wave: int, name: str, ticks: int, payload: int | float | None = None
    ) -> None:
        """Add a mark."""
        if self._is_time(ticks):
            self._add((wave, name), ticks, ticks, payload)
            self.is_mark.append(True)

    def _add(
        self, what: tuple[int, str], begin: int, end: int, payload: int | float | None
    ) -> None:
        self.wave.append(what[0])
        self.name.append(what[1])
        self.begin.append(begin)
        self.end.append(end)
        self.payload.append(payload)

    def _is_time(self, ticks: int) -> bool:
        is_time = 0 <= ticks < CLOCK_LIMIT
        self.losses["undated_records"] += not is_time
        return is_time
