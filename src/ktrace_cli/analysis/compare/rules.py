"""What counts as a regression: `--fail-on 'mainloop>5%'`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ktrace_cli.analysis.compare.profile import LAUNCH_ROW
from ktrace_cli.analysis.compare.rank_test import LEAST_UNITS
from ktrace_cli.errors import UsageError
from ktrace_cli.units import format_time

DEFAULT_PERCENT = 5.0
_LIMIT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%|ns|us|µs|ms|s|cy|kcy|Mcy)\s*", re.ASCII)
_SCALE = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "cy": 1.0, "kcy": 1e3, "Mcy": 1e6}
_CYCLES = {"cy", "kcy", "Mcy"}


@dataclass(frozen=True)
class Rule:
    """How much slower the phases of a name may become. All limits must be exceeded."""

    text: str
    """As the user wrote it."""
    pattern: str
    """A shell pattern for the phase, or for `kernel:phase`."""
    percent: float = 0.0
    time: float = 0.0
    """Per wave, in the unit of times."""
    is_failing: bool = True
    """False: what exceeds it is shown as slower, and is no regression."""

    def matches(self, kernel: str, phase: str) -> bool:
        """Tell whether it is about a phase."""
        return any(fnmatchcase(name, self.pattern) for name in (phase, f"{kernel}:{phase}"))

    def is_exceeded(self, base: float, change: float) -> bool:
        """Tell whether a change, of either sign, is larger than the limits."""
        return abs(change) > base * self.percent / 100 and abs(change) > self.time

    def describe(self, unit: str) -> str:
        """Write the limits."""
        parts = [f"{self.percent:g} %"] if self.percent else []
        parts += [format_time(self.time, unit)] if self.time else []
        return " and ".join(parts) or "nothing"


DEFAULT = Rule("*>5%", "*", DEFAULT_PERCENT)


def parse_rules(texts: Sequence[str], unit: str) -> tuple[Rule, ...]:
    """Read `--fail-on` of a command line; without any, everything may become 5 % slower.

    Raises:
        UsageError: one of them cannot be read.
    """
    return tuple(_parse(text, unit) for text in texts) or (DEFAULT,)


def rules_for(rules: Sequence[Rule], kernel: str, phase: str) -> tuple[Rule, ...]:
    """Return the rules that are about a phase; where none is, one that never fails."""
    found = tuple(rule for rule in rules if rule.matches(kernel, phase))
    return found or (Rule("", "*", DEFAULT_PERCENT, is_failing=False),)


def check_rules(rules: Sequence[Rule], names: Sequence[tuple[str, str]]) -> None:
    """Refuse rules that are about nothing: they would pass whatever happens.

    Args:
        rules: those of the command line.
        names: kernel and phase of all that is compared.

    Raises:
        UsageError: one matches no phase.
    """
    for rule in rules:
        if not any(rule.matches(kernel, phase) for kernel, phase in names):
            if rule.matches("", LAUNCH_ROW):
                raise UsageError(
                    f"`--fail-on '{rule.text}'` has nothing to compare",
                    why=f"too few launches: they are compared where both sides have"
                    f" {LEAST_UNITS} or more of a kernel",
                    fix="record more launches",
                )
            known = list(dict.fromkeys(phase for _, phase in names))
            more = f" and {len(known) - 8} more" if len(known) > 8 else ""
            raise UsageError(
                f"`--fail-on '{rule.text}'` matches no phase",
                why=f"the phases are {', '.join(known[:8])}{more}" if known else "there is none",
                fix="name one of these, or `KERNEL:PHASE`; shell patterns are allowed",
            )


def parse_floor(text: str, unit: str) -> float:
    """Read `--floor`.

    Raises:
        UsageError: it is no time in this unit.
    """
    if text.strip() == "0":
        return 0.0
    match = _LIMIT.fullmatch(text)
    if match is None or match[2] == "%" or (match[2] in _CYCLES) != (unit == "cycles"):
        raise UsageError(
            f"cannot read `--floor {text}`",
            why=f"wanted a time in {unit}",
            fix=f"write for example `--floor {'100cy' if unit == 'cycles' else '50ns'}`",
        )
    return float(match[1]) * _SCALE[match[2]]


def _parse(text: str, unit: str) -> Rule:
    pattern, sign, limits = text.rpartition(">")
    found = [match for one in limits.split(",") if (match := _LIMIT.fullmatch(one))]
    if not sign or not pattern.strip() or len(found) != len(limits.split(",")):
        raise _unreadable(text, "wanted a phase, `>`, and a limit such as `5%` or `2us`")
    percents = [match for match in found if match[2] == "%"]
    if len(percents) > 1 or len(found) - len(percents) > 1:
        raise _unreadable(text, "it has two limits of one kind, where all must be exceeded")
    percent = time = 0.0
    for match in found:
        if match[2] == "%":
            percent = float(match[1])
        elif (match[2] in _CYCLES) != (unit == "cycles"):
            raise _unreadable(text, f"times are compared in {unit}, and it names {match[2]}")
        else:
            time = float(match[1]) * _SCALE[match[2]]
    return Rule(text, pattern.strip(), percent, time)


def _unreadable(text: str, why: str) -> UsageError:
    fix = "write for example `--fail-on 'mainloop>5%'` or `--fail-on 'gemm*:load>5%,2us'`"
    return UsageError(f"cannot read `--fail-on '{text}'`", why=why, fix=fix)
