"""The one table of rules: what each looks at, what it means, what helps, and who says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ktrace_cli.planning import other_rules, stall_rules
from ktrace_cli.planning.evidence import Stalls
from ktrace_cli.planning.findings import Finding, KernelEvidence, Match


@dataclass(frozen=True)
class Rule:
    """One thing that may be wrong with a kernel."""

    key: str
    title: str
    look: Callable[[KernelEvidence], Iterator[Match]]
    cause: str
    fix: str
    source: str


def _on_stalls(look: Callable[[Stalls], Iterator[Match]]) -> Callable[..., Iterator[Match]]:
    """Let a rule on a thread trace look at a kernel that has one."""

    def looked(evidence: KernelEvidence) -> Iterator[Match]:
        return iter(()) if evidence.stalls is None else look(evidence.stalls)

    return looked


RULES: Final = (
    Rule(
        "loads_in_matrix_loop",
        "Loads inside of the matrix loop",
        _on_stalls(stall_rules.loads_in_matrix_loop),
        "the loop waits for what it loads itself: nothing else is left to issue meanwhile",
        "load the next tile before this one's matrix instructions, into a second set of "
        "registers or a second buffer in LDS; hoist what does not change out of the loop",
        "FlyDSL's kernel-trace-analysis: loads inside the MFMA loop stall at 80 to 95 %",
    ),
    Rule(
        "back_to_back_loads",
        "Loads back to back, without compute between",
        _on_stalls(stall_rules.back_to_back_loads),
        "the queue of memory instructions is full: each load waits until one before it has left",
        "spread the loads over the matrix instructions of the tile before, or use wider ones",
        "FlyDSL's kernel-trace-analysis: back-to-back loads saturate the VMEM queue",
    ),
    Rule(
        "lds_just_before_use",
        "LDS is read right before it is used",
        _on_stalls(stall_rules.lds_just_before_use),
        "a read of LDS takes its time, and there is no other work between it and its use",
        "read the operands of the next matrix instructions while these run; read in batches "
        "and wait with a count above 0",
        "FlyDSL's kernel-trace-analysis: LDS reads directly before the MFMA that uses them",
    ),
    Rule(
        "scale_loads_too_late",
        "Scales are loaded too late",
        _on_stalls(stall_rules.scale_loads_too_late),
        "the scales arrive last, although they are small",
        "issue the loads of scales first, before those of the tiles, or an iteration ahead",
        "FlyDSL's kernel-trace-analysis: scale loads too near to their use",
    ),
    Rule(
        "waits_at_barriers",
        "Waves wait for each other at barriers",
        _on_stalls(stall_rules.waits_at_barriers),
        "waves of a workgroup arrive at different times: their work differs, or one of them "
        "loads for all",
        "even out the work of the waves, split the barrier so that compute stands between "
        "arrival and wait, or leave out what a double buffer makes needless",
        "rule of thumb of ktrace: stall of s_barrier",
    ),
    Rule(
        "padding",
        "The kernel waits in s_nop for results",
        _on_stalls(stall_rules.padding),
        "the compiler found nothing to put between an instruction, such as a matrix one, and"
        " the use of its result",
        "let independent work stand there: interleave two tiles, or the softmax of one with "
        "the matrix instructions of another",
        "LLVM's hazard rules for matrix instructions; stall of s_nop",
    ),
    Rule(
        "artefact",
        "A source line that is no hotspot",
        _on_stalls(stall_rules.artefacts),
        "the compiler gave instructions without a place of their own this one",
        "leave the line alone: look at instructions and phases, and build with debug "
        "information that names lines",
        "FlyDSL's kernel-trace-analysis: a hotspot on the decorator's line is an artefact",
    ),
    Rule(
        "occupancy_step",
        "The next occupancy is within reach",
        other_rules.occupancy_step,
        "a wave needs a little more than the next step of the hardware allows",
        "free what is named: fewer values alive at once, smaller tiles, or a launch bound "
        "that makes the compiler try; look for spills with `ktrace inspect`, as they cost "
        "more than the step gains",
        "LLVM's rules of allocation, as `ktrace inspect` and `ktrace hotspots` apply them",
    ),
    Rule(
        "tail",
        "Launches end with a long tail",
        other_rules.tail,
        "the last workgroups run while most of the device has nothing left to do",
        "make workgroups smaller or their number a multiple of what fits at once; start the "
        "longest first; let persistent workgroups fetch their work",
        "rule of thumb of ktrace: from the median wave's end to the last one's",
    ),
    Rule(
        "slow_xcd",
        "One XCD has more to do than others",
        other_rules.slow_xcd,
        "workgroups are dealt to XCDs in turn, so work that grows with the index, or data "
        "that is far away, meets one of them",
        "deal out work by another order of the index, and keep what shares data on one XCD",
        "rule of thumb of ktrace: time of the slowest XCD to the mean",
    ),
    Rule(
        "uneven_workgroups",
        "Some workgroups take much longer than others",
        other_rules.uneven_workgroups,
        "their work differs, or they wait for something that others do not",
        "even out the work: split the long ones, or balance by size before the launch",
        "rule of thumb of ktrace: time of the slowest workgroup to the mean",
    ),
    Rule(
        "memory",
        "Counters show memory traffic that is not needed",
        other_rules.memory,
        "what the verdict of `ktrace pmc` says",
        "change how lanes and workgroups address memory, and look at the counters again",
        "the verdicts of `ktrace pmc`, each with its own source",
    ),
)
"""In the order in which equal findings are shown."""


def find(evidence: KernelEvidence) -> list[Finding]:
    """Let all rules look at a kernel; the most urgent finding first."""
    found = [
        Finding(rule.key, rule.title, rule.cause, rule.fix, rule.source, match)
        for rule in RULES
        for match in rule.look(evidence)
    ]
    return sorted(found, key=lambda one: (one.match.priority.rank, -one.match.weight))
