"""The table of names: `merge_names` adds to it, through `_merge_names`, as kernels are compiled."""

from __future__ import annotations

_NAMES: dict[str, int] = {}


def name_table() -> dict[str, int]:
    return dict(_NAMES)


def merge_names(names: dict[str, int]) -> None:
    _merge_names(names)


def _merge_names(names: dict[str, int]) -> None:
    _NAMES.update(names)
