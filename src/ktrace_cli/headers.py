"""Where this installation's headers and its CMake package are, and how to compile against them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from ktrace_cli.errors import KtraceError

_HEADER = "ktrace/ktrace.hpp"
_PACKAGE = "ktraceConfig.cmake"


@dataclass(frozen=True)
class Headers:
    """What authors of kernels compile against."""

    version: str
    include_dir: Path
    cmake_dir: Path

    @property
    def cflags(self) -> str:
        """Options of a compiler, as a shell or a makefile reads them; with tracing."""
        return shlex.join([f"-I{self.include_dir}", "-DKTRACE_ENABLE"])


def find_headers(package: Path | None = None) -> Headers:
    """Find the headers of this installation, or of the one at `package`.

    Raises:
        KtraceError: they are not there: ktrace runs from a clone, or not all of it was installed.
    """
    root = (package or Path(str(files("ktrace_cli")))).resolve()
    found = Headers(version("ktrace"), root / "include", root / "cmake")
    for path in (found.include_dir / _HEADER, found.cmake_dir / _PACKAGE):
        if not path.is_file():
            raise KtraceError(
                "this installation of ktrace has no headers",
                why=f"{path} does not exist",
                fix="in a clone: `pip install --force-reinstall .`, "
                "or use its folder preload/include",
            )
    return found
