"""What was wrong with a bundle, by name, and the words for it."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ktrace_cli.units import counted

Faults = Counter[str]
"""How often each kind of fault was met; keys are those of the JSON output."""

_WORDS: Final = {
    "unescaped_rows": ("code.json: {} with a quote that is not escaped, repaired", "row"),
    "lost_rows": ("code.json: {} unreadable, left out", "row"),
    "torn_code": ("code.json is cut off: instructions are missing at its end", ""),
    "bad_numbers": ("code.json: {} out of range, or no number, taken as 0", "count"),
    "missing_header": ("code.json does not name its columns: the usual order is assumed", ""),
    "missing_columns": ("code.json: {} missing, taken as empty", "column"),
    "missing_waves": ("filenames.json names {} that the bundle lacks", "wave file"),
    "unlisted_waves": ("{} beyond those that filenames.json names, read, too", "wave file"),
    "unreadable_waves": ("{} unreadable, left out", "wave file"),
    "torn_waves": ("{} cut off, read up to the last whole instruction", "wave file"),
    "bad_instructions": (
        "wave files: {} malformed, or of no row of code.json, left out", "instruction"),
    "bad_waits": ("wave files: {} malformed, left out", "wait"),
    "unmatched_waits": (
        "{} whose list of waits is not in the order of execution: what they waited for is not told",
        "wave"),
    "unreadable_occupancy": (
        "occupancy.json is unreadable: how many waves ran beside these is not known", ""),
    "bad_occupancy": ("occupancy.json: {} malformed, left out", "row"),
    "unreadable_filenames": (
        "filenames.json is missing or unreadable: wave files are found by their names", ""),
    "unreadable_snapshots": ("snapshots.json is unreadable: there is no source text", ""),
    "missing_sources": (
        "snapshots.json names {} that the bundle lacks: no text to show", "source file"),
    "shared_functions": (
        "{} called by several kernels: its cycles are with the kernel that ran most of it",
        "function"),
    "unreadable_beside": ("beside the bundle: {} unreadable, left out", "file"),
    "unknown_matrix": ("{} of unknown length, not in MFMA busy", "matrix instruction"),
    "ambiguous_launches": (
        "beside the bundle: {} that could be this one, and differ: none is used", "launch"),
}  # fmt: skip


def sentences(faults: Faults) -> list[str]:
    """Return a sentence for each kind of fault."""
    return [_sentence(key, count) for key, count in faults.items() if count]


def _sentence(key: str, count: int) -> str:
    words, noun = _WORDS[key]
    many = "launches" if noun == "launch" else ""
    return words.format(counted(count, noun, many)) if noun else words
