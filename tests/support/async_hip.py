"""Programs in front of a stand-in HIP that is asynchronous: async_hip.cpp or graph_hip.cpp."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.launch.native import INTERPOSER
from ktrace_cli.launch.status import ProcessStatus, read_statuses
from ktrace_cli.libraries import native_library
from support.built_once import built_once, find_cpp_compiler, version_of
from support.sanitizer import sanitizer_runtime

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
SAXPY = ROOT / "samples" / "saxpy" / "saxpy.gfx942.co"
SAXPY_UNTRACED = ROOT / "samples" / "saxpy" / "saxpy.gfx942.untraced.co"


@dataclass(frozen=True)
class Bench:
    """A stand-in HIP and the programs that launch with it, built in `folder`."""

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
        command = ["launches", code_object, "saxpy", threads, streams, launches]
        output = self._run(folder, [*command, *[extra] * bool(extra)], preloads, environment)
        fields = output.split()
        values = dict(zip(fields[::2], map(float, fields[1::2]), strict=True))
        return Launched(folder, values)

    def race(
        self, folder: Path, way: str, turns: int, environment: Mapping[str, str] | None = None
    ) -> list[ProcessStatus]:
        """Let threads come in each other's way (racing.cpp)."""
        common = {"STAND_IN_ASYNC": "1", "KTRACE_WORDS": "64"}
        self._run(folder, ["racing", SAXPY, way, turns], None, common | dict(environment or {}))
        return read_statuses(folder)

    def _run(
        self,
        folder: Path,
        command: Sequence[object],
        preloads: tuple[object, ...] | None,
        environment: Mapping[str, str] | None,
    ) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KTRACE_")}
        if preloads is None:
            preloads = (native_library(INTERPOSER),)
        done = subprocess.run(
            [self.folder / str(command[0]), *map(str, command[1:])],
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
        return done.stdout


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
    """Build async_hip.cpp and its programs in `folder`; None without a C++ compiler."""
    return _build(folder, "async_hip.cpp", ("launches", "racing"), flags)


def build_graphs(folder: Path, *flags: str) -> Bench | None:
    """The same with graph_hip.cpp, for races of graphs."""
    return _build(folder, "graph_hip.cpp", ("racing",), flags)


def _build(
    folder: Path, hip_source: str, programs: Sequence[str], flags: Sequence[str]
) -> Bench | None:
    compiler = find_cpp_compiler()
    if not compiler:
        return None
    library = "libamdhip64.so.7"
    common = [compiler, "-std=c++17", "-O2", f"-I{ROOT / 'preload' / 'include'}", *flags]
    source = SUPPORT / hip_source
    hip = [*common, str(source), "-fPIC", "-shared", f"-Wl,-soname,{library}", "-o", library]
    commands = [
        hip,
        *(
            [*common, f"{SUPPORT / name}.cpp", library, "-Wl,-rpath,$ORIGIN", "-o", name]
            for name in programs
        ),
    ]

    def build_all(made: Path) -> None:
        made.mkdir()
        for command in commands:
            subprocess.run([*command, "-lpthread"], cwd=made, check=True)

    sources = [source, *(SUPPORT / f"{name}.cpp" for name in programs)]
    text = [part for command in commands for part in command]
    made = built_once([version_of(compiler), *text], sources, build_all)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return Bench(folder)
