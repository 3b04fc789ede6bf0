"""A recording of the gemm sample, joined with the code object that it carries."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pytest

from support.disassembling import LISTED_OBJDUMP, SAMPLES
from support.ktrace_command import Ktrace


@pytest.fixture
def recording(ktrace: Ktrace, tmp_path: Path) -> Path:
    path = tmp_path / "gemm.bin"
    program = (sys.executable, SAMPLES / "gemm" / "run.py")
    done = ktrace("run", "--device", "soft", "-o", path, "--", *program)
    assert done.returncode == 0, done.stderr
    return path


def test_phases_have_their_instructions_beside_what_was_measured(
    ktrace: Ktrace, recording: Path
) -> None:
    text = ktrace("inspect", recording, KTRACE_OBJDUMP=str(LISTED_OBJDUMP))
    done = ktrace("inspect", "--json", recording, KTRACE_OBJDUMP=str(LISTED_OBJDUMP))
    summary = ktrace("summary", "--json", recording)

    assert (done.returncode, done.stderr) == (0, "")
    (code_object,) = orjson.loads(done.stdout)["code_objects"]
    (kernel,) = code_object["kernels"]
    assert kernel["launch"] == {
        "workgroup_size": 256, "dynamic_lds_bytes": 0,
        "known_from": "as in 3 of 3 recorded launches",
    }  # fmt: skip
    phases = {phase["phase"]: phase for phase in kernel["code"]["phases"]}
    k_tile = phases["mma > k_tile"]
    assert (k_tile["mix"]["mfma"], k_tile["mix"]["lds"], k_tile["instructions"]) == (8, 6, 25)
    (measured,) = orjson.loads(summary.stdout)["kernels"]
    times = {phase["name"]: phase for phase in measured["phases"]}
    for label, name in (("mma > k_tile", "k_tile"), ("wait", "wait"), ("store", "store")):
        assert phases[label]["measured"]["count"] == times[name]["count"]
        assert phases[label]["measured"]["mean"] == pytest.approx(times[name]["mean_ns"], rel=1e-3)
    assert k_tile["measured"]["is_modelled"] is True
    assert phases[""]["measured"] is None
    (row,) = (line.split() for line in text.stdout.splitlines() if line.startswith(" mma > k_tile"))
    assert row[3:11] == ["25", "8", "5", "3", "6", "2", "1", "768"]
    assert "modelled times: software device" in text.stdout.splitlines()
