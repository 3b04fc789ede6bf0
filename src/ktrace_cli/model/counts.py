"""Counts that come with their words: fields of a dataclass, each with its singular and plural."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any


def count_of(one: str, many: str) -> Any:
    """Return a field that counts from 0, and what is said of one and of many."""
    return field(default=0, metadata={"one": one, "many": many})


def counted(counts: Any) -> dict[str, int]:
    """Return the counts above 0 of a dataclass of such fields, in their order."""
    return {f.name: v for f in fields(counts) if (v := getattr(counts, f.name))}


def sentences(counts: Any) -> list[str]:
    """Return one line of words for each count above 0."""
    words = {f.name: f.metadata for f in fields(counts)}
    return [
        f"{count:,} {words[name]['one' if count == 1 else 'many']}"
        for name, count in counted(counts).items()
    ]
