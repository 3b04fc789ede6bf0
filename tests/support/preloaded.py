"""Run a program on the software device with the interposer in front, without `ktrace run`."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.launch.native import INTERPOSER, SOFTWARE_DEVICE
from ktrace_cli.launch.status import ProcessStatus, read_statuses
from ktrace_cli.libraries import native_library
from ktrace_cli.trace_file.reader import read_recording
from ktrace_cli.trace_file.recording import Recording
from support.sanitizer import sanitizer_runtime

ROOT = Path(__file__).parents[2]
SAXPY = ROOT / "samples" / "saxpy" / "saxpy.gfx942.co"
SAXPY_UNTRACED = ROOT / "samples" / "saxpy" / "saxpy.gfx942.untraced.co"
PROLOGUE = "import ctypes, os, sys\nfrom pathlib import Path\nfrom support.hip_host import *\n"


@dataclass(frozen=True)
class Outcome:
    """How a program ended, and what the interposer left in the folder."""

    returncode: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def session(self) -> Path:
        return self.folder / "session"

    @property
    def statuses(self) -> list[ProcessStatus]:
        found = read_statuses(self.session)
        # Whatever a test is about: a launch of an annotated kernel is in one count or another.
        assert [s.open_launches for s in found if s.is_closed and s.open_launches] == []
        return found

    @property
    def status(self) -> ProcessStatus:
        (status,) = self.statuses
        return status

    @property
    def path(self) -> Path:
        return self.folder / "run.bin"

    @property
    def recording(self) -> Recording:
        return read_recording(self.path)

    @property
    def recordings(self) -> list[Recording]:
        return [read_recording(path) for path in sorted(self.folder.glob("*.bin"))]


def run_preloaded(
    program: Sequence[object],
    folder: Path,
    *,
    traced: bool = True,
    preload_device: bool = True,
    preload: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run `program`; KTRACE_OUTPUT is run.bin in `folder`.

    Not traced: without the interposer. Without `preload_device` the program has to find HIP
    by name, as on a machine with ROCm. `preload`: libraries in front of the interposer.
    """
    session = folder / "session"
    session.mkdir(parents=True, exist_ok=True)
    device = native_library(SOFTWARE_DEVICE)
    preloads = [*sanitizer_runtime(), *preload]
    preloads += [native_library(INTERPOSER)] * traced + [device] * preload_device
    done = subprocess.run(
        list(map(str, program)),
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("KTRACE_")},
            "LD_PRELOAD": ":".join(map(str, preloads)),
            "LD_LIBRARY_PATH": str(_names(device, folder)),
            "ROCM_PATH": str(_names(device, folder).parent),
            "PYTHONPATH": str(ROOT / "tests"),
            # From 3.12 on Python says at a fork that there are threads, ours or a real HIP's.
            "PYTHONWARNINGS": "ignore:This process:DeprecationWarning",
            "KTRACE_SESSION_DIR": str(session),
            "KTRACE_OUTPUT": str(folder / "run.bin"),
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr, folder)


def run_script(
    script: str,
    folder: Path,
    *,
    traced: bool = True,
    preload_device: bool = True,
    preload: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run Python text that sees support.hip_host and the path SAXPY."""
    text = f"{PROLOGUE}SAXPY = Path({str(SAXPY)!r})\n{script}"
    program = [sys.executable, "-c", text]
    return run_preloaded(
        program,
        folder,
        traced=traced,
        preload_device=preload_device,
        preload=preload,
        environment=environment,
    )


def _names(device: Path, folder: Path) -> Path:
    """Make the folder in which HIP is found by its names."""
    names = folder / "rocm" / "lib"
    if not names.is_dir():
        names.mkdir(parents=True)
        for name in ("libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"):
            (names / name).symlink_to(device)
    return names
