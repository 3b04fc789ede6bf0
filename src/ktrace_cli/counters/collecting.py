"""Values of counters, one by one, to dispatches: whatever the format, they pass here."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from ktrace_cli.counters.measured import Dispatch, Pass


@dataclass(frozen=True)
class Launch:
    """What is known of a dispatch besides its counters."""

    kernel: str
    target: str
    grid: int
    workgroup: int


@dataclass
class Collector:
    """Dispatches so far."""

    repairs: Counter[str] = field(default_factory=Counter)
    """By field of Faults."""
    is_by_instance: bool = False
    """Whether the format tells each instance of a counter by itself, to be added up."""
    _launches: dict[tuple[Pass, int], Launch] = field(default_factory=dict)
    _values: dict[tuple[Pass, int], dict[str, float]] = field(default_factory=dict)

    def add(self, origin: Pass, number: int, launch: Launch, counter: str, value: object) -> None:
        """Add one value of one dispatch."""
        amount = number_of(value)
        if amount is None or amount < 0:
            self.repairs["no_numbers" if amount is None else "negative"] += 1
            return
        key = (origin, number)
        self._launches.setdefault(key, launch)
        values = self._values.setdefault(key, {})
        if counter in values and not self.is_by_instance:
            self.repairs["added_up"] += 1
        values[counter] = values.get(counter, 0.0) + amount

    def dispatches(self) -> list[Dispatch]:
        """Return all, in the order of launches of each process."""
        order = {origin: i for i, origin in enumerate(dict.fromkeys(o for o, _ in self._values))}
        keys = sorted(self._values, key=lambda key: (order[key[0]], key[1]))
        return [self._dispatch(key) for key in keys]

    def _dispatch(self, key: tuple[Pass, int]) -> Dispatch:
        one = self._launches[key]
        values = self._values[key]
        return Dispatch(*key, one.kernel, one.target, one.grid, one.workgroup, values)


def number_of(value: object) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
