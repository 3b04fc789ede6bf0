"""What was wrong with a bundle, by name, and the words for it."""

from __future__ import annotations

from collections import Counter
from typing import Final

Faults = Counter[str]
"""How often each kind of fault was met; keys are those of the JSON output."""

_WORDS: Final = {
    "unescaped_rows": (
        "{} of code.json held a quote or backslash that was not escaped; repaired", "row"),
    "lost_rows": ("{} of code.json could not be read and was left out", "row"),
    "torn_code": ("code.json was cut off: {} is missing from its end, and what followed", "row"),
    "bad_numbers": ("{} of code.json was no count and was taken as 0", "number"),
    "missing_header": ("code.json does not name its columns: the usual order was assumed", ""),
    "missing_columns": ("{} of code.json is missing and was taken as 0", "column"),
    "missing_waves": ("{} that filenames.json lists does not exist", "wave file"),
    "unlisted_waves": ("{} that filenames.json does not list was read, too", "wave file"),
    "unreadable_waves": ("{} could not be read and was left out", "wave file"),
    "torn_waves": ("{} was cut off: it was read up to the last whole instruction", "wave file"),
    "bad_instructions": ("{} of wave files was malformed or names no row of code.json; left out",
                         "instruction"),
    "bad_waits": ("{} of wave files was malformed and was left out", "wait"),
    "incomplete_waves": ("{} lacks instructions that the decoder counted", "wave"),
    "unreadable_occupancy": ("occupancy.json could not be read: waves of other CUs are not known",
                             ""),
    "bad_occupancy": ("{} of occupancy.json was malformed and was left out", "row"),
    "unreadable_filenames": ("filenames.json could not be read: wave files were found by name", ""),
    "unreadable_snapshots": ("snapshots.json could not be read: no source text is shown", ""),
    "missing_sources": ("{} that snapshots.json names does not exist: its text is not shown",
                        "source file"),
    "shared_functions": ("{} is called by several kernels: its cycles are with the one that ran it"
                         " most", "function"),
    "unreadable_beside": ("{} beside the bundle could not be read", "file"),
    "unknown_matrix": ("{} is of a length that ktrace does not know: not in the coverage",
                       "matrix instruction"),
    "ambiguous_launches": ("{} beside the bundle could be this one's, and they differ: none was"
                           " used", "launch"),
}  # fmt: skip


def sentences(faults: Faults) -> list[str]:
    """Return a sentence for each kind of fault."""
    return [_sentence(key, count) for key, count in faults.items() if count]


def _sentence(key: str, count: int) -> str:
    words, noun = _WORDS[key]
    if count != 1:
        for one, many in ((" was ", " were "), (" does ", " do "), (" lacks ", " lack "),
                          (" is ", " are "), (" it ", " they "), (" names no ", " name no ")):  # fmt: skip
            words = words.replace(one, many) if noun else words
    return words.format(f"{count:,} {noun}{'' if count == 1 else 's'}")
