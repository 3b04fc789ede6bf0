"""`ktrace run` on a program that launches kernels with FlyDSL's own tracer: a stand-in for FlyDSL.

tests/outside has FlyDSL itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.foreign.flydsl.recorded import build_recorded, holds_flydsl
from ktrace_cli.model import Timeline
from ktrace_cli.trace_file.reader import read_recording
from support.compile_kernel import any_compiler
from support.flydsl_kernel import BUFFER_BYTES, flydsl_source
from support.ktrace_command import ROOT, Done, Ktrace

HOST = ROOT / "tests/support/flydsl_host.py"
STAND_IN = ROOT / "tests/support/flydsl_stand_in"
Run = Callable[..., Done]


@pytest.fixture(scope="module")
def kernel() -> Path:
    return any_compiler("gfx942").assemble(flydsl_source("gfx942"))


@pytest.fixture
def run(ktrace: Ktrace, kernel: Path) -> Run:
    """Run steps of the host; the recording is run.bin."""

    def run_steps(*steps: str, python: tuple[str, ...] = (), **environment: str) -> Done:
        path = os.pathsep.join([str(STAND_IN), os.environ.get("PYTHONPATH", "")])
        soft = ("--device", "soft", "-o", "run.bin")
        done = ktrace(
            "run", *soft, "--", sys.executable, *python, HOST, kernel, *steps,
            **{"PYTHONPATH": path, "FLYDSL_KTRACE_BUFFER_BYTES": str(BUFFER_BYTES), **environment},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    return run_steps


def timeline(folder: Path) -> tuple[Timeline, tuple[str, ...]]:
    return build_recorded(read_recording(folder / "run.bin"))


def test_what_a_wipe_and_the_end_would_lose_is_recorded_with_names_and_grids(
    run: Run, tmp_path: Path
) -> None:
    done = run("names", "launch:2", "launch:3", "read", "wipe", "launch:4")

    assert done.stdout == "2 launches 5 waves\n"
    found, notes = timeline(tmp_path)
    assert notes == ()
    assert found.losses.counted() == {}
    assert [kernel.name for kernel in found.kernels] == ["traced_kernel_0"]
    assert found.dispatches["grid"].tolist() == [[2, 1, 1], [3, 1, 1], [4, 1, 1]]
    assert found.dispatches["block"][:, 0].tolist() == [64, 64, 64]
    assert found.dispatches["launch"].tolist() == [1, 2, 3]
    assert found.dispatches["waves"].tolist() == [2, 3, 4]
    assert {found.events[row["event"]].name for row in found.slices} == {"work"}
    assert len(found.slices) == 9
    assert (found.dispatches["launched_ns"] <= found.dispatches["begin_ns"]).all()
    assert found.own_clock == ""


def test_a_program_that_leaves_by_exit_loses_nothing(run: Run, tmp_path: Path) -> None:
    run("names", "launch:5", "leave")

    found, _ = timeline(tmp_path)
    assert (len(found.slices), found.losses.counted()) == (5, {})


def test_launches_that_find_the_buffer_full_have_buffers_of_their_own(
    run: Run, tmp_path: Path
) -> None:
    done = run("names", "launch:6", "launch:7", "launch:2", "read")

    # The program's own reading still is that of the launches that fit, which is said.
    assert done.stdout == "2 launches 8 waves\n"
    assert "launches had buffers of their own, of which the program's own reading" in done.stderr
    found, _ = timeline(tmp_path)
    assert found.dispatches["waves"].tolist() == [6, 7, 2]
    assert found.dispatches["grid"][:, 0].tolist() == [6, 7, 2]
    assert found.losses.counted() == {}


def test_each_launch_has_a_buffer_of_its_own_where_that_is_asked_for(
    run: Run, tmp_path: Path
) -> None:
    done = run("names", "launch:1", "launch:2", "read", KTRACE_FLYDSL="launch")

    assert done.stdout == "0 launches 0 waves\n"
    assert "buffers of their own" not in done.stderr
    found, notes = timeline(tmp_path)
    assert (found.dispatches["waves"].tolist(), notes) == ([1, 2], ())


def test_waves_over_budget_are_counted_and_the_others_kept(run: Run, tmp_path: Path) -> None:
    run("names", "launch:11")

    found, _ = timeline(tmp_path)
    assert found.dispatches["waves"].tolist() == [8]
    assert found.dispatches["grid"][:, 0].tolist() == [11]
    assert found.losses.counted() == {"missing_waves": 3}


def test_without_the_hook_events_are_called_after_their_ids_which_is_said(
    run: Run, tmp_path: Path
) -> None:
    run("launch:2", python=("-I",))

    found, notes = timeline(tmp_path)
    assert "so events are called after their ids" in notes[0]
    assert found.losses.counted() == {"unnamed_events": 2}


def test_a_version_that_ktrace_does_not_know_is_said(run: Run, tmp_path: Path) -> None:
    done = run("names", "launch:1", STAND_IN_VERSION="0.6.0")

    assert "FlyDSL 0.6.0 is not one that ktrace knows (0.4.2 and 0.5.x)" in done.stderr
    found, notes = timeline(tmp_path)
    assert notes == ("FlyDSL 0.6.0 is read as if it was 0.5: ktrace knows 0.4.2 and 0.5.x",)
    assert found.losses.counted() == {}


def test_flydsl_is_left_alone_where_the_user_has_turned_its_tracer_off(
    run: Run, tmp_path: Path
) -> None:
    done = run("names", "launch:1", FLYDSL_KTRACE_ENABLE="0")

    assert "nothing was recorded" in done.stderr
    assert not (tmp_path / "run.bin").exists()


@pytest.mark.parametrize(
    "changed",
    [{"directives": "  .amdhsa_user_sgpr_queue_ptr 1"}, {"body": "  s_memrealtime s[20:21]"}],
    ids=["another-descriptor", "no-scalar-stores"],
)
def test_other_kernels_are_not_taken_for_flydsls(changed: dict[str, str], ktrace: Ktrace) -> None:
    image = any_compiler("gfx942").assemble(flydsl_source("gfx942", **changed))

    done = ktrace(
        "run", "--device", "soft", "--", sys.executable, HOST, image,
        FLYDSL_KTRACE_BUFFER_BYTES=str(BUFFER_BYTES),
    )  # fmt: skip

    assert "1 code object (0 annotated" in done.stderr


def test_the_commands_read_such_a_recording(run: Run, ktrace: Ktrace, tmp_path: Path) -> None:
    run("names", "launch:3")

    assert holds_flydsl(read_recording(tmp_path / "run.bin"))
    summary = ktrace("summary", "run.bin", "--strict")
    assert summary.returncode == 0
    assert "traced_kernel_0: 1 dispatch, 3 waves" in summary.stdout
    decoded = ktrace("decode", "run.bin", "-o", "run.pftrace")
    assert "wrote 3 slices" in decoded.stderr
    assert ktrace("diff", "run.bin", "run.bin").returncode == 0
