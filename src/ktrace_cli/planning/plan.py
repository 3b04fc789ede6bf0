"""A plan: what to do about each kernel, first things first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ktrace_cli.analysis.results import Summary
from ktrace_cli.counters.choosing import choose_kernels
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.kernel_names import shown_name
from ktrace_cli.kernel_code.inspected import Launch
from ktrace_cli.planning.evidence import Stalls
from ktrace_cli.planning.findings import Finding, KernelEvidence, KernelTime
from ktrace_cli.planning.inputs import Inputs
from ktrace_cli.planning.joining import add_times, join, target_of, tell_targets
from ktrace_cli.planning.resources import Code, Launched, as_launched
from ktrace_cli.planning.rules import find


@dataclass(frozen=True)
class Recorded:
    """What a recording tells."""

    summary: Summary
    codes: Mapping[str, Code]
    """By mangled name."""
    launches: Mapping[str, Launch]
    """By mangled name."""


@dataclass(frozen=True)
class KernelPlan:
    """What was found about one kernel."""

    name: str
    evidence: KernelEvidence
    findings: tuple[Finding, ...]

    @property
    def target(self) -> str:
        """What all of its evidence is for; "" if nothing tells for sure."""
        return target_of(self.evidence)

    @property
    def stalls(self) -> Stalls | None:
        """Its thread trace."""
        return self.evidence.stalls

    @property
    def lacks(self) -> tuple[str, ...]:
        """What was not given of it, and would let more rules look."""
        known = (
            (self.evidence.stalls, "a thread trace (`ktrace att`): rules on instructions"),
            (self.evidence.summary, "a recording (`ktrace run`): rules on tails and imbalance"),
            (self.evidence.counters, "counters (`ktrace pmc`): rules on memory"),
        )
        return tuple(words for given, words in known if given is None)


@dataclass(frozen=True)
class Plan:
    """Everything that `ktrace plan` says."""

    kernels: tuple[KernelPlan, ...]
    measured_only: tuple[KernelTime, ...]
    """Kernels of which nothing is known but their time."""
    faults: tuple[str, ...]
    """What is not put together, or assumed: sentences."""


def make_plan(inputs: Inputs, recorded: Sequence[Recorded], patterns: Sequence[str]) -> Plan:
    """Let the rules look at every kernel of which something was given.

    Args:
        inputs: what was read.
        recorded: the recordings among them.
        patterns: of kernel names; none: all.

    Raises:
        KtraceError: nothing was given of any kernel.
        UsageError: a pattern matches nothing.
    """
    kernels, left = add_times(_put_together(inputs, recorded), inputs.times)
    if not kernels:
        raise KtraceError(
            "there is nothing to plan with",
            why="none of the files tells of a kernel more than its time",
            fix="name a recording of a program that launches an annotated kernel",
        )
    names = [*(kernel.name for kernel in kernels), *(time.name for time in left)]
    chosen = choose_kernels(names, patterns)
    return Plan(
        tuple(
            KernelPlan(kernel.name, kernel, tuple(find(kernel)))
            for kernel in kernels
            if kernel.name in chosen
        ),
        tuple(time for time in left if time.name in chosen),
        tuple(tell_targets([kernel for kernel in kernels if kernel.name in chosen])),
    )


def _put_together(inputs: Inputs, recorded: Sequence[Recorded]) -> list[KernelEvidence]:
    kernels: list[KernelEvidence] = []
    launched: list[Launched] = []
    for stalls in inputs.stalls:
        join(kernels, KernelEvidence(shown_name(stalls.kernel), stalls=stalls))
    for one in recorded:
        for kernel in one.summary.kernels:
            code = one.codes.get(kernel.mangled)
            join(kernels, KernelEvidence(shown_name(kernel.name), summary=kernel, traced=code))
            if launch := one.launches.get(kernel.mangled):
                launched.append(Launched(kernel.mangled, kernel.target, launch))
    for counters in inputs.counters:
        join(kernels, KernelEvidence(shown_name(str(counters["name"])), counters=counters))
    for named in inputs.codes:
        code = as_launched(named, launched)
        join(kernels, KernelEvidence(shown_name(named.kernel), code=code))
    return kernels
