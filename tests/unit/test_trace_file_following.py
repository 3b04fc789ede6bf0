"""Reading a recording while it is written."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.trace_file.following import Follower
from ktrace_cli.trace_file.layout import FILE_HEADER
from support.code_object import KernelSource, make_code_object
from support.recording import RecordingBuilder, Wave
from support.words import pop, push


def growing(dispatches: int) -> bytes:
    """Return a recording of so many dispatches that is not closed yet."""
    recording = RecordingBuilder()
    code_object = recording.add_code_object(make_code_object([KernelSource("k", unit_key=1)]))
    kernel = recording.add_kernel("k", code_object=code_object, unit_key=1)
    for _ in range(dispatches):
        recording.add_dispatch(kernel, [Wave(main=[push(1, 1100), pop(1500)])])
    return recording.to_bytes(closed=False)


def numbers(follower: Follower) -> list[int]:
    read = follower.read()
    assert read.damage.counted() == {}
    assert [kernel.name for kernel in read.kernels.values()] == ["k"]
    return [dispatch.number for dispatch in read.dispatches]


def test_each_dispatch_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    follower = Follower(path)

    path.write_bytes(growing(2))
    first = numbers(follower)
    second = numbers(follower)
    path.write_bytes(growing(5))
    third = numbers(follower)

    assert (first, second, third) == ([1, 2], [], [3, 4, 5])


def test_a_chunk_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    follower = Follower(path)

    path.write_bytes(growing(3)[:-10])
    before = numbers(follower)
    path.write_bytes(growing(3))
    after = numbers(follower)

    assert (before, after) == ([1, 2], [3])


def test_a_chunk_that_is_missing_among_the_new_ones_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    follower = Follower(path)
    two, three, four = growing(2), growing(3), growing(4)

    path.write_bytes(two)
    follower.read()
    path.write_bytes(two + four[len(three) :])
    read = follower.read()

    assert [dispatch.number for dispatch in read.dispatches] == [4]
    assert read.damage.counted() == {"missing_chunks": 1}


@given(st.lists(st.integers(0, len(growing(4))), max_size=6))
def test_however_it_grows_all_is_read_once(tmp_path_factory, cuts: list[int]) -> None:
    whole = growing(4)
    path = tmp_path_factory.mktemp("growing") / "run.bin"
    follower = Follower(path)
    found = []

    for size in [*sorted(max(cut, FILE_HEADER.itemsize) for cut in cuts), len(whole)]:
        path.write_bytes(whole[:size])
        found += [dispatch.number for dispatch in follower.read().dispatches]

    assert found == [1, 2, 3, 4]
