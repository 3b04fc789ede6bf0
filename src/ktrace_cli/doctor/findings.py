"""What `ktrace doctor` finds: a subject, how it stands, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class State(str, Enum):
    """How a subject stands."""

    OK = "ok"
    NOTE = "note"
    """Something is missing that tracing does without, or is different from what one may expect."""
    PROBLEM = "problem"
    """It hinders tracing."""


@dataclass(frozen=True)
class Finding:
    """One subject."""

    subject: str
    state: State
    text: str
    fix: str = ""
    """What to do; "" if there is nothing to do."""
    facts: Mapping[str, str | int] = field(default_factory=dict)
    """The same for programs."""


def listing(findings: Sequence[Finding], version: str) -> dict[str, Any]:
    """Return everything as the JSON of `ktrace doctor --json`."""
    return {
        "version": version,
        "can_trace": not problems(findings),
        "findings": [
            {
                "subject": one.subject,
                "state": one.state.value,
                "text": one.text,
                "fix": one.fix,
                "facts": dict(one.facts),
            }
            for one in findings
        ],
    }


def as_text(findings: Sequence[Finding]) -> str:
    """Write a line for each finding, and one below it that says what to do."""
    lines = []
    for one in findings:
        lines.append(f"{one.state.value:<8} {one.subject}: {one.text}\n")
        if one.fix:
            lines.append(f"           try: {one.fix}\n")
    return "".join(lines)


def problems(findings: Sequence[Finding]) -> list[Finding]:
    """Return what hinders tracing."""
    return [one for one in findings if one.state is State.PROBLEM]
