"""Evidence of one kernel is put together, if it is for the same target; what is not is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ktrace_cli.importers.kernel_names import is_same_kernel
from ktrace_cli.kernel_code.occupancy import processor_of
from ktrace_cli.planning.findings import KernelEvidence, KernelTime
from ktrace_cli.wording import listed


def targets_of(evidence: KernelEvidence) -> Mapping[str, str]:
    """Return what each kind of evidence says of its target; "" where it is not sure."""
    told = {}
    if evidence.stalls:
        told["a thread trace"] = evidence.stalls.target if evidence.stalls.is_target_sure else ""
    if evidence.summary:
        told["a recording"] = evidence.summary.target or ""
    if counters := evidence.counters:
        is_sure = not counters.get("target_is_guessed")
        told["counters"] = str(counters.get("target") or "") if is_sure else ""
    if evidence.code:
        told["a code object"] = evidence.code.target
    return {kind: processor_of(target) for kind, target in told.items()}


def target_of(evidence: KernelEvidence) -> str:
    """Return the target of a kernel's evidence; "" if nothing is sure."""
    return next(filter(None, targets_of(evidence).values()), "")


def join(kernels: list[KernelEvidence], new: KernelEvidence) -> None:
    """Add evidence to that on the same kernel, unless there is some of its kind already."""
    for number, old in enumerate(kernels):
        if is_same_kernel(old.name, new.name) and _fit(old, new):
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


def _fit(old: KernelEvidence, new: KernelEvidence) -> bool:
    before, after = targets_of(old), targets_of(new)
    is_known = {*before.values(), *after.values()} - {""}
    return not before.keys() & after.keys() and len(is_known) <= 1


def tell_targets(kernels: Sequence[KernelEvidence]) -> Iterator[str]:
    """Say what was not put together because of its target, and what was without a sure one."""
    told: list[KernelEvidence] = []
    for kernel in kernels:
        if any(is_same_kernel(one.name, kernel.name) for one in told):
            continue
        told.append(kernel)
        same = [one for one in kernels if is_same_kernel(kernel.name, one.name)]
        if len({target_of(one) for one in same} - {""}) > 1:
            parts = (f"{listed(targets_of(one))} of {target_of(one) or 'no target'}" for one in same)
            yield f"{kernel.name}: not put together, as targets differ: {'; '.join(parts)}"
        for one in same:
            unsure = [kind for kind, target in targets_of(one).items() if not target]
            if unsure and target_of(one):
                verb = "does" if unsure == ["a thread trace"] else "do"
                yield (
                    f"{one.name}: {listed(unsure)} {verb} not tell the target for sure: taken for"
                    f" {target_of(one)}"
                )


def add_times(
    kernels: Sequence[KernelEvidence], times: Sequence[KernelTime]
) -> tuple[list[KernelEvidence], list[KernelTime]]:
    """Give kernels their times; what takes most comes first. Returns also the times left over."""
    left = list(times)
    timed = []
    for kernel in kernels:
        time = next((one for one in times if _is_time_of(kernel, one)), None)
        left = [one for one in left if one is not time]
        timed.append(replace(kernel, time=time))
    return sorted(timed, key=lambda one: -(one.time.share if one.time else 0.0)), left


def _is_time_of(kernel: KernelEvidence, time: KernelTime) -> bool:
    targets = {target_of(kernel), processor_of(time.target)} - {""}
    return is_same_kernel(kernel.name, time.name) and len(targets) <= 1
