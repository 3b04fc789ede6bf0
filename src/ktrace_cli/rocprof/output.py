"""What rocprofv3 wrote into a folder."""

from __future__ import annotations

from pathlib import Path


def tables_in(folder: Path, ending: str) -> tuple[Path, ...]:
    """Return the CSV files of all processes whose names end so, and that have a row."""
    return tuple(sorted(path for path in folder.rglob(f"*{ending}") if _has_rows(path)))


def _has_rows(path: Path) -> bool:
    with path.open("rb") as file:
        return bool(file.readline() and file.readline())
