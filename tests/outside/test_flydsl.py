"""FlyDSL 0.5.0: its compiler's kernels, and its own in-kernel trace read by its own decoder.

Nothing is set for it: the compiler finds a linker where `ktrace run` lets ROCM_PATH lead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from outside.running import TARGETS, Outside, Results, need


class Said(NamedTuple):
    """What the program saved, and what FlyDSL's decoder said of its own buffer."""

    arrays: Results
    decoded: dict[str, Any]


@pytest.fixture(scope="module", params=TARGETS)
def ran(request: pytest.FixtureRequest, outside: Callable[[], Outside]) -> Said:
    need("flydsl", "torch")
    runner = outside()
    saved = runner.folder / "results.npz"
    done = runner.run(
        request.param,
        "flydsl_kernels.py",
        saved,
        FLYDSL_KTRACE_ENABLE="0",  # only what the program itself has traced: see test_flydsl_live
        FLYDSL_RUNTIME_CACHE_DIR=str(runner.folder / "cache"),
    )
    assert "saw 4 code objects (0 annotated" in done.stderr
    assert "and 6 launches" in done.stderr
    with np.load(saved) as arrays:
        return Said(dict(arrays), json.loads(done.stdout))


def test_sums_are_exact_traced_or_not(ran: Said) -> None:
    arrays = ran.arrays

    assert (arrays["c"] == arrays["a"] + arrays["b"]).all()
    assert (arrays["traced_c"] == arrays["c"]).all()


def test_a_product_by_matrix_instructions_is_that_of_numpy_traced_or_not(ran: Said) -> None:
    arrays = ran.arrays
    left, right = (arrays[name].astype(np.float64) for name in ("left", "right"))

    error = np.abs(arrays["product"] - left @ right.T)

    assert (error <= 2.0**-20 * (np.abs(left) @ np.abs(right).T)).all()
    assert (arrays["traced_product"] == arrays["product"]).all()


def test_flydsls_decoder_finds_every_record_of_every_wave(ran: Said) -> None:
    add, gemm = ran.decoded["add"]["summary"], ran.decoded["gemm"]["summary"]

    # 3 launches of 50 waves: a range begins and ends, and a mark; 64 workgroups of 4 waves
    assert (add["waves"], add["records"]) == (150, 450)
    assert {name: phase["count"] for name, phase in add["phases"].items()} == {
        "load": 150,
        "sum": 150,
    }
    assert (gemm["waves"], gemm["records"]) == (256, 8192)
    assert gemm["phases"]["tile"]["count"] == 256 * 16
    assert gemm["phases"]["tile"]["total_ns"] > 256 * 16 * 10  # longer than one tick each


def test_flydsls_decoder_tells_launches_of_one_stream_apart(ran: Said) -> None:
    launches = ran.decoded["add"]["launches"] + ran.decoded["gemm"]["launches"]

    assert [launch["waves"] for launch in launches] == [50, 50, 50, 256]
    assert len({launch["queue_id"] for launch in launches}) == 1
    first = launches[0]["dispatch_id"]
    assert [launch["dispatch_id"] for launch in launches] == [first + k for k in range(4)]


def test_flydsl_writes_its_traces(ran: Said) -> None:
    assert ran.decoded["add"]["exported"] == "add_ktrace.pftrace.gz"
    assert ran.decoded["add"]["size"] > 10_000
    assert ran.decoded["gemm"]["size"] > 100_000
