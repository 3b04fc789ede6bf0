"""Patterns of kernel names, as users write them: `gemm`, `gemm<64*`, `/attn_(fwd|bwd)/`.

The interposer has the same rule (preload/interposer/name_patterns.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from ktrace_cli.code_object.names import demangle, display_name
from ktrace_cli.errors import UsageError
from ktrace_cli.wording import nearest

_MOST_LISTED = 8


def spellings(mangled: str) -> tuple[str, ...]:
    """Return all names of a kernel, of which one has to match."""
    return (mangled, *spellings_of_signature(demangle(mangled), display_name(mangled)))


def spellings_of_signature(signature: str, shown: str) -> tuple[str, ...]:
    """Return those that a kernel has without its mangled name.

    Args:
        signature: the demangled name.
        shown: without return type and parameters.
    """
    return signature.removeprefix("void "), shown, shown.partition("<")[0]


def matches(pattern: str, names: Iterable[str]) -> bool:
    """Tell whether any name is like a shell pattern, or has a regular expression's match in it."""
    if _is_expression(pattern):
        try:
            expression = re.compile(pattern[1:-1])
        except re.error:
            return False
        return any(expression.search(name) for name in names)
    # A backslash takes a character's meaning, as in the shell; fnmatch knows brackets only.
    bracketed = re.sub(r"\\([*?\[\\])", r"[\1]", pattern)
    return any(fnmatchcase(name, bracketed) for name in names if name)


def check_patterns(patterns: Iterable[str]) -> None:
    """Check what the user wrote.

    Raises:
        UsageError: a regular expression among them cannot be compiled, or one spans lines.
    """
    for pattern in patterns:
        why = "it has more than one line" if "\n" in pattern else ""
        if _is_expression(pattern):
            try:
                re.compile(pattern[1:-1])
            except re.error as error:
                why = f"it is no regular expression: {error}"
        if why or not pattern:
            raise UsageError(
                f"cannot look for kernels like {pattern!r}",
                why=why or "it is empty",
                fix="write for example `--kernel 'gemm*'` or `--kernel '/attn_(fwd|bwd)/'`",
            )


def check_any_matches(patterns: Iterable[str], kernels: Iterable[tuple[str, ...]]) -> None:
    """Refuse a pattern that no kernel is like, and say which one might have been meant.

    Args:
        patterns: what the user wrote.
        kernels: the spellings of each kernel; the second last one is what is shown of it.

    Raises:
        UsageError: one of the patterns matches nothing, or cannot be read.
    """
    there = list(kernels)
    patterns = list(patterns)
    check_patterns(patterns)
    for pattern in patterns:
        if not any(matches(pattern, names) for names in there):
            raise _nothing(pattern, list(dict.fromkeys(names[-2] for names in there)))


def _nothing(pattern: str, shown: list[str]) -> UsageError:
    listed = ", ".join(shown[:_MOST_LISTED])
    more = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    meant = _meant(pattern, shown)
    other = "name one of these" if shown else "read another recording"
    return UsageError(
        f"`--kernel {pattern}` selects nothing",
        why=f"the recording has the kernels {listed}{more}" if shown else "it has no kernels",
        fix=f"did you mean `--kernel '{meant}'`?" if meant else other,
    )


def _meant(pattern: str, shown: list[str]) -> str:
    """Return a pattern that matches, and is like one that does not; "" if there is none."""
    bare = pattern.strip("*/^$")
    if bare and any(bare.lower() in name.lower() for name in shown):
        found = next(name for name in shown if bare.lower() in name.lower())
        at = found.lower().index(bare.lower())
        return f"*{found[at : at + len(bare)]}*"
    return nearest(bare, [*shown, *(name.partition("<")[0] for name in shown)])


def _is_expression(pattern: str) -> bool:
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")
