"""Markers in FlyDSL kernels, recorded by `ktrace run` on the software device."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind
from ktrace_cli.trace_file.reader import read_recording
from outside.running import TARGETS, Outside, need
from support.ktrace_command import ROOT, ktrace_command

SAMPLE = ROOT / "samples" / "flydsl" / "add.py"
WAVES = 2 * 50 * 2  # launches, workgroups


@pytest.fixture(scope="module")
def runner(outside: Callable[[], Outside]) -> Outside:
    need("flydsl", "torch")
    return outside()


def run(runner: Outside, *options: str, command: tuple[object, ...] = ()) -> Any:
    cache = str(runner.folder / "cache")
    return subprocess.run(
        ktrace_command(
            *("run", "--device", "soft", "-o", runner.folder / "run.bin", "--force", *options),
            *("--", *(command or (sys.executable, SAMPLE))),
        ),
        cwd=runner.folder,
        env={**os.environ, "COLUMNS": "500", "FLYDSL_RUNTIME_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", TARGETS)
def test_phases_of_a_loop_are_counted_and_the_sum_is_right(runner: Outside, target: str) -> None:
    done = run(runner, "--arch", target, "--soft-check")

    assert (done.returncode, done.stdout) == (0, "add 25600: ok\n"), done.stderr
    shown = subprocess.run(
        ktrace_command("summary", "--json", runner.folder / "run.bin"),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(shown.stdout)
    assert found["losses"] == {}
    (kernel,) = found["kernels"]
    assert (kernel["name"], kernel["target"], kernel["waves"]) == ("add_kernel_0", target, WAVES)
    counts = {phase["name"]: phase["count"] for phase in kernel["phases"]}
    assert counts == dict.fromkeys(("round", "load", "compute", "store"), WAVES * 4)


def test_each_wave_records_its_rounds_in_order(runner: Outside) -> None:
    assert run(runner).returncode == 0

    dispatch = read_recording(runner.folder / "run.bin").dispatches[0]
    words = dispatch.words[: int(dispatch.extents[0]["main_words"])]
    kinds = words["tag"] >> layout.TAG_KIND_SHIFT
    assert list(words["clock"][kinds == Kind.VALUE]) == [0, 1, 2, 3]
    assert [Kind(kind).name for kind in kinds[:6]] == [
        *("VALUE", "PUSH", "PHASE", "PHASE", "PHASE", "PHASE_END"),
    ]
    # A workgroup has two waves of 64, and the second one says so.
    assert {int(header["wave"]) for header in dispatch.headers} == {0, 1}


def test_without_the_interposer_the_sum_is_right(runner: Outside) -> None:
    device = native_library(SOFTWARE_DEVICE)

    done = run(runner, command=("env", f"LD_PRELOAD={device}", sys.executable, SAMPLE))

    assert (done.returncode, done.stdout) == (0, "add 25600: ok\n"), done.stderr


def test_without_ktrace_the_markers_are_nothing(runner: Outside) -> None:
    absent = (
        "import runpy, sys; sys.modules['ktrace_cli'] = None; sys.path.insert(0, sys.argv[1]); "
        "runpy.run_path(sys.argv[1] + '/add.py', run_name='__main__')"
    )

    done = run(runner, command=(sys.executable, "-c", absent, SAMPLE.parent))

    assert done.stdout == "add 25600: ok\n", done.stderr
    assert "(0 annotated" in done.stderr


def test_payloads_of_every_type_arrive_and_mistakes_are_named(runner: Outside) -> None:
    program = Path(__file__).parent / "programs" / "flydsl_annotated.py"

    done = run(runner, command=(sys.executable, program))

    assert done.returncode == 0, done.stderr
    (dispatch,) = read_recording(runner.folder / "run.bin").dispatches
    values = [
        (int(word["tag"]) & layout.TAG_ID_MASK, int(word["clock"]))
        for word in dispatch.words
        if int(word["tag"]) >> layout.TAG_KIND_SHIFT == Kind.VALUE
    ]
    half, real = (struct.unpack("<I", struct.pack("<f", number))[0] for number in (0.5, 2.25))
    constants = [(0, 1), (1, 0xFFFFFFFF), (3, half)]
    assert values == [
        *constants,
        *[(1, 0x1_0000_0000 - 5), (4, 0), (12, 7 << 8), (3, real), (2, 9), (1, 0)],
    ]
    assert json.loads(done.stdout) == [
        "ktrace: kt.begin takes the first parameter of the kernel itself; "
        "make `trace: fx.Int64` its first one",
        "ktrace: the first argument of a marker is what kt.begin(trace) returned",
    ]
