"""A part of a timeline: the waves that one wants to look at, with all that belongs to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.errors import UsageError
from ktrace_cli.model import NONE, Columns, Flags, Kernel, Part, PartSource, Timeline
from ktrace_cli.timeline.segments import Ints

_MOST_LISTED = 8


@dataclass(frozen=True)
class Selection:
    """What to keep; an empty field keeps everything."""

    kernels: Sequence[str] = ()
    """Shell patterns for names, mangled or not."""
    dispatches: Sequence[int] = ()
    """Numbers of traced launches."""
    waves: Sequence[int] = ()
    """Numbers of waves in their workgroup."""
    limit: int = 0
    """Most waves to keep, the first ones; 0 is no limit."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not (self.kernels or self.dispatches or self.waves or self.limit)


def select(timeline: Timeline, selection: Selection) -> Timeline:
    """Return the selected waves, and the dispatches that have any of them.

    Raises:
        UsageError: a pattern or number names nothing, or all of them together no wave.
    """
    if selection.is_everything:
        return timeline
    _check(timeline, selection)
    keep = _selected(timeline, selection)
    if not keep.any() and len(keep):
        raise UsageError(
            "no wave is selected",
            why="the recording has none of the kernels, dispatches and numbers asked for together",
            fix="ask for less at a time; `ktrace decode -f text` lists every wave",
        )
    dispatch_rows = np.unique(timeline.waves["dispatch"][keep])
    dispatches = timeline.dispatches[dispatch_rows]
    waves, wave_place = _take(timeline.waves, keep)
    waves["dispatch"] = np.searchsorted(dispatch_rows, waves["dispatch"])
    dispatches["waves"] = np.bincount(waves["dispatch"], minlength=len(dispatches))
    dispatches["first_wave"] = np.cumsum(dispatches["waves"]) - dispatches["waves"]
    source = _Selected(timeline.source, keep, wave_place)
    return replace(timeline, dispatches=dispatches, waves=waves, source=source)


@dataclass(frozen=True)
class _Selected:
    """A model.PartSource: what is left of the parts of another one."""

    source: PartSource
    keep: Flags
    """Which waves of the other timeline are left."""
    place: Ints
    """Their rows in this one; -1 for those left out."""

    def __call__(self, wanted: Flags | None) -> Iterator[Part]:
        keep = self.keep
        if wanted is not None:
            keep = keep.copy()
            keep[self.keep] = wanted
        for part in self.source(keep):
            yield self._part_of(part)

    def _part_of(self, part: Part) -> Part:
        slices, slice_place = _take(part.slices, self.keep[part.slices["wave"]])
        instants, _ = _take(part.instants, self.keep[part.instants["wave"]])
        for rows in (slices, instants):
            rows["wave"] = self.place[rows["wave"]]
        # A slice's parent is of its own wave, which is kept or left out whole.
        has_parent = slices["parent"] != NONE
        slices["parent"][has_parent] = slice_place[slices["parent"][has_parent]]
        flows = part.flows.copy()
        for end in ("source", "destination"):
            flows[end] = slice_place[flows[end]]
        flows = flows[(flows["source"] >= 0) & (flows["destination"] >= 0)]
        wave_rows = self.place[part.wave_rows[self.keep[part.wave_rows]]]
        return Part(wave_rows, slices, instants, part.values, flows)


def _check(timeline: Timeline, selection: Selection) -> None:
    """Refuse what names nothing: it is misspelt, or of another recording."""
    dispatches = timeline.dispatches
    kernels = [timeline.kernels[row] for row in np.unique(dispatches["kernel"]).tolist()]
    for pattern in selection.kernels:
        if not any(_matches(kernel, pattern) for kernel in kernels):
            names = dict.fromkeys(display_name(kernel.mangled) for kernel in kernels)
            raise _names_nothing(f"--kernel {pattern}", "kernels", list(names))
    for option, kind, wanted, there in (
        ("--dispatch", "dispatches", selection.dispatches, dispatches["number"]),
        ("--wave", "waves", selection.waves, timeline.waves["wave"]),
    ):
        known = np.unique(there).tolist()
        for number in wanted:
            if number not in known:
                raise _names_nothing(f"{option} {number}", kind, _runs(known))


def _names_nothing(option: str, kind: str, there: Sequence[str]) -> UsageError:
    listed = ", ".join(there[:_MOST_LISTED])
    more = f" and {len(there) - _MOST_LISTED} more" if len(there) > _MOST_LISTED else ""
    return UsageError(
        f"`{option}` selects nothing",
        why=f"the recording has the {kind} {listed}{more}" if there else f"it has no {kind}",
        fix="name one of these" if there else "read another recording",
    )


def _runs(numbers: Sequence[int]) -> list[str]:
    """Return `1 to 4`, `7` for ascending numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return [" to ".join(map(str, run)) for run in runs]


def _matches(kernel: Kernel, pattern: str) -> bool:
    names = (kernel.name, kernel.mangled, display_name(kernel.mangled))
    return any(fnmatchcase(name, pattern) for name in names)


def _selected(timeline: Timeline, selection: Selection) -> Flags:
    waves, dispatches = timeline.waves, timeline.dispatches
    keep = np.ones(len(waves), np.bool_)
    if selection.kernels:
        is_wanted = [
            any(_matches(kernel, pattern) for pattern in selection.kernels)
            for kernel in timeline.kernels
        ]
        keep &= np.array(is_wanted, np.bool_)[dispatches["kernel"]][waves["dispatch"]]
    if selection.dispatches:
        keep &= np.isin(dispatches["number"], selection.dispatches)[waves["dispatch"]]
    if selection.waves:
        keep &= np.isin(waves["wave"], selection.waves)
    if selection.limit:
        keep &= np.cumsum(keep) <= selection.limit
    return keep


def _take(rows: Columns, keep: Flags) -> tuple[Columns, Ints]:
    """Return the kept rows, and the new place of every row, -1 for those left out."""
    place = np.where(keep, np.cumsum(keep) - 1, -1)
    return rows[keep], place
