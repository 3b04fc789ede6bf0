"""Which kernels of two sides are the same, and what of a run is kept."""

from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.analysis.compare.profile import (
    LAUNCH_TIME,
    WAVE_TIME,
    KernelProfile,
    PhaseId,
    RunProfile,
    Shape,
)
from ktrace_cli.analysis.compare.sides import pair_kernels
from ktrace_cli.commands.comparing import load_runs
from ktrace_cli.commands.selection import Unit
from support.comparing import On, begin_recording
from support.recording import Wave
from support.timelines import OUTER, TILE
from support.words import pop, push, span

SHAPE, OTHER_SHAPE = Shape((4, 1, 1), (64, 1, 1)), Shape((8, 1, 1), (64, 1, 1))


def kernel(name: str, parameters: str = "int", shape: Shape = SHAPE) -> KernelProfile:
    return KernelProfile(
        *(name, f"void {name}({parameters})", "gfx942", shape),
        launches=1,
        waves=4,
        units={},
        sampled={},
        table={},
        phases={},
    )


def run(*kernels: KernelProfile) -> RunProfile:
    return RunProfile("run.bin", "ns", 10.0, (), {}, kernels)


def pairs(
    base: RunProfile, new: RunProfile, *, by_shape: bool = True
) -> list[tuple[str, int, int]]:
    """Name, and of how many kernels and shapes each side has; 0: it lacks this one."""
    return [
        (pair.name, *(len(side.parts) if side else 0 for side in (pair.base, pair.new)))
        for pair in pair_kernels([base], [new], by_shape=by_shape)
    ]


def test_parameters_are_no_part_of_a_name() -> None:
    assert pairs(run(kernel("gemm")), run(kernel("gemm", "float"))) == [("gemm", 1, 1)]


def test_parameters_tell_kernels_of_one_name_apart() -> None:
    both = run(kernel("gemm"), kernel("gemm", "float"))

    assert pairs(both, both) == [("void gemm(int)", 1, 1), ("void gemm(float)", 1, 1)]
    assert pairs(both, run(kernel("gemm"))) == [
        ("void gemm(int)", 1, 1),
        ("void gemm(float)", 1, 0),
    ]


def test_shapes_are_compared_one_by_one_or_all_together() -> None:
    base = run(kernel("gemm"), kernel("gemm", shape=OTHER_SHAPE))

    assert pairs(base, run(kernel("gemm"))) == [("gemm", 1, 1), ("gemm", 1, 0)]
    assert pairs(base, run(kernel("gemm")), by_shape=False) == [("gemm", 2, 1)]


@pytest.fixture
def measured(tmp_path: Path) -> KernelProfile:
    """Two workgroups of two waves; wave 1 of each runs `tile` twice, and no other does."""
    made, number = begin_recording(On())
    waves = []
    for block in (0, 1):
        for wave in (0, 1):
            twice = [span(TILE, 4_200, 6_300), span(TILE, 6_300, 10_500 + 2_100 * block)]
            words = [push(OUTER, 2_310), *(twice if wave else []), pop(14_910)]
            waves.append(Wave(begin=2_100, end=23_100, main=words, block=(block, 0, 0), wave=wave))
    made.add_dispatch(number, waves, grid=(2, 1, 1), block=(128, 1, 1))
    path = made.write(tmp_path / "run.bin")
    return load_runs([path], Unit.NS)[0][0].kernels[0]


def test_times_of_a_profile_are_per_wave_of_each_unit(measured: KernelProfile) -> None:
    tile = measured.phases[PhaseId("tile", "range", "")]

    assert (measured.launches, measured.waves) == (1, 4)
    assert measured.units == {"launch": 1, "workgroup": 2, "wave": 4}
    assert (tile.count, tile.total_ns, tile.self_ns) == (4, 7_000, 7_000)
    # 1 us and 2 us, and 1 us and 3 us.
    assert {level: values.tolist() for level, values in tile.values.items()} == {
        "launch": [1_750.0],
        "workgroup": [1_500.0, 2_000.0],
        "wave": [0.0, 3_000.0, 0.0, 4_000.0],
    }


def test_of_many_workgroups_a_thousand_are_drawn_once_each_and_the_same_each_time(
    tmp_path: Path,
) -> None:
    made, number = begin_recording(On())
    waves = [
        Wave(begin=2_100, end=42_000, block=(n, 0, 0), main=[span(TILE, 4_200, 4_221 + 21 * n)])
        for n in range(1_100)
    ]
    made.add_dispatch(number, waves, grid=(1_100, 1, 1))
    path = made.write(tmp_path / "run.bin")

    one, again = (load_runs([path], Unit.NS)[0][0].kernels[0] for _ in range(2))

    tile = PhaseId("tile", "range", "")
    drawn = one.values(tile, "workgroup").tolist()
    assert (one.units["workgroup"], len(set(drawn))) == (1_100, 1_000)
    assert drawn == again.values(tile, "workgroup").tolist()
    assert one.phases[tile].count == 1_100


def test_a_wave_and_a_launch_have_times_without_markers(measured: KernelProfile) -> None:
    assert measured.values(WAVE_TIME, "wave").tolist() == [10_000.0] * 4
    assert measured.values(LAUNCH_TIME, "launch").tolist() == [10_000.0]
    assert measured.values(PhaseId("none", "push", ""), "wave").tolist() == [0.0] * 4


def test_own_time_is_without_what_nests_inside(measured: KernelProfile) -> None:
    outer = measured.phases[PhaseId("outer", "push", "")]

    assert (outer.total_ns, outer.self_ns) == (24_000, 17_000)
    assert np.all(measured.values(outer.id, "workgroup") == 6_000.0)
