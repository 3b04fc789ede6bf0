"""Where the native libraries are, and a folder of links to them that the dynamic loader can use."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError

INTERPOSER = "libktrace_preload.so"
SOFTWARE_DEVICE = "libamdhip64.so.7"
SOFTWARE_DEVICE_NAMES = ("libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7")

# ld.so splits LD_PRELOAD and LD_LIBRARY_PATH at these and knows no quoting.
_LOADER_SEPARATORS = frozenset(" :;\t\n")


@dataclass(frozen=True)
class Session:
    """The folder of one `ktrace run`: links to the libraries, and what its processes report."""

    folder: Path

    @property
    def interposer(self) -> Path:
        """The interposer, under a path without spaces and colons."""
        return self.folder / INTERPOSER

    @property
    def rocm(self) -> Path:
        """A ROCm folder whose lib/ holds the software device under all its names."""
        return self.folder / "rocm"

    @property
    def software_device(self) -> Path:
        """The software device under its SONAME."""
        return self.rocm / "lib" / SOFTWARE_DEVICE


def native_library(name: str) -> Path:
    """Find a native library of this installation.

    Raises:
        KtraceError: the installation has none.
    """
    for folder in (os.environ.get("KTRACE_NATIVE_DIR"), str(files("ktrace_cli") / "native")):
        if folder and (path := Path(folder, name)).is_file():
            return path.resolve()
    raise KtraceError(
        f"this installation of ktrace has no {name}",
        why="its native part was not built",
        fix="in a clone: `pip install --force-reinstall .`; Linux on x86-64 only",
        status=ExitStatus.RUN_FAILED,
    )


def make_session(*, software_device: bool) -> Session:
    """Make the folder of a run, with links instead of copies.

    The links also serve installations below a folder whose name ld.so cannot express.
    """
    session = Session(Path(tempfile.mkdtemp(prefix="ktrace-", dir=_temporary_folder())))
    session.interposer.symlink_to(native_library(INTERPOSER))
    if software_device:
        session.software_device.parent.mkdir(parents=True)
        for name in SOFTWARE_DEVICE_NAMES:
            (session.software_device.parent / name).symlink_to(native_library(SOFTWARE_DEVICE))
    return session


def _temporary_folder() -> str:
    folder = tempfile.gettempdir()
    return "/tmp" if _LOADER_SEPARATORS & set(folder) else folder
