"""What the Perfetto UI shows first."""

from pathlib import Path

import pytest

from ktrace_cli.export import tracks
from ktrace_cli.export.opening import Opening, plan_opening
from support.recording import Wave
from support.timelines import build, builder, decode
from support.traces import exact


def test_it_is_the_first_workgroup_of_the_first_dispatch(tmp_path: Path) -> None:
    recording, kernel = builder()
    for begin in (2_100_000, 8_400_000):
        waves = [exact(begin, [], block=(i, 0, 0), xcc=2 - i) for i in range(3)]
        recording.add_dispatch(kernel, waves, grid=(3, 1, 1))

    timeline = build(recording, tmp_path)
    begin = int(timeline.dispatches["begin_ns"][0])
    assert plan_opening(timeline) == Opening(
        tracks=("dispatch 1", "XCD 0 · SE 0 · CU 0", "workgroup 2,0,0"),
        begin_ns=begin,
        end_ns=begin + 1_000_000,
    )


def test_of_very_many_waves_it_is_the_first_cu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracks, "MOST_WAVE_TRACKS", 1)
    timeline = decode([exact(2_100_000, [], wave=i, xcc=3) for i in range(2)], tmp_path)

    opening = plan_opening(timeline)

    assert opening is not None
    assert opening.tracks == ("XCD 3", "SE 0 · CU 0")


def test_no_name_of_kernel_program_or_role_is_in_it(tmp_path: Path) -> None:
    opening = plan_opening(decode([exact(2_100_000, [])], tmp_path))

    assert opening is not None
    assert not [name for name in opening.tracks if "gemm" in name or "app" in name]


def test_without_a_readable_wave_there_is_nothing_to_open(tmp_path: Path) -> None:
    assert plan_opening(decode([], tmp_path)) is None
    assert plan_opening(decode([Wave(header={"state": 77})], tmp_path)) is None
