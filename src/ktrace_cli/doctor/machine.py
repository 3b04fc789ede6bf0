"""The machine that is examined: its files below a root, its environment, its user's rights."""

from __future__ import annotations

import grp
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib")


def _may_use(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


def _group_of(path: Path) -> str:
    number = path.stat().st_gid
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _members_of(group: str) -> Sequence[str]:
    try:
        return grp.getgrnam(group).gr_mem
    except KeyError:
        return ()


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Rights:
    """What this user may do, and whose the files are."""

    may_use: Callable[[Path], bool] = _may_use
    """Whether a file may be read and written."""
    group_of: Callable[[Path], str] = _group_of
    """The name of a file's group; its number if it has none."""
    members_of: Callable[[str], Sequence[str]] = _members_of
    user: str = field(default_factory=lambda: os.environ.get("USER", ""))


@dataclass(frozen=True)
class Machine:
    """Where findings come from; tests name another root."""

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    rights: Rights = field(default_factory=Rights)
    version_of: Callable[[str], str] = _version_of
    """The version of an installed Python package, which is not imported; "" if there is none."""
    python_path: Sequence[str] = field(default_factory=lambda: tuple(sys.path))

    def at(self, path: str) -> Path:
        """Return where an absolute path is."""
        return self.root / path.lstrip("/")

    def shown(self, path: Path) -> str:
        """Return a path as it is called on the machine."""
        return "/" + str(path.relative_to(self.root))

    def which(self, pattern: str) -> Path | None:
        """Find a program in PATH, then in ROCm's folders; of several, the last by name."""
        folders = [self.at(part) for part in self._paths("PATH")]
        for folder in (*folders, *self._rocm("bin"), *self._rocm("llvm/bin")):
            for path in sorted(_matching(folder, pattern), reverse=True):
                if os.access(path, os.X_OK) and path.is_file():
                    return path
        return None

    def libraries(self, pattern: str) -> list[Path]:
        """Find libraries where programs find them; each file once, in the order of the search.

        A file is named by its longest name, which has its version.
        """
        found: dict[Path, Path] = {}
        for folder in self._library_folders():
            for path in sorted(_matching(folder, pattern), key=lambda one: len(one.name)):
                if path.is_file():
                    found.setdefault(path.resolve(), path)
        return [real if real.is_relative_to(self.root) else path for real, path in found.items()]

    def _library_folders(self) -> Iterator[Path]:
        yield from map(self.at, self._paths("LD_LIBRARY_PATH"))
        for name in ("ROCM_PATH", "HIP_PATH"):
            yield from (self.at(f"{part}/lib") for part in self._paths(name))
        yield from self._rocm("lib")
        yield from map(self.at, _LIBRARY_FOLDERS)
        for folder in self.python_path:
            for package in ("torch/lib", "_rocm_sdk_core/lib"):
                yield self.at(f"{folder}/{package}")

    def _rocm(self, folder: str) -> list[Path]:
        return sorted(_matching(self.at("/opt"), f"rocm*/{folder}"))

    def _paths(self, name: str) -> list[str]:
        return [part for part in self.environment.get(name, "").split(":") if part.startswith("/")]


def _matching(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []  # not ours to look into
