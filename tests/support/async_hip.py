"""Launches in front of a stand-in HIP that counts calls and is asynchronous (async_hip.cpp)."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.launch.native import INTERPOSER, native_library
from ktrace_cli.launch.status import ProcessStatus, read_statuses
from support.sanitizer import sanitizer_runtime

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
SAXPY = ROOT / "samples" / "saxpy" / "saxpy.gfx942.co"
SAXPY_UNTRACED = ROOT / "samples" / "saxpy" / "saxpy.gfx942.untraced.co"


@dataclass(frozen=True)
class Bench:
    """The stand-in HIP and the program that launches with it, built in `folder`."""

    folder: Path

    def run(
        self,
        folder: Path,
        *,
        code_object: Path = SAXPY,
        threads: int = 1,
        streams: int = 1,
        launches: int = 1000,
        extra: str = "",
        preloads: tuple[object, ...] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> "Launched":
        """Launch `launches` times on each of `threads`; status and run.bin go to `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KTRACE_")}
        if preloads is None:
            preloads = (native_library(INTERPOSER),)
        command = [self.folder / "launches", code_object, "saxpy"]
        command += [str(number) for number in (threads, streams, launches)] + [extra] * bool(extra)
        done = subprocess.run(
            command,
            env={
                **inherited,
                "LD_PRELOAD": ":".join(map(str, (*sanitizer_runtime(), *preloads))),
                "KTRACE_SESSION_DIR": str(folder),
                "KTRACE_OUTPUT": str(folder / "run.bin"),
                **(environment or {}),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode or done.stderr:
            raise AssertionError(f"{done.returncode}: {done.stdout}{done.stderr[:4000]}")
        fields = done.stdout.split()
        values = dict(zip(fields[::2], map(float, fields[1::2]), strict=True))
        return Launched(folder, values)


@dataclass(frozen=True)
class Launched:
    """What the program printed, by name, and where the interposer wrote."""

    folder: Path
    values: Mapping[str, float]

    @property
    def recording(self) -> Path:
        return self.folder / "run.bin"

    @property
    def status(self) -> ProcessStatus:
        (status,) = read_statuses(self.folder)
        return status


def build(folder: Path, *flags: str) -> Bench | None:
    """Build both in `folder`; None without a C++ compiler."""
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libamdhip64.so.7"
    common = [compiler, "-std=c++17", "-O2", f"-I{ROOT / 'preload' / 'include'}", *flags]
    hip = [SUPPORT / "async_hip.cpp", "-fPIC", "-shared", f"-Wl,-soname,{library.name}"]
    subprocess.run([*common, *hip, "-o", library, "-lpthread"], check=True)
    program = [SUPPORT / "launches.cpp", library, "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*common, *program, "-o", folder / "launches", "-lpthread"], check=True)
    return Bench(folder)
