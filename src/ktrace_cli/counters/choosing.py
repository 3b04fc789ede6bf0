"""Which kernels of files are meant by patterns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ktrace_cli.code_object.patterns import check_patterns, matches, spellings
from ktrace_cli.errors import UsageError
from ktrace_cli.importers.kernel_names import shown_name

_MOST_LISTED = 8


def choose_kernels(names: Iterable[str], patterns: Sequence[str]) -> set[str]:
    """Return the names that any pattern matches; all where there are none.

    Raises:
        UsageError: a pattern matches nothing, or cannot be read.
    """
    there = list(dict.fromkeys(names))
    if not patterns:
        return set(there)
    check_patterns(patterns)
    known = {name: (*spellings(name), shown_name(name)) for name in there}
    for pattern in patterns:
        if not any(matches(pattern, own) for own in known.values()):
            shown = list(dict.fromkeys(shown_name(name) for name in there))
            more = len(shown) - _MOST_LISTED
            listed = ", ".join(shown[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
            raise UsageError(
                f"`--kernel {pattern}` selects nothing",
                why=f"the files have the kernels {listed}",
                fix="name one of these: a shell pattern, or a regular expression between slashes",
            )
    return {name for name, own in known.items() if any(matches(p, own) for p in patterns)}
