"""Markers in Triton kernels, recorded by `ktrace run` on the software device."""

from __future__ import annotations

import json
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

SAMPLES = ROOT / "samples" / "triton"


@pytest.fixture(scope="module")
def runner(outside: Callable[[], Outside]) -> Outside:
    need("triton", "torch")
    return outside()


def run(runner: Outside, target: str, program: Path, *command: object) -> str:
    cache = str(runner.folder / "cache")
    done = runner.run(
        target, str(program), *command, options=("--force", "--soft-check"), TRITON_CACHE_DIR=cache
    )
    return done.stdout


def summary(runner: Outside) -> dict[str, Any]:
    done = subprocess.run(
        ktrace_command("summary", "--json", runner.folder / "run.bin"),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["losses"] == {}
    return found


def counts(kernel: dict[str, Any]) -> dict[str, int]:
    return {phase["name"]: phase["count"] for phase in kernel["phases"]}


@pytest.mark.parametrize("target", TARGETS)
def test_phases_of_a_softmax_are_counted_and_its_result_is_right(
    runner: Outside, target: str
) -> None:
    assert run(runner, target, SAMPLES / "softmax.py") == "softmax 7x781: ok\n"

    (kernel,) = summary(runner)["kernels"]
    assert (kernel["name"], kernel["target"], kernel["waves"]) == ("softmax", target, 3 * 7 * 4)
    assert counts(kernel) == dict.fromkeys(("softmax", "load", "compute", "store"), 84)


@pytest.mark.parametrize("target", TARGETS)
def test_phases_of_a_pipelined_loop_are_counted_and_the_product_is_right(
    runner: Outside, target: str
) -> None:
    assert run(runner, target, SAMPLES / "matmul.py") == "matmul 128x128x128: ok\n"

    (kernel,) = summary(runner)["kernels"]
    assert kernel["waves"] == 4 * 4
    assert counts(kernel) == {"mainloop": 16, "load": 16 * 4, "compute": 16 * 4, "store": 16}
    lanes = {phase["name"]: phase["lane"] for phase in kernel["phases"]}
    assert lanes["store"] == "memory"


def test_without_the_interposer_the_result_is_right(runner: Outside) -> None:
    device = native_library(SOFTWARE_DEVICE)
    # `env` leaves the folder of HIP's libraries and takes the interposer away.
    command = ["env", f"LD_PRELOAD={device}", sys.executable, SAMPLES / "softmax.py"]
    done = subprocess.run(
        ktrace_command("run", "--device", "soft", "-o", runner.folder / "no.bin", "--", *command),
        cwd=runner.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "softmax 7x781: ok\n"), done.stderr
    assert not (runner.folder / "no.bin").exists()


def test_without_ktrace_the_markers_are_nothing(runner: Outside) -> None:
    absent = (
        "import runpy, sys; sys.modules['ktrace_cli'] = None; sys.path.insert(0, sys.argv[1]); "
        "runpy.run_path(sys.argv[1] + '/softmax.py', run_name='__main__')"
    )
    done = subprocess.run(
        ktrace_command(
            *("run", "--device", "soft", "-o", runner.folder / "absent.bin", "--"),
            *(sys.executable, "-c", absent, SAMPLES),
        ),
        cwd=runner.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "softmax 7x781: ok\n", done.stderr
    assert "saw 1 code object (0 annotated" in done.stderr


def test_payloads_of_every_type_arrive_and_mistakes_are_named(runner: Outside) -> None:
    program = Path(__file__).parent / "programs" / "triton_annotated.py"

    said = json.loads(run(runner, "gfx942", program))

    assert said["x"] == [1.0, 2.0, 2.25, 2.25]
    recording = read_recording(runner.folder / "run.bin")
    values = [
        [
            (int(word["tag"]) & layout.TAG_ID_MASK, int(word["clock"]))
            for word in dispatch.words
            if int(word["tag"]) >> layout.TAG_KIND_SHIFT == Kind.VALUE
        ]
        for dispatch in recording.dispatches
    ]
    half, loaded = (struct.unpack("<I", struct.pack("<f", number))[0] for number in (0.5, 2.25))
    # LLVM copies the second one to both sides of the branch around what one lane stores.
    unrolled = [(1, 0), (1, 1)]
    assert values == [
        [(3, half), (0, 1), (1, 7), (3, loaded), *unrolled],
        [(1, 5), (2, 5), (4, 0), (12, 5 << 8), *unrolled],
        [],
    ]
    marks = {mark["name"]: mark["count"] for mark in summary(runner)["kernels"][0]["marks"]}
    assert marks == {"with flag": 1, "without flag": 1, "left early": 1}
    beginnings = {
        "no_beginning": "no kt.begin(trace) comes before this marker in the kernel",
        "no_parameter": "kt.begin takes a parameter of the kernel itself; add `trace: tl.int64",
        "no_literal": "a marker's name is a string literal, and not",
        "no_scalar": "a payload is a scalar, and not a tensor <['4'], int32>",
        "no_plain_name": "'50 %' has a control character or one of",
        "no_handle": "the first argument of a marker is what kt.begin(trace) returned",
    }
    for kernel, beginning in beginnings.items():
        assert said["refusals"][kernel].startswith(f"ktrace: {beginning}"), kernel
