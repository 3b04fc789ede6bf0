"""What hotspots of a bundle are: plain data between the analysis and what is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ktrace_cli.att.dependencies import Padding
from ktrace_cli.att.residency import Needs, Observed
from ktrace_cli.att.source_lines import Frame
from ktrace_cli.att.target import Target
from ktrace_cli.kernel_code.instructions import InstructionClass
from ktrace_cli.kernel_code.occupancy import Occupancy


@dataclass(frozen=True)
class Sums:
    """Of some instructions, over all traced waves; cycles."""

    hit: int = 0
    latency: int = 0
    stall: int = 0
    idle: int = 0


@dataclass(frozen=True)
class ClassRow:
    """All instructions of a class."""

    kind: InstructionClass
    sums: Sums


@dataclass(frozen=True)
class InstructionRow:
    """One instruction."""

    row: int
    text: str
    address: int
    kind: InstructionClass
    chain: tuple[Frame, ...]
    """Innermost first."""
    phase: str
    sums: Sums


@dataclass(frozen=True)
class SourceRow:
    """One line of the source; of inlined code the innermost."""

    frame: Frame
    sums: Sums
    kind: InstructionClass
    """The class with the most stall."""
    instructions: int
    artefact: str
    """Why it does not mean this line; "" if it does."""
    inlined_into: tuple[Frame, ...]
    """The chain that holds most of it, without the line itself."""
    worst: tuple[InstructionRow, ...]
    snippet: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Coverage:
    """How much of some time the matrix unit of a SIMD was busy."""

    cycles: int
    busy: float
    issued: int

    @property
    def share(self) -> float:
        """A part of 1."""
        return self.busy / self.cycles if self.cycles else 0.0


@dataclass(frozen=True)
class PhaseRow:
    """A phase, by the names that are open."""

    name: str
    """`mma > k_tile`; "" outside of all."""
    is_marker: bool
    """What the markers themselves cost."""
    sums: Sums
    by_class: tuple[ClassRow, ...]
    matrix: Coverage | None


@dataclass(frozen=True)
class WaitRow:
    """What waits of one class waited for."""

    kind: InstructionClass
    on: str
    count: int
    stall: int


@dataclass(frozen=True)
class AwaitedRow:
    """An instruction that waits waited for."""

    instruction: InstructionRow
    count: int
    stall: int


@dataclass(frozen=True)
class SimdRow:
    """What was traced on one SIMD."""

    place: tuple[int, int, int]
    """Shader engine, CU, SIMD."""
    waves: int
    instructions: int
    cycles: int
    """Of its waves, added up."""
    stall: int
    matrix: Coverage | None
    """Between the begin of its first and the end of its last traced wave."""


@dataclass(frozen=True)
class WaveSpread:
    """How long traced waves took."""

    count: int
    least: int
    mean: float
    most: int
    slowest: str


@dataclass(frozen=True)
class SourceCoverage:
    """How much has a source line; parts of 1."""

    rows: float
    executed: float
    stall: float
    stall_set_aside: float
    """Of the stall: on lines that do not mean what they say."""


@dataclass(frozen=True)
class OtherKernel:
    """A kernel of the same bundle."""

    name: str
    latency: int


@dataclass(frozen=True)
class Hotspots:
    """Everything that is known of one kernel of a bundle."""

    folder: Path
    kernel: str
    mangled: str
    target: Target
    totals: Sums
    executed: int
    """Instructions that some wave executed."""
    instructions: int
    by_class: tuple[ClassRow, ...]
    by_source: tuple[SourceRow, ...]
    by_instruction: tuple[InstructionRow, ...]
    listing: tuple[InstructionRow, ...]
    """All instructions, in the order of code.json."""
    by_phase: tuple[PhaseRow, ...]
    no_phases: str
    """Why there are none."""
    waits: tuple[WaitRow, ...]
    awaited: tuple[AwaitedRow, ...]
    padding: tuple[Padding, ...]
    needs: Needs
    occupancy: Occupancy | None
    observed: Observed | None
    waves: WaveSpread | None
    simds: tuple[SimdRow, ...]
    source_coverage: SourceCoverage
    quality: tuple[str, ...]
    """Checks that failed, in words."""
    checks: int
    """How many there were."""
    others: tuple[OtherKernel, ...]
    notes: tuple[str, ...] = ()
    faults: dict[str, int] = field(default_factory=dict)
    fault_sentences: tuple[str, ...] = ()
