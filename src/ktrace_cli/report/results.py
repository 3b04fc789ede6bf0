"""What a report knows of runs: plain data for its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.analysis.compare.baseline import Noise
from ktrace_cli.analysis.compare.compare import Request
from ktrace_cli.analysis.compare.profile import RunProfile
from ktrace_cli.analysis.compare.results import Comparison, Verdict
from ktrace_cli.analysis.results import Summary
from ktrace_cli.errors import KtraceError
from ktrace_cli.report.pages import Page, RunPlan
from ktrace_cli.report.traces import Imported
from ktrace_cli.report.tracing_cost import Selftest


@dataclass(frozen=True)
class Base:
    """What runs are compared with."""

    names: tuple[str, ...]
    """Files that the user named."""
    runs: Sequence[RunProfile]
    noise: Sequence[Noise]
    """How much its runs differ among themselves, most first; none of a single run."""
    request: Request


@dataclass(frozen=True)
class Embedded:
    """The interactive timeline of a recording."""

    file: str | None
    """In the recording's folder; None: there is none."""
    note: str
    """What of the recording it lacks, or why there is none; "" if it has all."""


@dataclass(frozen=True)
class Recorded:
    """One recording that could be read."""

    path: Path
    page: Page
    summary: Summary
    losses: tuple[str, ...]
    """A sentence for everything that the whole recording lacks."""
    notes: tuple[str, ...]
    """Such as what of it was selected."""
    span_ns: int
    """From the begin of the first wave to the end of the last one."""
    timeline: Embedded
    misfit: str
    """Why the selftest tells nothing of it; "" if it does, or there is none."""

    @property
    def dispatches(self) -> int:
        """Of all kernels."""
        return sum(kernel.dispatches for kernel in self.summary.kernels)

    @property
    def kernel_names(self) -> list[str]:
        """Of all kernels, the one that took most time first."""
        return [kernel.name for kernel in self.summary.kernels]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.losses


@dataclass(frozen=True)
class Unreadable:
    """One recording that could not be read."""

    path: Path
    page: Page
    problem: KtraceError


@dataclass(frozen=True)
class Outcome:
    """What came of one run that the user named."""

    plan: RunPlan
    recordings: tuple[Recorded | Imported | Unreadable, ...]
    comparison: Comparison | None
    problem: KtraceError | None
    """Why there is no page, or no comparison although one was asked for."""

    @property
    def page(self) -> Page:
        """Of the run."""
        return self.plan.page

    @property
    def recorded(self) -> list[Recorded]:
        """Recordings that could be read."""
        return [one for one in self.recordings if isinstance(one, Recorded)]

    @property
    def readable(self) -> list[Recorded | Imported]:
        """All that has pages with numbers."""
        return [one for one in self.recordings if not isinstance(one, Unreadable)]

    @property
    def is_trace(self) -> bool:
        """Whether it is another tool's: there are no phases to compare."""
        return bool(self.readable) and not self.recorded

    @property
    def verdict(self) -> Verdict | None:
        """None: it was not compared."""
        return self.comparison.verdict if self.comparison else None


@dataclass(frozen=True)
class Frame:
    """What all pages have in common."""

    title: str
    base: Base | None
    """None: runs are not compared."""
    selftest: Selftest | None
    """None: nobody has told what tracing costs."""
    top: int
    """Most rows of a table, and kernels; 0: all."""


@dataclass(frozen=True)
class Report:
    """All runs."""

    frame: Frame
    outcomes: tuple[Outcome, ...]

    def count(self, verdict: Verdict) -> int:
        """Return how many runs have a verdict."""
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    @property
    def problems(self) -> list[KtraceError]:
        """Of all runs."""
        return [outcome.problem for outcome in self.outcomes if outcome.problem]
