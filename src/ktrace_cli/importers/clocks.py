"""Which clock each input counts, and what to add so that all count one: what is assumed is said.

The axis is CLOCK_BOOTTIME of the machine that booted first. Recordings of one boot share it as it
is. Those of others are tied by the calendar, as well as their hosts agree on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.host_trace import Clock
from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.units import format_duration

Span = tuple[int, int]

# A calendar that was set while the machine was up moves by this much at most; a new boot by more.
_SAME_HOST_NS = 5_000_000_000
# Two machines do not boot at one moment; containers of one machine do.
_SAME_BOOT_NS = 10_000_000
_SHIFT = "or say what to add to its times with `--shift FILE=NS`"


@dataclass
class Boot:
    """One machine from one boot to the next, or the clock of a software device."""

    hosts: set[str]
    at_ns: int | None
    """When it booted, of the calendar; None: its clock is tied to no calendar."""
    is_modelled: bool
    spans: list[Span] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)

    def overlaps(self, span: Span | None) -> bool:
        """Tell whether something recorded in it overlaps with this time of its clock."""
        if span is None:
            return False
        return any(first <= span[1] and span[0] <= last for first, last in self.spans)


@dataclass(frozen=True)
class Placement:
    """Where an input is on the common axis."""

    shift_ns: int
    machine: int
    """Processes of one machine are one process if their ids are equal."""


@dataclass(frozen=True)
class Alignment:
    """All inputs on one axis."""

    recordings: tuple[Placement, ...]
    traces: tuple[Placement, ...]
    axis: str
    """In words."""
    notes: tuple[str, ...]
    """How inputs are tied together."""
    assumptions: tuple[str, ...]
    """What is taken for granted, and may be wrong."""


@dataclass
class _Aligning:
    boots: list[Boot] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    """Of traces, where there is no recording."""
    notes: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)


def align(
    recordings: Sequence[RecordingInput],
    traces: Sequence[TraceInput],
    shifts: Mapping[Path, int],
) -> Alignment:
    """Put all inputs on one axis.

    Args:
        recordings: in the order of the command line.
        traces: in the order of the command line.
        shifts: nanoseconds that the user wants added, by what they named.

    Raises:
        KtraceError: nothing ties the clock of one to that of the others.
    """
    state = _Aligning()
    _refuse_untied(recordings, traces, shifts)
    tied = {r.path: _boot_of(state, r) for r in recordings if not r.timeline.own_clock}
    numbers = [tied[r.path] if r.path in tied else _any_boot(state) for r in recordings]
    _refuse_models_beside_clocks(state, recordings)
    if sum(boot.is_modelled for boot in state.boots) and len(recordings) > 1:
        state.assumptions.append(
            "times of software devices are modelled and have no calendar:"
            f" the {len(recordings)} recordings are shown as if they had begun at one moment"
        )
    first = min((boot.at_ns for boot in state.boots if boot.at_ns is not None), default=None)
    _note_boots(state, first)
    placed = [
        Placement(_shift(state.boots[number], first) + shifts.get(recording.given, 0), number)
        for number, recording in zip(numbers, recordings, strict=True)
    ]
    placements = [
        _place_trace(state, traces, at, shifts.get(trace.given), first)
        for at, trace in enumerate(traces)
    ]
    return Alignment(
        tuple(placed),
        tuple(placements),
        _axis(state, recordings, traces),
        tuple(state.notes),
        tuple(state.assumptions),
    )


def _refuse_untied(
    recordings: Sequence[RecordingInput],
    traces: Sequence[TraceInput],
    shifts: Mapping[Path, int],
) -> None:
    """Refuse what counts a clock of its own beside anything else, unless the user ties it."""
    for recording in recordings:
        is_alone = len(recordings) + len(traces) == 1
        if recording.timeline.own_clock and not is_alone and recording.given not in shifts:
            raise KtraceError(
                f"cannot tell when {recording.path} was recorded",
                why=f"its times count {recording.timeline.own_clock}, which nothing ties to"
                " another one",
                fix="say what to add to its times with `--shift FILE=NS`",
            )


def _any_boot(state: _Aligning) -> int:
    """Return the boot of what counts a clock of its own, which the user ties to the others."""
    if not state.boots:
        state.boots.append(Boot(set(), None, is_modelled=False))
    return 0


def _shift(boot: Boot, first: int | None) -> int:
    return boot.at_ns - first if boot.at_ns is not None and first is not None else 0


def _boot_of(state: _Aligning, recording: RecordingInput) -> int:
    """Return the number of the boot that a recording is from."""
    number = _known_boot(state, recording)
    if number is None:
        number = len(state.boots)
        state.boots.append(Boot(set(), recording.boot_ns, recording.is_modelled))
    boot = state.boots[number]
    boot.hosts |= {recording.host} - {""}
    boot.pids |= {recording.pid} - {0}
    if (span := recording.span) is not None:
        boot.spans.append(span)
    return number


def _known_boot(state: _Aligning, recording: RecordingInput) -> int | None:
    for number, boot in enumerate(state.boots):
        if boot.is_modelled or recording.is_modelled:
            if boot.is_modelled and recording.is_modelled:
                return number
            continue
        if boot.at_ns is None or recording.boot_ns is None:
            state.assumptions.append(
                f"{recording.path} or one before it does not tell its clocks: taken as recorded on"
                " one machine since one boot"
            )
            return number
        difference = abs(boot.at_ns - recording.boot_ns)
        if recording.host in boot.hosts and difference <= _SAME_HOST_NS:
            return number
        if recording.host not in boot.hosts and difference <= _SAME_BOOT_NS:
            state.assumptions.append(
                f"{recording.path}: host {recording.host} booted within"
                f" {format_duration(difference)} of {_names(boot)}: taken as one machine"
            )
            return number
    return None


def _names(boot: Boot) -> str:
    return ", ".join(sorted(boot.hosts)) or "an unnamed host"


def _refuse_models_beside_clocks(state: _Aligning, recordings: Sequence[RecordingInput]) -> None:
    modelled = next((r for r in recordings if r.is_modelled), None)
    measured = next((r for r in recordings if not r.is_modelled), None)
    if modelled is not None and measured is not None:
        raise KtraceError(
            f"cannot merge {modelled.path} with {measured.path}",
            why="times of the first are a software device's and have no calendar; those of the"
            " second are a real machine's",
            fix="merge recordings of one kind",
        )


def _note_boots(state: _Aligning, first: int | None) -> None:
    calendars = [boot for boot in state.boots if boot.at_ns is not None]
    if len(calendars) < 2 or first is None:
        return
    for boot in calendars:
        if boot.at_ns is not None and boot.at_ns != first:
            later = format_duration(boot.at_ns - first)
            state.notes.append(
                f"{_names(boot)} booted {later} after the first machine: tied to it by the"
                " calendar, as well as their clocks agree"
            )


def _axis(
    state: _Aligning, recordings: Sequence[RecordingInput], traces: Sequence[TraceInput]
) -> str:
    if recordings and all(recording.timeline.own_clock for recording in recordings):
        return recordings[0].timeline.own_clock
    if any(boot.is_modelled for boot in state.boots):
        return "a software device's modelled time"
    if state.boots:
        calendars = [boot for boot in state.boots if boot.at_ns is not None]
        first = min(calendars, key=lambda boot: boot.at_ns or 0) if calendars else state.boots[0]
        return f"CLOCK_BOOTTIME of {_names(first)}"
    return traces[0].trace.clock.value if traces else Clock.BOOTTIME.value


def _place_trace(
    state: _Aligning,
    traces: Sequence[TraceInput],
    at: int,
    shift_ns: int | None,
    first: int | None,
) -> Placement:
    """Place traces[at]; those before it have been."""
    own = traces[at]
    if shift_ns is not None:
        state.assumptions.append(f"{own.trace.path}: {shift_ns:,} ns are added, as asked for")
        return Placement(shift_ns, 0)
    if not state.boots:
        return _place_among_traces(state, traces[0], own)
    if own.trace.clock is Clock.REALTIME:
        return _place_by_calendar(state, own, first)
    if own.trace.clock is Clock.UNKNOWN:
        raise KtraceError(
            f"cannot tell when {own.trace.path} was recorded",
            why=f"its times count from a moment that it does not name ({own.trace.why_unknown})",
            fix=f"record it with a newer PyTorch, {_SHIFT}",
        )
    number = _boot_of_trace(state, own)
    return Placement(_shift(state.boots[number], first), number)


def _place_among_traces(state: _Aligning, reference: TraceInput, own: TraceInput) -> Placement:
    """Place a trace where there is no recording."""
    clocks = (reference.trace.clock, own.trace.clock)
    differs = reference.host and own.host and reference.host != own.host
    by_calendar = clocks == (Clock.REALTIME, Clock.REALTIME)
    if own.host not in state.hosts:
        state.hosts.append(own.host)
    if own is reference or by_calendar:
        return Placement(0, state.hosts.index(own.host))
    if clocks[0] is not clocks[1] or differs:
        raise KtraceError(
            f"cannot tie {own.trace.path} to {reference.trace.path}",
            why=f"the first counts {clocks[1].value} of {own.host or 'a host'},"
            f" the second {clocks[0].value} of {reference.host or 'a host'}",
            fix=f"add ktrace's recording of the same run, which tells all clocks, {_SHIFT}",
        )
    if clocks[0] is Clock.UNKNOWN or not (reference.host and own.host):
        state.assumptions.append(
            f"{own.trace.path} and {reference.trace.path} do not both name their host: taken as"
            " counting one clock"
        )
    return Placement(0, state.hosts.index(reference.host))


def _place_by_calendar(state: _Aligning, own: TraceInput, first: int | None) -> Placement:
    if first is None:
        what = "a software device's" if state.boots[0].is_modelled else "not told"
        raise KtraceError(
            f"cannot tie {own.trace.path} to the recordings",
            why=f"it counts {own.trace.clock.value}, and the recordings' clock is {what}",
            fix=f"record with a GPU, {_SHIFT}",
        )
    pids = {process.pid for process in own.trace.processes}
    likely = [n for n, boot in enumerate(state.boots) if own.host in boot.hosts]
    likely += [n for n, boot in enumerate(state.boots) if boot.pids & pids and not own.host]
    likely += [n for n, boot in enumerate(state.boots) if boot.at_ns == first]
    return Placement(-first, likely[0])


def _boot_of_trace(state: _Aligning, own: TraceInput) -> int:
    """Return the boot whose CLOCK_BOOTTIME a trace counts."""
    path = own.trace.path
    named = [n for n, boot in enumerate(state.boots) if own.likely_host in boot.hosts]
    overlapping = [n for n, boot in enumerate(state.boots) if boot.overlaps(own.span)]
    if len(overlapping) > 1 and not own.host:
        pids = {process.pid for process in own.trace.processes}
        overlapping = [n for n in overlapping if state.boots[n].pids & pids] or overlapping
    both = [number for number in named if number in overlapping]
    if both or named:
        return (both or named)[0]
    if len(overlapping) == 1:
        boot = state.boots[overlapping[0]]
        if boot.is_modelled:
            state.assumptions.append(
                f"{path} is taken as counting the software device's modelled time, as its times"
                " overlap with the recording's"
            )
        elif len(state.boots) > 1 or own.host:
            state.assumptions.append(
                f"{path} is taken as recorded on {_names(boot)}: its times overlap with that one's"
            )
        return overlapping[0]
    if len(state.boots) == 1 and not own.host and not state.boots[0].is_modelled:
        state.assumptions.append(
            f"{path} does not overlap in time with any recording: taken as recorded since the"
            f" same boot of {_names(state.boots[0])}"
        )
        return 0
    known = "; ".join(_names(boot) for boot in state.boots)
    raise KtraceError(
        f"cannot tie {path} to the recordings",
        why=f"it counts CLOCK_BOOTTIME of {own.host or 'a host that it does not name'}; the"
        f" recordings are of {'a software device' if state.boots[0].is_modelled else known},"
        f" and {'more than one overlaps' if overlapping else 'none overlaps'} with it in time",
        fix=f"add ktrace's recording of the same run, {_SHIFT}",
    )
