"""Stages that take long tell how far they are."""

from pathlib import Path

import pytest

from ktrace_cli.progress import part_of
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.trace_file.reader import read_recording
from support.recording import Wave
from support.timelines import LOAD, MMA, TILE, builder
from support.words import phase, span, start, stop

EDGES = [("load", "mma")]


def write(folder: Path, edges: list[tuple[str, str]]) -> Path:
    recording, kernel = builder(edges)
    words = [start(LOAD, 1100, token="a"), stop("a", 1300), phase(MMA, 1400)]
    words += [span(TILE, 2_000 + 10 * i, 2_005 + 10 * i) for i in range(100)]
    for _ in range(20):
        waves = [Wave(block=(i, 0, 0), main=words) for i in range(10)]
        recording.add_dispatch(kernel, waves, grid=(10, 1, 1), region_log2=11)
    return recording.write(folder / "run.bin")


def test_reading_tells_how_much_of_the_file_was_checked(tmp_path: Path) -> None:
    shares: list[float] = []

    read_recording(write(tmp_path, []), shares.append)

    assert len(shares) > 20
    assert all(share > 0 for share in shares)
    assert 0.95 < sum(shares) <= 1


@pytest.mark.parametrize("edges", [[], EDGES])
def test_decoding_tells_shares_that_add_up_to_one(
    tmp_path: Path, edges: list[tuple[str, str]]
) -> None:
    shares: list[float] = []

    build_timeline(read_recording(write(tmp_path, edges)), shares.append)

    assert sum(shares) == pytest.approx(1)


def test_a_part_of_the_work_tells_its_share_of_the_whole() -> None:
    shares: list[float] = []

    part_of(shares.append, 0.25)(0.5)

    assert shares == [0.125]


def test_reading_parts_tells_shares_and_changes_nothing(tmp_path: Path) -> None:
    timeline = build_timeline(read_recording(write(tmp_path, EDGES)))
    shares: list[float] = []
    told = with_progress(timeline, shares.append, passes=2)

    for _ in range(2):
        pairs = zip(told.parts(), timeline.parts(), strict=True)
        for part, own in pairs:
            assert part.slices.tolist() == own.slices.tolist()

    assert sum(shares) == pytest.approx(1)


def test_a_timeline_without_waves_tells_nothing(tmp_path: Path) -> None:
    recording, _ = builder()
    timeline = build_timeline(read_recording(recording.write(tmp_path / "run.bin")))
    shares: list[float] = []

    parts = list(with_progress(timeline, shares.append).parts())

    assert (parts, shares) == ([], [])
