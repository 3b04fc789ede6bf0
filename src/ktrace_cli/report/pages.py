"""Which page each run and each recording has, and what it is called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.errors import KtraceError

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


@dataclass(frozen=True)
class Page:
    """One page and the files beside it."""

    title: str
    """Tells it from all others."""
    folder: str
    """In the site, from its root."""

    @property
    def path(self) -> str:
        """Of the page itself."""
        return f"{self.folder}/index.html"


@dataclass(frozen=True)
class RunPlan:
    """What the user named, and the pages that it gets."""

    given: Path
    page: Page
    """Of its only recording, or of a folder as a whole."""
    recordings: tuple[tuple[Path, Page], ...]
    problem: KtraceError | None = None
    """Why it has none."""

    @property
    def is_folder(self) -> bool:
        """Whether its recordings have pages of their own."""
        return all(page != self.page for _, page in self.recordings)


class Names:
    """Gives out names of folders that differ from each other, also where case does not count."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return a name like `wanted` that can be in any URL and on any file system."""
        plain = _NOT_IN_NAMES.sub("-", wanted)[:_LONGEST].strip("-.") or "run"
        plain = f"run-{plain}" if _RESERVED.fullmatch(plain) else plain
        name, number = plain, 2
        while name.lower() in self._used:
            name, number = f"{plain}-{number}", number + 1
        self._used.add(name.lower())
        return name


def plan_pages(runs: Mapping[Path, Sequence[Path] | KtraceError]) -> list[RunPlan]:
    """Give each run a page, and each recording of a folder.

    Args:
        runs: what the user named, and the recordings that it stands for, or why there are none; the
            same one where it is no folder.
    """
    names = Names()
    given_and_found = [
        path
        for given, found in runs.items()
        for path in (given, *(() if isinstance(found, KtraceError) else found))
    ]
    titles = _titles(given_and_found)

    def page(path: Path) -> Page:
        return Page(titles[path], f"runs/{names.take(_name(path).removesuffix('.bin'))}")

    plans = []
    for given, found in runs.items():
        own = page(given)
        if isinstance(found, KtraceError):
            plans.append(RunPlan(given, own, (), found))
            continue
        recordings = tuple((path, own if path == given else page(path)) for path in found)
        plans.append(RunPlan(given, own, recordings))
    return plans


def _titles(paths: Sequence[Path]) -> dict[Path, str]:
    """Call each path by its name where that is enough, else by all that was given."""
    count = Counter(map(_name, dict.fromkeys(paths)))
    return {path: _name(path) if count[_name(path)] == 1 else str(path) for path in paths}


def _name(path: Path) -> str:
    return path.name if path.name not in ("", "..") else path.resolve().name
