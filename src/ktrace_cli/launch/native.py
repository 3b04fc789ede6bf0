"""A folder of links to the native libraries that the dynamic loader can use."""

from __future__ import annotations

import os
import select
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.flydsl_live.switches import HOOK_FOLDER, put_hook
from ktrace_cli.launch.rocm import fill_rocm
from ktrace_cli.libraries import native_library

INTERPOSER = "libktrace_preload.so"
REFUSED_KERNELS = "refused_kernels"  # a file in the session's folder, of the interposer
SOFTWARE_DEVICE = "libamdhip64.so.7"
SOFTWARE_DEVICE_NAMES = ("libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7")

# ld.so splits paths at these, or expands what follows them, and knows no quoting.
_LOADER_SEPARATORS = frozenset(" :;$\t\n")

_SOON = 0.5  # seconds


@dataclass(frozen=True)
class Session:
    """The folder of one `ktrace run`: links to the libraries, and what its processes report."""

    folder: Path

    @property
    def interposer(self) -> Path:
        """The interposer, under a path without spaces and colons."""
        return self.folder / INTERPOSER

    @property
    def python(self) -> Path:
        """Where a program's Python finds the hook for FlyDSL."""
        return self.folder / HOOK_FOLDER

    @property
    def rocm(self) -> Path:
        """A ROCm folder whose lib/ holds the software device under all its names: see rocm.py."""
        return self.folder / "rocm"

    @property
    def software_device(self) -> Path:
        """The software device under its SONAME."""
        return self.rocm / "lib" / SOFTWARE_DEVICE


@contextmanager
def make_session(*, software_device: bool) -> Iterator[Session]:
    """Make the folder of a run, with links instead of copies, for as long as the run lasts.

    It stays if processes outlive the run that have it in their environment: what they start needs
    the libraries. The links also serve installations below a folder whose name ld.so cannot
    express.

    Raises:
        KtraceError: the installation is not whole, or there is no room for temporary files.
    """
    libraries = [native_library(INTERPOSER, ExitStatus.RUN_FAILED)]
    if software_device:
        libraries.append(native_library(SOFTWARE_DEVICE, ExitStatus.RUN_FAILED))
    session = Session(Path(tempfile.mkdtemp(prefix="ktrace-", dir=_temporary_folder())))
    try:
        session.interposer.symlink_to(libraries[0])
        put_hook(session.folder)
        if software_device:
            session.software_device.parent.mkdir(parents=True)
            for name in SOFTWARE_DEVICE_NAMES:
                (session.software_device.parent / name).symlink_to(libraries[1])
            fill_rocm(session.rocm, os.environ)
        yield session
    finally:
        if all(map(_ends_soon, _users_of(session.folder))):
            shutil.rmtree(session.folder, ignore_errors=True)


def _users_of(folder: Path) -> list[int]:
    """Find the processes of this user that were started with the folder in their environment."""
    wanted = b"KTRACE_SESSION_DIR=" + os.fsencode(folder) + b"\0"
    processes = Path("/proc").glob("[0-9]*")
    return [int(process.name) for process in processes if wanted in _environment_of(process)]


def _ends_soon(pid: int) -> bool:
    """Give a helper that ends when the program has ended the time for that."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        return bool(select.select([process], [], [], _SOON)[0])
    finally:
        os.close(process)


def _environment_of(process: Path) -> bytes:
    try:
        is_ours = process.stat().st_uid == os.getuid()
        return (process / "environ").read_bytes() if is_ours else b""
    except OSError:
        return b""  # it has ended, or may not be looked into


def _temporary_folder() -> str:
    try:
        folder = tempfile.gettempdir()
    except OSError as error:
        raise KtraceError(
            "cannot make a temporary folder",
            why=error.strerror or str(error),
            fix="let TMPDIR name a folder that you may write to",
            status=ExitStatus.RUN_FAILED,
        ) from error
    return "/tmp" if _LOADER_SEPARATORS & set(folder) else folder
