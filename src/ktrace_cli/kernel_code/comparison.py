"""Compares two builds of the same kernels: traced and untraced, or before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ktrace_cli.code_object.names import without_sink
from ktrace_cli.kernel_code.inspected import InspectedCodeObject, InspectedKernel
from ktrace_cli.kernel_code.inspection import Mix, PhaseMix
from ktrace_cli.kernel_code.instructions import InstructionClass
from ktrace_cli.kernel_code.occupancy import processor_of

RESOURCES = (
    "vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "lds_bytes", "scratch_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A number before and after."""

    before: int
    after: int

    @property
    def difference(self) -> int:
        """Positive where there is more afterwards."""
        return self.after - self.before


@dataclass(frozen=True)
class PhaseChange:
    """One phase of two builds; a phase that a build lacks has nothing there."""

    label: str
    instructions: Change
    waits: Change
    by_class: dict[InstructionClass, Change]
    """Of the classes that either has."""


@dataclass(frozen=True)
class KernelChange:
    """One kernel of two builds."""

    before: InspectedKernel
    after: InspectedKernel
    resources: dict[str, Change]
    """RESOURCES in their order, and code_bytes."""
    waves_per_simd: Change | None
    """None where the rules of the target are not known."""
    total: PhaseChange | None
    """Of all but markers' instructions; None where a side was not disassembled."""
    phases: tuple[PhaseChange, ...]
    """Empty unless both sides are annotated."""

    @property
    def has_lower_occupancy(self) -> bool:
        """Whether fewer waves fit on a SIMD afterwards."""
        return self.waves_per_simd is not None and self.waves_per_simd.difference < 0


@dataclass(frozen=True)
class Comparison:
    """Two builds."""

    kernels: tuple[KernelChange, ...]
    """Those that both have for the same processor, in the order of the first."""
    only_before: tuple[InspectedKernel, ...]
    only_after: tuple[InspectedKernel, ...]


def compare(
    before: Sequence[InspectedCodeObject], after: Sequence[InspectedCodeObject]
) -> Comparison:
    """Compare the kernels of two files by name, whether traced or not, and processor."""
    old, new = _by_key(before), _by_key(after)
    return Comparison(
        kernels=tuple(_compare_kernels(old[key], new[key]) for key in old if key in new),
        only_before=tuple(kernel for key, kernel in old.items() if key not in new),
        only_after=tuple(kernel for key, kernel in new.items() if key not in old),
    )


def _by_key(found: Sequence[InspectedCodeObject]) -> dict[tuple[str, str], InspectedKernel]:
    kernels: dict[tuple[str, str], InspectedKernel] = {}
    for one in found:
        for kernel in one.kernels:
            key = without_sink(kernel.kernel.name), processor_of(kernel.target)
            kernels.setdefault(key, kernel)
    return kernels


def _compare_kernels(before: InspectedKernel, after: InspectedKernel) -> KernelChange:
    old, new = before.kernel, after.kernel
    resources = {
        name: Change(getattr(old.resources, name), getattr(new.resources, name))
        for name in RESOURCES
    }
    resources["code_bytes"] = Change(len(old.code or ()), len(new.code or ()))
    waves = None
    if before.occupancy and after.occupancy:
        waves = Change(before.occupancy.waves_per_simd, after.occupancy.waves_per_simd)
    total = None
    phases: tuple[PhaseChange, ...] = ()
    if before.code and after.code:
        total = _change("", before.code.mix, after.code.mix)
        if old.is_annotated and new.is_annotated:
            phases = _phase_changes(before.code.phases, after.code.phases)
    return KernelChange(before, after, resources, waves, total, phases)


def _phase_changes(
    before: Sequence[PhaseMix], after: Sequence[PhaseMix]
) -> tuple[PhaseChange, ...]:
    old = {phase.label: phase.mix for phase in before}
    new = {phase.label: phase.mix for phase in after}
    labels = dict.fromkeys((*old, *new))
    return tuple(_change(label, old.get(label, {}), new.get(label, {})) for label in labels)


def _change(label: str, before: Mix, after: Mix) -> PhaseChange:
    by_class = {
        kind: Change(before.get(kind, 0), after.get(kind, 0))
        for kind in InstructionClass
        if kind in before or kind in after
    }
    return PhaseChange(
        label=label,
        instructions=Change(sum(before.values()), sum(after.values())),
        waits=Change(_waits(before), _waits(after)),
        by_class=by_class,
    )


def _waits(mix: Mix) -> int:
    return sum(number for kind, number in mix.items() if kind.is_wait)
