"""A part of a timeline: the waves that one wants to look at, with all that belongs to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ktrace_cli.code_object.patterns import check_any_matches, matches, spellings
from ktrace_cli.errors import UsageError
from ktrace_cli.model import NONE, Columns, Flags, Part, PartSource, Timeline
from ktrace_cli.places import Axis
from ktrace_cli.timeline.segments import Ints

_MOST_LISTED = 8


@dataclass(frozen=True)
class Selection:
    """What to keep; an empty field keeps everything."""

    kernels: Sequence[str] = ()
    """Patterns of names: code_object.patterns."""
    dispatches: Sequence[range] = ()
    """Numbers of traced launches."""
    launches: Sequence[range] = ()
    """Numbers among all launches of the process, ascending and without overlap."""
    blocks: Sequence[Axis] = ()
    """Workgroups by x, y and z; axes that are not named have no limit."""
    waves: Sequence[range] = ()
    """Numbers of waves in their workgroup."""
    xcds: Sequence[range] = ()
    """Numbers of XCDs."""
    begin: int | None = None
    """Leave out what ended before; nanoseconds from the recording's first wave."""
    end: int | None = None
    """Leave out what began after."""
    limit: int = 0
    """Most waves to keep, the first ones; 0 is no limit."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        wanted = (
            *(self.kernels, self.dispatches, self.launches),
            *(self.blocks, self.waves, self.xcds),
        )
        return not (any(wanted) or self.has_window or self.limit)

    @property
    def has_window(self) -> bool:
        """Whether slices of one wave may be left out."""
        return self.begin is not None or self.end is not None


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
        raise _nothing(timeline, selection)
    dispatch_rows = np.unique(timeline.waves["dispatch"][keep])
    dispatches = timeline.dispatches[dispatch_rows]
    waves, wave_place = _take(timeline.waves, keep)
    waves["dispatch"] = np.searchsorted(dispatch_rows, waves["dispatch"])
    left = np.bincount(waves["dispatch"], minlength=len(dispatches))
    # How many waves were expected is known of whole dispatches only.
    dispatches["expected"][left < dispatches["waves"]] = 0
    dispatches["waves"] = left
    dispatches["first_wave"] = np.cumsum(dispatches["waves"]) - dispatches["waves"]
    source = _Selected(timeline.source, keep, wave_place, window_ns(timeline, selection))
    is_window = timeline.is_window or selection.has_window
    return replace(timeline, dispatches=dispatches, waves=waves, source=source, is_window=is_window)


@dataclass(frozen=True)
class _Selected:
    """A model.PartSource: what is left of the parts of another one."""

    source: PartSource
    keep: Flags
    """Which waves of the other timeline are left."""
    place: Ints
    """Their rows in this one; -1 for those left out."""
    window: tuple[int, int] | None
    """Of the host's nanoseconds: what lies outside is left out."""

    def __call__(self, wanted: Flags | None) -> Iterator[Part]:
        keep = self.keep
        if wanted is not None:
            keep = keep.copy()
            keep[self.keep] = wanted
        for part in self.source(keep):
            yield self._part_of(part)

    def _part_of(self, part: Part) -> Part:
        keep_slices = self.keep[part.slices["wave"]]
        keep_instants = self.keep[part.instants["wave"]]
        if self.window:
            begin = part.slices["begin_ns"]
            keep_slices &= _overlaps(begin, begin + part.slices["ns"], self.window)
            at = part.instants["ns"]
            keep_instants &= _overlaps(at, at, self.window)
        slices, slice_place = _take(part.slices, keep_slices)
        instants, _ = _take(part.instants, keep_instants)
        for rows in (slices, instants):
            rows["wave"] = self.place[rows["wave"]]
        # A slice's parent is of its own wave, and lasts as long at least: it is kept as well.
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
    if selection.begin is not None and selection.end is not None:
        _check_order(selection.begin, selection.end)
    dispatches = timeline.dispatches
    kernels = [timeline.kernels[row] for row in np.unique(dispatches["kernel"]).tolist()]
    check_any_matches(selection.kernels, [spellings(kernel.mangled) for kernel in kernels])
    waves = timeline.waves
    for option, kind, wanted, there in (
        ("--dispatch", "dispatches", selection.dispatches, dispatches["number"]),
        ("--waves", "waves", selection.waves, waves["wave"]),
        ("--xcd", "XCDs", selection.xcds, waves["xcc"]),
    ):
        known = np.unique(there)
        for each in wanted:
            if not np.any(_is_in(known, [each])):
                raise _names_nothing(f"{option} {_text(each)}", kind, _runs(known.tolist()))


def _check_order(begin: int, end: int) -> None:
    if end < begin:
        raise UsageError(
            "`--to` is before `--from`",
            why=f"the one is {end}ns, the other {begin}ns after the recording's first wave began",
            fix="exchange them",
        )


def _nothing(timeline: Timeline, selection: Selection) -> UsageError:
    """Tell why a selection has no wave: its time, or all else together."""
    others = _selected(timeline, replace(selection, begin=None, end=None))
    if others.any():
        waves = timeline.waves[others]
        begin, end = (
            int(time) - timeline.zero_ns
            for time in (waves["begin_ns"].min(), waves["end_ns"].max())
        )
        return UsageError(
            "no wave is selected",
            why="none of the waves asked for ran in the time asked for: the first of them began at"
            f" {begin}ns, the last ended at {end}ns",
            fix="ask with `--from` and `--to` for a time in which one ran",
        )
    return UsageError(
        "no wave is selected",
        why="the recording has none of the kernels, dispatches and numbers asked for together",
        fix="ask for less at a time; `ktrace decode -f text` lists every wave",
    )


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


def _selected(timeline: Timeline, selection: Selection) -> Flags:
    waves, dispatches = timeline.waves, timeline.dispatches
    keep = np.ones(len(waves), np.bool_)
    if selection.kernels:
        is_wanted = [
            any(matches(pattern, spellings(kernel.mangled)) for pattern in selection.kernels)
            for kernel in timeline.kernels
        ]
        keep &= np.array(is_wanted, np.bool_)[dispatches["kernel"]][waves["dispatch"]]
    if selection.dispatches:
        keep &= _is_in(dispatches["number"], selection.dispatches)[waves["dispatch"]]
    if selection.launches:
        keep &= _is_between(dispatches["launch"], selection.launches)[waves["dispatch"]]
    for number, axis in enumerate(selection.blocks):
        block = waves["block"][:, number].astype(np.int64)
        keep &= (block >= axis.low) & (block < axis.high)
        keep &= (block - axis.low) % axis.stride == 0
    for name, wanted in (("wave", selection.waves), ("xcc", selection.xcds)):
        if wanted:
            keep &= _is_in(waves[name], wanted)
    if window := window_ns(timeline, selection):
        keep &= _overlaps(waves["begin_ns"], waves["end_ns"], window)
    if selection.limit:
        keep &= np.cumsum(keep) <= selection.limit
    return keep


def _is_in(numbers: Columns, ranges: Sequence[range]) -> Flags:
    inside = [(numbers >= each.start) & (numbers < each.stop) for each in ranges]
    return np.asarray(np.any(inside, axis=0), np.bool_)


def _is_between(numbers: Columns, ranges: Sequence[range]) -> Flags:
    """Tell which numbers are in any of many ranges, ascending and without overlap."""
    bounds = [bound for each in ranges for bound in (each.start, each.stop)]
    place = np.searchsorted(np.array(bounds, np.uint64), numbers, "right")
    return np.asarray(place % 2 == 1, np.bool_)


def _text(numbers: range) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def window_ns(timeline: Timeline, selection: Selection) -> tuple[int, int] | None:
    """Return the selected time on the host's clock; None if all is selected."""
    if not selection.has_window or not len(timeline.dispatches):
        return None
    zero, limits = timeline.zero_ns, np.iinfo(np.int64)
    begin = limits.min if selection.begin is None else zero + selection.begin
    end = limits.max if selection.end is None else zero + selection.end
    return begin, end


def _overlaps(begin: Ints, end: Ints, window: tuple[int, int]) -> Flags:
    """Tell what has a moment in common with the window, were it its first or last one."""
    return np.asarray((end >= window[0]) & (begin <= window[1]), np.bool_)


def _take(rows: Columns, keep: Flags) -> tuple[Columns, Ints]:
    """Return the kept rows, and the new place of every row, -1 for those left out."""
    place = np.where(keep, np.cumsum(keep) - 1, -1)
    return rows[keep], place
