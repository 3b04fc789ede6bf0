"""Times of `run`: collection periods, and durations in seconds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from ktrace_cli.errors import UsageError

NANOSECONDS_BY_UNIT = {
    "hour": 3_600_000_000_000,
    "min": 60_000_000_000,
    "sec": 1_000_000_000,
    "msec": 1_000_000,
    "usec": 1_000,
    "nsec": 1,
}
_NUMBER = r"\d+(?:\.\d+)?"
_LARGEST_NS = (1 << 63) - 1
_LARGEST_REPEAT = (1 << 32) - 1


def periods_in_ns(texts: Iterable[str], unit: str) -> str:
    """Write `DELAY:TIME:REPEAT` texts as the interposer reads them: in nanoseconds, with commas.

    Each text may hold several, separated by commas or blanks.

    Raises:
        UsageError: one is no such text, or its TIME is 0.
    """
    parts = [part for text in texts for part in re.split(r"[,\s]+", text.strip())]
    return ",".join(_period(part, NANOSECONDS_BY_UNIT[unit]) for part in parts)


def _period(text: str, scale: int) -> str:
    match = re.fullmatch(rf"({_NUMBER}):({_NUMBER}):(\d+)", text)
    if match is None:
        raise _wrong_period(text, "wanted three numbers: DELAY:TIME:REPEAT")
    delay, duration = int(Decimal(match[1]) * scale), int(Decimal(match[2]) * scale)
    if duration == 0:
        raise _wrong_period(text, "its TIME is less than 1 ns, so nothing would be recorded")
    if delay + duration > _LARGEST_NS or int(match[3]) > _LARGEST_REPEAT:
        raise _wrong_period(text, "a number in it is too large")
    return f"{delay}:{duration}:{int(match[3])}"


def _wrong_period(text: str, why: str) -> UsageError:
    return UsageError(
        f"cannot read the collection period {text!r}",
        why=why,
        fix="`--collection-period 5:1:3` waits 5 s and records 1 s, three times; 0 is for ever",
    )


def milliseconds(option: str, text: str, *, per_unit: int, unit: str) -> int:
    """Read a positive number of `unit` as milliseconds.

    Raises:
        UsageError: it is none, or less than a millisecond.
    """
    number = Decimal(text) if re.fullmatch(_NUMBER, text) else Decimal(0)
    result = int(number * per_unit)
    if not 0 < result <= _LARGEST_NS // 1_000_000:
        raise UsageError(
            f"cannot read `{option} {text}`",
            why=f"wanted a number of {unit}, 1 ms or more",
            fix=f"write for example `{option} {10_000 // per_unit}`",
        )
    return result
