"""The launches of one call, taken out of a recording that grows."""

from __future__ import annotations

from pathlib import Path

from ktrace_cli.pytest_plugin.launches import Launches
from support.code_object import KernelSource, make_code_object
from support.recording import RecordingBuilder, Wave
from support.words import pop, push

FULL = [word for at in range(1100, 1900, 100) for word in (push(1, at), pop(at + 50))]
"""As many words as a region of 256 bytes holds."""


def write(path: Path, launches: list[int], dropping: int = 0) -> None:
    """Write a recording that is not closed, with a dispatch for each of these launches.

    The wave of launch number `dropping` filled its region.
    """
    recording = RecordingBuilder()
    code_object = recording.add_code_object(make_code_object([KernelSource("k", unit_key=1)]))
    kernel = recording.add_kernel("k", code_object=code_object, unit_key=1)
    for launch in launches:
        dropped = 3 if launch == dropping else 0
        wave = Wave(main=FULL, dropped_main=dropped)
        recording.add_dispatch(kernel, [wave], launch=launch, region_log2=8)
    path.write_bytes(recording.to_bytes(closed=False))


def found(launches: Launches, before: int, after: int) -> list[int]:
    window = launches.between(before, after)
    return window.timeline.dispatches["launch"].tolist() if window else []


def test_only_launches_of_the_call_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    write(path, [1, 3, 4, 9])

    assert found(Launches(path), 0, 2) == [1]
    assert found(Launches(path), 2, 8) == [3, 4]
    assert found(Launches(path), 4, 8) == []


def test_launches_behind_a_call_are_still_there_for_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    launches = Launches(path)
    write(path, list(range(1, 31)))

    first = found(launches, 0, 2)
    second = found(launches, 2, 30)

    assert first == [1, 2]
    assert second == list(range(3, 31))


def test_losses_are_those_of_the_call_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    write(path, [1, 2, 3], dropping=2)

    losses = [
        window.losses.dropped_words
        for before in range(3)
        if (window := Launches(path).between(before, before + 1))
    ]

    assert losses == [0, 3, 0]
