"""All that was measured, as the judges see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.status import ProcessStatus
from ktrace_cli.model import Timeline
from ktrace_cli.selftest import kernels
from ktrace_cli.selftest.answer import Answer
from ktrace_cli.selftest.settings import Settings
from ktrace_cli.selftest_file.result import Check, Figure, Source, State
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.recording import DispatchRecord, Recording

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """What both programs found, and the recording of the second."""

    settings: Settings
    facts: Facts
    """Of the device, as HIP tells them."""
    bare: Answer
    traced: Answer
    process: ProcessStatus | None
    """What the interposer counted."""
    recording: Recording | None
    unreadable: str = ""
    """Why there is no recording."""
    annotated: str = kernels.MARKERS
    """Whose kernels were traced."""
    polling: Measured | None = None
    """The same of kernels whose markers wait for their clock alone, if these were tried."""

    @property
    def target(self) -> str:
        """The device's target with its features: gfx942:sramecc+:xnack-."""
        return str(self.facts["target"])

    @property
    def is_software(self) -> bool:
        """Whether times are modelled: by what was asked for, and by what the recording says."""
        devices = self.recording.devices.values() if self.recording else ()
        return self.settings.is_software or any(device.is_software for device in devices)

    @property
    def tick_ns(self) -> float | None:
        """Length of a tick of the reference clock; None: HIP does not tell."""
        hz = self.facts["realtime_hz"]
        return 1e9 / hz if hz else None

    @cached_property
    def timeline(self) -> Timeline | str:
        """The recording decoded, or why it could not be."""
        if self.recording is None:
            return self.unreadable
        try:
            return build_timeline(self.recording)
        except KtraceError as problem:
            return f"{problem.what}: {problem.why}"

    def symbol(self, name: str) -> str:
        """Return the symbol of an annotated kernel."""
        return kernels.symbol(self.annotated, name)

    def event_ids(self, name: str) -> dict[str, int]:
        """Return the ids of the events of an annotated kernel, by name."""
        return kernels.event_ids(self.target, name, self.annotated)

    def dispatches(self, name: str) -> list[DispatchRecord]:
        """Return the recorded launches of an annotated kernel, in order."""
        if self.recording is None:
            return []
        symbol = self.symbol(name)
        keys = {key for key, kernel in self.recording.kernels.items() if kernel.name == symbol}
        return [dispatch for dispatch in self.recording.dispatches if dispatch.kernel in keys]

    def trouble(self, *, bare: str = "", traced: str = "") -> str:
        """Return why steps of the programs have no result; "" if they have."""
        troubles = [self.bare.error_of(bare)] if bare else []
        if traced:
            troubles += [self.traced.error_of(traced), self.unreadable]
        return next(filter(None, troubles), "")


class Judgement:
    """Collects what is wrong, and the figures, of one check."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._wrong: list[str] = []
        self._figures: list[Figure] = []

    @property
    def is_wrong(self) -> bool:
        """Whether anything was."""
        return bool(self._wrong)

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Let the check fail unless two things are the same."""
        if found != wanted:
            self._wrong.append(f"{what}: {found} instead of {wanted}")

    def fail(self, why: str) -> None:
        """Let the check fail."""
        self._wrong.append(why)

    def count(self, name: str, value: float, unit: str, meaning: str = "") -> None:
        """Add a figure that no clock had a part in."""
        self._figures.append(Figure(name, value, unit, Source.COUNTED, meaning))

    def device(self, name: str, value: float | str | None, unit: str, meaning: str = "") -> None:
        """Add a figure of a clock of the device."""
        self._figures.append(Figure(name, _rounded(value), unit, Source.DEVICE, meaning))

    def host(self, name: str, value: float | None, unit: str, meaning: str = "") -> None:
        """Add a figure of the host's clock."""
        self._figures.append(Figure(name, _rounded(value), unit, Source.HOST, meaning))

    def check(self, text: str) -> Check:
        """Return the check, which says `text` if nothing is wrong."""
        state = State.FAIL if self._wrong else State.PASS
        return Check(self._name, state, "; ".join(self._wrong) or text, tuple(self._figures))


def failed(name: str, why: str) -> Check:
    """Return a check that could not be tried because something before it went wrong."""
    return Check(name, State.FAIL, why)


def skipped(name: str, why: str) -> Check:
    """Return a check that this device or this machine gives no occasion for."""
    return Check(name, State.SKIPPED, why)


def _rounded(value: float | str | None) -> float | str | None:
    """Keep six significant digits: more is not known."""
    return value if value is None or isinstance(value, str) else float(f"{float(value):.6g}")


def median(values: Any) -> float:
    """Return the median of numbers."""
    return float(np.median(values))
