"""A plan: what to do about each kernel, first things first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ktrace_cli.analysis.results import Summary
from ktrace_cli.counters.choosing import choose_kernels
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.kernel_names import is_same_kernel, shown_name
from ktrace_cli.kernel_code.occupancy import processor_of
from ktrace_cli.planning.evidence import Stalls
from ktrace_cli.planning.findings import Finding, KernelEvidence, KernelTime
from ktrace_cli.planning.inputs import Inputs
from ktrace_cli.planning.resources import Code
from ktrace_cli.planning.rules import find
from ktrace_cli.units import counted

_MOST_LISTED = 4


@dataclass(frozen=True)
class Recorded:
    """What a recording tells."""

    summary: Summary
    codes: Mapping[str, Code]
    """By mangled name."""


@dataclass(frozen=True)
class KernelPlan:
    """What was found about one kernel."""

    name: str
    evidence: KernelEvidence
    findings: tuple[Finding, ...]

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


def make_plan(
    inputs: Inputs, recorded: Sequence[Recorded], patterns: Sequence[str]
) -> list[KernelPlan]:
    """Let the rules look at every kernel of which something was given.

    Args:
        inputs: what was read.
        recorded: the recordings among them.
        patterns: of kernel names; none: all.

    Raises:
        KtraceError: nothing was given of any kernel.
        UsageError: a pattern matches nothing.
    """
    kernels: list[KernelEvidence] = []
    for stalls in inputs.stalls:
        _add(kernels, KernelEvidence(shown_name(stalls.kernel), stalls=stalls))
    for one in recorded:
        for kernel in one.summary.kernels:
            code = one.codes.get(kernel.mangled)
            name = shown_name(kernel.name)
            _add(kernels, KernelEvidence(name, summary=kernel, traced=code))
    for counters in inputs.counters:
        _add(kernels, KernelEvidence(shown_name(str(counters["name"])), counters=counters))
    for named in inputs.codes:
        _add(kernels, KernelEvidence(shown_name(named.kernel), code=named))
    kernels = _by_time(kernels, inputs.times)
    if not kernels:
        raise KtraceError(
            "there is nothing to plan with",
            why="none of the files tells of a kernel more than its time",
            fix="name a recording of a program that launches an annotated kernel",
        )
    chosen = choose_kernels([kernel.name for kernel in kernels], patterns)
    return [
        KernelPlan(kernel.name, kernel, tuple(find(kernel)))
        for kernel in kernels
        if kernel.name in chosen
    ]


def doubts(
    plans: Sequence[KernelPlan], times: Sequence[KernelTime], *, are_all: bool
) -> Iterator[str]:
    """Say what no rule looked at, and what was put together though targets differ.

    Args:
        plans: of all kernels, or of those that were chosen.
        times: what was given of kernels' times.
        are_all: whether no kernel was left out on purpose.
    """
    for plan in plans:
        targets = _targets(plan.evidence)
        if len(set(targets.values())) > 1:
            parts = ", ".join(f"{kind} of {target}" for kind, target in targets.items())
            yield f"{plan.name}: what is known of it is for several targets: {parts}"
    names = [
        time.name for time in times if not any(is_same_kernel(one.name, time.name) for one in plans)
    ]
    if are_all and names:
        more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
        shown = f"{', '.join(names[:_MOST_LISTED])}{more}"
        only = counted(len(names), "kernel")
        yield f"only the time of {only} is known, so no rule looks at what they do: {shown}"


def _targets(evidence: KernelEvidence) -> Mapping[str, str]:
    """Return what each kind of evidence says of its target, if it does."""
    told = {
        "a thread trace": evidence.stalls.target if evidence.stalls else "",
        "a recording": (evidence.summary.target or "") if evidence.summary else "",
        "counters": str((evidence.counters or {}).get("target") or ""),
    }
    return {kind: processor_of(target) for kind, target in told.items() if target}


def _add(kernels: list[KernelEvidence], new: KernelEvidence) -> None:
    """Join evidence on a kernel, unless there is some of its kind already."""
    for number, old in enumerate(kernels):
        parts = (
            (old.stalls, new.stalls),
            (old.summary, new.summary),
            (old.counters, new.counters),
            (old.code, new.code),
        )
        is_same = is_same_kernel(old.name, new.name) and _is_same_target(old, new)
        if is_same and all(a is None or b is None for a, b in parts):
            kernels[number] = replace(
                old,
                stalls=old.stalls or new.stalls,
                summary=old.summary or new.summary,
                counters=old.counters or new.counters,
                traced=old.traced or new.traced,
                code=old.code or new.code,
            )
            return
    kernels.append(new)


def _is_same_target(old: KernelEvidence, new: KernelEvidence) -> bool:
    """Tell whether a code object may be the one of other evidence: a program has several."""
    if new.code is None:
        return True
    known = {new.code.target}
    known |= {old.stalls.target} if old.stalls else set()
    known |= {old.traced.target} if old.traced else set()
    return len(known - {""}) <= 1


def _by_time(
    kernels: Sequence[KernelEvidence], times: Sequence[KernelTime]
) -> list[KernelEvidence]:
    """Give kernels their time; what takes most of it comes first."""
    timed = [
        replace(
            kernel,
            time=next((one for one in times if is_same_kernel(kernel.name, one.name)), None),
        )
        for kernel in kernels
    ]
    return sorted(timed, key=lambda one: -(one.time.share if one.time else 0.0))
