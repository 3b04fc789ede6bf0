"""What a comparison of two sides found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ktrace_cli.analysis.compare.profile import PhaseId, Shape


class Verdict(str, Enum):
    """What is to be done."""

    PASSED = "passed"
    REGRESSED = "regressed"
    NOT_COMPARABLE = "not comparable"


class Status(str, Enum):
    """What happened to a phase; the value says it in words."""

    REGRESSED = "regressed"
    TOO_FEW = "too few to tell"  # beyond its limit, but the sample is too small for any test
    SLOWER = "slower"  # no `--fail-on` is about it
    FASTER = "faster"
    UNPROVEN = "not significant"
    WITHIN_NOISE = "within the noise"
    BELOW_FLOOR = "below the floor"
    SAME = "same"


class Difference(str, Enum):
    """Why two sides cannot be compared."""

    TARGET = "target"
    MODELLED = "modelled"
    UNIT = "unit"
    SHAPE = "shape"
    EVENTS = "events"
    KERNELS = "kernels"
    LOSS = "loss"
    FEW = "few"
    NOTHING = "nothing"


ALLOWABLE = (Difference.TARGET, Difference.SHAPE, Difference.EVENTS, Difference.KERNELS)


def named(name: str) -> str:
    """Return a name in backticks, on one line, with no others in it: texts are split at them."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return f"`{shown.replace('`', chr(39))}`"


@dataclass(frozen=True)
class Reason:
    """A difference between the sides that makes a verdict wrong or impossible."""

    kind: Difference
    text: str
    fix: str


@dataclass(frozen=True)
class PhaseSide:
    """A phase on one side. Times in the comparison's unit."""

    count: int
    count_per_wave: float
    mean_ns: float
    """Of one occurrence, as the next two."""
    median_ns: float
    """Of several runs that of their medians."""
    self_mean_ns: float
    wave_ns: float
    """The middle of the units' time per wave: what is compared."""


@dataclass(frozen=True)
class Row:
    """A phase on both sides."""

    id: PhaseId
    status: Status
    base: PhaseSide
    new: PhaseSide
    change_ns: float
    """Of `wave_ns`."""
    change: float | None
    """As a part of the base's time; None if that is 0."""
    limit: str
    """Of the rule that is exceeded, else of the first one that is about it."""
    p: float | None
    """Adjusted for the number of tests; None if nothing was tested."""
    noise: float | None
    """What runs differ by, as a part of the time; None if there is one run on each side."""
    floor_ns: float
    """Changes per wave up to this are shorter than clocks tell."""


@dataclass(frozen=True)
class Renamed:
    """A phase or kernel that may have got another name. Nothing is made of it."""

    base: str
    new: str
    why: str


@dataclass(frozen=True)
class KernelComparison:
    """One kernel in launches of one shape."""

    name: str
    shape: Shape | None
    """None: all shapes together."""
    has_other_shapes: bool
    """There is more than one of its kernel."""
    level: str
    """launch, workgroup or wave: what was compared."""
    base_units: int
    new_units: int
    base_sampled: int
    new_sampled: int
    base_launches: int
    new_launches: int
    rows: tuple[Row, ...]
    """Worst first."""
    vanished: tuple[PhaseId, ...]
    """In the base's code only."""
    added: tuple[PhaseId, ...]
    """In the new code only."""
    renamed: tuple[Renamed, ...]
    stopped: tuple[PhaseId, ...]
    """In the code of both, ran on the base's side only."""
    started: tuple[PhaseId, ...]
    """The same of the new side."""


@dataclass(frozen=True)
class Side:
    """What was compared."""

    runs: tuple[str, ...]
    """Names of files."""
    losses: dict[str, int]
    is_modelled: bool


@dataclass(frozen=True)
class Comparison:
    """The verdict, and all that it rests on."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    """Why there is no verdict; () if there is one."""
    allowed: tuple[Reason, ...]
    """Differences that the user has allowed."""
    base: Side
    new: Side
    rules: tuple[str, ...]
    """What counts as a regression."""
    unit: str
    kernels: tuple[KernelComparison, ...]
    """Worst first; () if nothing can be compared."""
    vanished_kernels: tuple[str, ...]
    added_kernels: tuple[str, ...]
    renamed_kernels: tuple[Renamed, ...]

    def rows(self, *statuses: Status) -> list[tuple[KernelComparison, Row]]:
        """Return the phases of some statuses, or all."""
        return [
            (kernel, row)
            for kernel in self.kernels
            for row in kernel.rows
            if not statuses or row.status in statuses
        ]
