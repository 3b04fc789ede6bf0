"""`ktrace run` on a FlyDSL script, left untouched: what FlyDSL itself reads, and more.

The same buffer is read by FlyDSL in the process, and by ktrace from the recording.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.foreign.flydsl.recorded import build_recorded
from ktrace_cli.model import Timeline
from ktrace_cli.trace_file.reader import read_recording
from outside.running import TARGETS, Outside, need
from support.foreign.reading import values


def run(runner: Outside, target: str, count: int, **environment: str) -> tuple[Timeline, Any]:
    cache = str(runner.folder / "cache")
    runner.run(
        target, "flydsl_live.py", runner.folder, count,
        FLYDSL_RUNTIME_CACHE_DIR=cache, **environment,
    )  # fmt: skip
    found, notes = build_recorded(read_recording(runner.folder / "run.bin"))
    assert notes == ()
    return found, json.loads((runner.folder / "decoded.json").read_text())


@pytest.fixture(scope="module", params=TARGETS)
def ran(request: pytest.FixtureRequest, outside: Callable[[], Outside]) -> tuple[Timeline, Any]:
    need("flydsl", "torch")
    return run(outside(), request.param, 3)


def test_slices_and_marks_are_those_that_flydsl_reads_itself(ran: tuple[Timeline, Any]) -> None:
    found, said = ran
    of = found.waves["dispatch"]

    shown = [
        [found.events[row["event"]].name, int(row["begin_ns"]) - found.zero_ns, int(row["ns"]),
         next((bits for _, bits in values(found, row)), None)]
        for row in found.slices if of[row["wave"]] < 4
    ] + [
        [found.events[row["event"]].name, int(row["ns"]) - found.zero_ns, -1,
         next((bits for _, bits in values(found, row)), None)]
        for row in found.instants if of[row["wave"]] < 4
    ]  # fmt: skip

    assert sorted(shown, key=repr) == sorted(said["shown"], key=repr)
    assert len(shown) == 3 * 50 * 2 + 256 * 16


def test_the_programs_own_summary_still_is_that_of_flydsl(ran: tuple[Timeline, Any]) -> None:
    found, said = ran
    is_tile = np.array([event.name == "tile" for event in found.events])[found.slices["event"]]

    assert (said["summary"]["waves"], said["summary"]["records"]) == (406, 8642)
    assert said["summary"]["phases"]["tile"] == {
        "count": 4096,
        "total_ns": int(found.slices["ns"][is_tile].sum()),
    }


def test_launches_have_their_kernels_grids_and_host_times(ran: tuple[Timeline, Any]) -> None:
    found = ran[0]

    kernels = [found.kernels[row].name for row in found.dispatches["kernel"]]
    assert kernels == ["add_kernel_0"] * 3 + ["gemm_kernel_0"] + ["add_kernel_0"] * 2
    assert found.dispatches["grid"].tolist() == [[50, 1, 1]] * 3 + [[8, 8, 1]] + [[50, 1, 1]] * 2
    assert found.dispatches["block"][:, 0].tolist() == [64] * 3 + [256] + [64] * 2
    assert found.dispatches["waves"].tolist() == [50] * 3 + [256] + [50] * 2
    assert (found.dispatches["launched_ns"] <= found.dispatches["begin_ns"]).all()
    assert found.losses.counted() == {}


def test_what_flydsl_refuses_is_kept_and_counted(outside: Callable[[], Outside]) -> None:
    need("flydsl", "torch")

    found, said = run(outside(), "gfx942", 1, FLYDSL_KTRACE_BUFFER_BYTES="65536")

    # 50 waves and room for 8: FlyDSL shows nothing, and wipes all.
    assert said["refused"].startswith("trace overflowed: ")
    assert found.dispatches["waves"].tolist() == [8, 8, 8]
    assert len(found.slices) == 24
    assert found.losses.counted() == {"missing_waves": 3 * 42}


def test_each_launch_may_have_a_buffer_of_its_own(outside: Callable[[], Outside]) -> None:
    need("flydsl", "torch")
    runner = outside()

    found, said = run(runner, "gfx942", 3, KTRACE_FLYDSL="launch")

    assert said["summary"] is None
    assert found.dispatches["waves"].tolist() == [50] * 3 + [256] + [50] * 2
    assert len(found.slices) == 5 * 50 + 256 * 16
    assert Path(runner.folder / "run.bin").stat().st_size < 16 << 20
