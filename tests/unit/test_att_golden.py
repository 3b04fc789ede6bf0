"""A real bundle, of a flash attention on gfx950: numbers that were worked out by other means."""

import os
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.att.code_table import read_code
from ktrace_cli.att.faults import Faults
from ktrace_cli.att.hotspots import Request, analyse
from ktrace_cli.att.matrix import busy_units
from ktrace_cli.att.results import Hotspots
from ktrace_cli.att.wave_files import read_waves
from support.att import Launched, write_agents, write_kernel_trace

VARIABLE = "KTRACE_ATT_SAMPLE"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get(VARIABLE, "")
    if not Path(named).is_file():
        pytest.skip(f"{VARIABLE} names no .tar.gz of a bundle: it is not ours to ship")
    folder = tmp_path_factory.mktemp("sample")
    with tarfile.open(named) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("ui_output_agent_*"))


@pytest.fixture(scope="module")
def found(bundle: Path) -> Hotspots:
    return analyse(Request(bundle))


def test_the_totals_are_those_of_all_instructions(found: Hotspots) -> None:
    totals = found.totals

    assert (found.instructions, found.executed) == (2_069, 1_894)
    assert (totals.hit, totals.latency, totals.stall, totals.idle) == (
        26_412, 208_060, 107_884, 12_312,
    )  # fmt: skip
    assert found.waves is not None
    assert [simd.place for simd in found.simds] == [(3, 1, 0), (3, 1, 1), (3, 1, 2), (3, 1, 3)]
    assert {simd.instructions for simd in found.simds} == {6_603}


def test_stall_and_idle_of_each_class(found: Hotspots) -> None:
    assert {row.kind.value: (row.sums.stall, row.sums.idle) for row in found.by_class} == {
        "wait_lgkm": (24_556, 0),
        "wait_vm": (21_764, 0),
        "wait_vm_lgkm": (472, 0),
        "s_nop": (19_872, 0),
        "valu": (10_224, 852),
        "vmem_store": (10_964, 448),
        "mfma": (8_924, 0),
        "barrier": (5_236, 240),
        "vmem_load": (4_416, 676),
        "lds": (1_456, 4_800),
        "salu": (0, 4_172),
        "smem": (0, 972),
        "branch": (0, 152),
        "message": (0, 0),
    }


def test_the_decorators_line_is_set_aside(found: Hotspots) -> None:
    shares = {
        (row.frame.line, bool(row.artefact)): round(100 * row.sums.stall / 107_884, 1)
        for row in found.by_source[:2]
    }

    assert shares == {(257, True): 69.1, (283, False): 24.9}


def test_the_target_is_told_by_the_instructions(found: Hotspots) -> None:
    assert (found.target.processor, found.target.is_certain) == ("gfx950", False)


def test_occupancy_is_two_and_limited_by_vgprs(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / bundle.name
    shutil.copytree(bundle, copy)
    launch = Launched(44, "flash_attn_func_kernel_0", 49_152, 124, 0, 112, 256)
    write_kernel_trace(tmp_path / "1_kernel_trace.csv", launch)
    write_agents(tmp_path / "1_agent_info.csv", "gfx950", "gfx950")

    found = analyse(Request(copy))

    assert (found.target.processor, found.target.is_certain) == ("gfx950", True)
    assert found.occupancy is not None
    assert (found.occupancy.waves_per_simd, found.occupancy.limited_by) == (2, "vgpr")
    limits = {limit.name: limit.waves for limit in found.occupancy.limits}
    assert (limits["vgpr"], limits["lds"], limits["sgpr"]) == (2, 3, 7)
    assert found.needs.resources.vgprs == 248


def test_wave_files_and_code_agree(found: Hotspots) -> None:
    assert (found.quality, found.checks) == ((), 7)


def test_a_window_of_the_matrix_unit(bundle: Path) -> None:
    table = read_code(bundle / "code.json", Faults())
    wave = next(
        wave
        for wave in read_waves(bundle, len(table.text), Faults())
        if wave.name == "se3_sm0_sl0_wv0.json"
    )
    is_matrix = np.array([text.startswith("v_mfma") for text in table.text])
    cycles = np.where(is_matrix, 32, 0)
    inside = (wave.time >= 120_000) & (wave.time < 150_000)

    (unit,) = busy_units([wave], cycles).values()
    before, after = unit.until(np.array([120_000, 150_000]))

    issued = wave.issue[inside & is_matrix[wave.line]]
    assert len(issued) == 226
    exposed = 30_000 - int(after - before)
    # Between the first one and the end of the window it is 22,436.
    assert (exposed, exposed - int(issued[0] - 120_000)) == (22_796, 22_436)


def test_each_simd_is_busy_for_320_matrix_instructions(found: Hotspots) -> None:
    assert {(simd.matrix.issued, simd.matrix.busy) for simd in found.simds if simd.matrix} == {
        (320, 10_240.0)
    }
