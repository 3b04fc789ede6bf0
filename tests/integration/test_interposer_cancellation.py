"""HIP's function need not return: its thread may be cancelled in it, and it may throw."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.preloaded import ROOT, SAXPY, Outcome, run_preloaded
from support.stand_in import build_stand_in

SUPPORT = ROOT / "tests" / "support"
CALLS = ("malloc", "destroy", "unload", "launch", "launch-host", "launch-list")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unwinding")
    hip = build_stand_in(folder, "unwinding_hip.cpp")
    compiler = shutil.which("c++") or "clang++-19"
    for name in ("unwinding", "cancelled_launch"):
        source = SUPPORT / f"{name}.cpp"
        command = [compiler, "-std=c++17", "-O1", source, "-o", folder / name, hip, "-lpthread"]
        subprocess.run([*command, "-Wl,--allow-shlib-undefined"], check=True)
    return folder


def run(built: Path, folder: Path, *arguments: str, **environment: str) -> Outcome:
    program = [built / "unwinding", *arguments]
    return run_preloaded(
        program,
        folder,
        preload_device=False,
        environment={"LD_LIBRARY_PATH": str(built), **environment},
    )


@pytest.mark.parametrize("session", ["traced", "preloaded"])
def test_a_thread_is_cancelled_within_hip_as_without_ktrace(
    session: str, built: Path, tmp_path: Path
) -> None:
    none = {} if session == "traced" else {"KTRACE_SESSION_DIR": ""}

    outcome = run(built, tmp_path, "cancel", **none)

    expected = [f"{name} canceled" for name in (*CALLS, "graph-launch")]
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines() == expected


@pytest.mark.parametrize("session", ["traced", "preloaded"])
@pytest.mark.parametrize("name", CALLS)
def test_an_exception_of_hip_reaches_the_application(
    name: str, session: str, built: Path, tmp_path: Path
) -> None:
    none = {} if session == "traced" else {"KTRACE_SESSION_DIR": ""}

    outcome = run(built, tmp_path, "throw", name, STAND_IN_THROWS="1", **none)

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == f"{name} thrown by HIP\n" * 3
    if session == "traced" and name.startswith("launch"):  # a call left so is not one that lasts
        assert outcome.status.launches == 3


def test_an_exception_of_a_graph_call_passes_a_process_that_is_not_traced(
    built: Path, tmp_path: Path
) -> None:
    untraced = {"STAND_IN_THROWS": "1", "KTRACE_SESSION_DIR": ""}

    outcome = run(built, tmp_path, "throw", "graph-launch", **untraced)

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == "graph-launch thrown by HIP\n" * 3


@pytest.mark.parametrize("when", ["first", "later"])
def test_our_own_waiting_is_no_place_to_be_cancelled(
    when: str, built: Path, tmp_path: Path
) -> None:
    arguments = [SAXPY] if when == "first" else [SAXPY, "later"]

    outcome = run_preloaded([built / "cancelled_launch", *arguments], tmp_path)

    launches = 1 if when == "first" else 2
    assert (outcome.returncode, outcome.stdout) == (0, "launch 0 canceled 1\n")
    assert outcome.status.annotated_launches == launches
    assert outcome.status.dispatches == launches
    assert outcome.status.losses == {}
