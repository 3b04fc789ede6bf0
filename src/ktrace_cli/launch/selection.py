"""Which kernels and which of their launches `run` records: regular expressions, iterations."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ktrace_cli.errors import UsageError

_LARGEST_ITERATION = (1 << 32) - 1


def check_regexes(option: str, patterns: Iterable[str]) -> None:
    """Check regular expressions that the interposer reads as ECMAScript ones.

    Raises:
        UsageError: one is empty, spans lines, or is not understood there.
    """
    for pattern in patterns:
        if why := _trouble(pattern):
            raise UsageError(
                f"cannot look for kernels like {pattern!r}",
                why=why,
                fix=f"write for example `{option} 'gemm|attn_(fwd|bwd)'`",
            )


def _trouble(pattern: str) -> str:
    if not pattern:
        return "it is empty"
    if "\n" in pattern:
        return "it has more than one line"
    try:
        re.compile(pattern)
    except re.error as error:
        return f"it is no regular expression: {error}"
    bare = re.sub(r"\[\^?\]?[^]]*\]", "x", re.sub(r"\\[^AZ]", "x", pattern))
    if found := re.search(r"\(\?(?![:=!])[^)]?|\\[AZ]|[*+?}]\+", bare):
        return f"{found[0]!r} is no part of an ECMAScript regular expression"
    return ""


def iterations(texts: Iterable[str]) -> str:
    """Write ranges such as `[1,[3-4]]`, `2-4` or `1, 3` as the interposer reads them: `1,3-4`.

    Raises:
        UsageError: one is no list of numbers and ranges from 1, or its brackets do not match.
    """
    return ",".join(part for text in texts for part in _ranges(text))


def _ranges(text: str) -> list[str]:
    _check_brackets(text)
    parts = re.sub(r"\s*-\s*", "-", re.sub(r"[\[\],]", " ", text)).split()
    if not parts:
        raise _wrong(text, "it has no number")
    return [_range(text, part) for part in parts]


def _range(text: str, part: str) -> str:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
    if match is None:
        raise _wrong(text, f"{part!r} is no number and no range such as 3-4")
    first, last = int(match[1]), int(match[2] or match[1])
    if first == 0:
        raise _wrong(text, "launches of a kernel are counted from 1")
    if not first <= last <= _LARGEST_ITERATION:
        raise _wrong(text, f"{part!r} does not go upwards to at most {_LARGEST_ITERATION}")
    return f"{first}-{last}" if match[2] else str(first)


def _check_brackets(text: str) -> None:
    depth = 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth < 0:
            break
    if depth != 0:
        raise _wrong(text, "its brackets do not match")


def _wrong(text: str, why: str) -> UsageError:
    return UsageError(
        f"cannot read `--kernel-iteration-range {text}`",
        why=why,
        fix="write for example `--kernel-iteration-range '[1,[3-4]]'`",
    )
