"""A plan as a report, and as the JSON of docs/reference/cli-plan.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ktrace_cli.analysis.report import Block, Column, Heading, Line, Name, Table
from ktrace_cli.planning.evidence import Stalls
from ktrace_cli.planning.findings import Finding
from ktrace_cli.planning.plan import KernelPlan
from ktrace_cli.units import counted

SCHEMA_VERSION = 1
_CLASSES = (Column("class", is_number=False), Column("stall"), Column("%"), Column("idle"))
_ORDER = (
    Column("#"),
    Column("priority", is_number=False),
    Column("what", is_number=False),
    Column("gain, a hypothesis", is_number=False, drop=1),
)


def write_report(plans: Sequence[KernelPlan], devices: Mapping[str, str]) -> list[Block]:
    """Return the report, kernel by kernel.

    Args:
        plans: of the kernels.
        devices: of each recording: what it ran on, and whether times are real.
    """
    heads: list[Block] = [Line((f"{path}: {words}",)) for path, words in devices.items()]
    return heads + [block for plan in plans for block in _kernel(plan)]


def _kernel(plan: KernelPlan) -> list[Block]:
    blocks: list[Block] = [Heading((Name(plan.name), ": what to do"))]
    time = plan.evidence.time
    if time is not None:
        share = f"{100 * time.share:.1f} % of the time of all kernels"
        blocks.append(Line((f"takes {share}, in {counted(time.calls, 'call')} ({time.origin})",)))
    if plan.stalls is not None:
        blocks += _stalls(plan.stalls)
    if not plan.findings:
        blocks.append(Line(("no rule holds: nothing that ktrace knows of stands out",)))
    for number, finding in enumerate(plan.findings, 1):
        blocks += _finding(number, finding)
    if plan.findings:
        rows = tuple(
            (str(number), one.match.priority.value, one.title, one.match.gain or "-")
            for number, one in enumerate(plan.findings, 1)
        )
        blocks.append(Table(_ORDER, rows))
        blocks.append(Line(("gains do not add up: findings may be about the same cycles",)))
    blocks += [Line((f"not given: {words}",)) for words in plan.lacks]
    return blocks


def _stalls(stalls: Stalls) -> list[Block]:
    share = 100 * stalls.stall / stalls.latency if stalls.latency else 0.0
    rows = tuple(
        (name, f"{stall:,}", f"{100 * stall / stalls.stall:.1f} %", f"{idle:,}")
        for name, stall, idle in stalls.by_class
        if stall and stalls.stall
    )
    head = (
        f"stalls: {stalls.stall:,} of {stalls.latency:,} traced cycles ({share:.1f} %)"
        f"{f' on {stalls.target}' if stalls.target else ''}, {stalls.idle:,} idle between"
        f" instructions ({stalls.origin})"
    )
    return [Line((head,)), *([Table(_CLASSES, rows)] if rows else [])]


def _finding(number: int, finding: Finding) -> list[Block]:
    match = finding.match
    lines = [
        ("where", match.where),
        ("evidence", match.evidence),
        ("cause", finding.cause),
        ("fix", finding.fix),
        ("gain", match.gain and f"{match.gain} (a hypothesis: not measured)"),
        ("rule", f"{finding.rule}; {finding.source}"),
    ]
    head = Line((f"{number}. [{match.priority.value}] {finding.title}",))
    return [head, *(Line((f"{name}: {text}",), indent=3) for name, text in lines if text)]


def to_document(plans: Sequence[KernelPlan], devices: Mapping[str, str]) -> dict[str, Any]:
    """Return what is written as JSON: the same, with the same arguments."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "plan",
        "recordings": [{"path": path, "devices": words} for path, words in devices.items()],
        "kernels": [
            {
                "name": plan.name,
                "time": None
                if (time := plan.evidence.time) is None
                else {"share": time.share, "calls": time.calls, "origin": time.origin},
                "stalls": _stalls_document(plan.stalls),
                "findings": [_finding_document(finding) for finding in plan.findings],
                "not_given": list(plan.lacks),
            }
            for plan in plans
        ],
    }


def _stalls_document(stalls: Stalls | None) -> dict[str, Any] | None:
    if stalls is None:
        return None
    return {
        "origin": stalls.origin,
        "latency": stalls.latency,
        "stall": stalls.stall,
        "idle": stalls.idle,
        "by_class": [
            {"class": name, "stall": stall, "idle": idle} for name, stall, idle in stalls.by_class
        ],
    }


def _finding_document(finding: Finding) -> dict[str, Any]:
    match = finding.match
    return {
        "rule": finding.rule,
        "priority": match.priority.value,
        "title": finding.title,
        "where": match.where,
        "evidence": match.evidence,
        "cause": finding.cause,
        "fix": finding.fix,
        "gain_hypothesis": match.gain,
        "share": match.weight,
        "source": finding.source,
    }
