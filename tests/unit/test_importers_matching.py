"""Which kernels of other tools are dispatches of ours."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.clocks import Placement
from ktrace_cli.importers.host_trace import Clock, HostTrack, Kind
from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.importers.kernel_names import is_same_kernel
from ktrace_cli.importers.matching import Match, match
from ktrace_cli.importers.report import sentences_on_matches
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from support.host_traces import recording
from support.recording import HOST_EPOCH_NS

HERE = (Placement(0, 0), Placement(0, 0))
GEMM = "_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE"
Kernels = Sequence[tuple[str, int, int]]


def ours(folder: Path, launches: Sequence[tuple[int, int]], *, pid: int = 4242) -> RecordingInput:
    path = recording(folder / "a.bin", launches=launches, pid=pid)
    return RecordingInput(path, path, build_timeline(read_recording(path)))


def theirs(kernels: Kernels, *, pid: int = 0) -> TraceInput:
    """Kernels by name, begin and end after the epoch."""
    builder = Builder()
    track = builder.track(HostTrack(builder.process(pid), "queue 1", device="agent 2"))
    builder.add(
        Kind.KERNEL,
        {
            "track": [track] * len(kernels),
            "name": builder.texts([name for name, _, _ in kernels]),
            "begin_ns": [HOST_EPOCH_NS + begin for _, begin, _ in kernels],
            "end_ns": [HOST_EPOCH_NS + end for _, _, end in kernels],
        },
    )
    return TraceInput(Path("x.csv"), builder.build(Source(Path("x.csv"), "made", Clock.BOOTTIME)))


def matched(recording: RecordingInput, trace: TraceInput) -> Match:
    found = match(recording, trace, HERE)
    assert found is not None
    return found


def test_dispatches_are_the_kernels_that_they_overlap_with(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 20_000), (30_000, 40_000)])
    trace = theirs(
        [
            ("fill", 9_000, 21_000),
            ("gemm(float*, int)", 9_900, 20_100),
            ("gemm(float*, int)", 29_900, 40_100),
            ("gemm(float*, int)", 60_000, 70_000),
        ]
    )

    found = matched(recording, trace)

    assert found.slice_of_dispatch.tolist() == [1, 2]
    assert (found.count, found.by_order, found.candidates, found.outside_ns) == (2, 0, 3, 0)


def test_of_kernels_at_one_time_the_one_that_overlaps_most_is_taken(tmp_path: Path) -> None:
    """Two streams run the same kernel at once."""
    recording = ours(tmp_path, [(10_000, 20_000), (12_000, 22_000)])
    trace = theirs([("gemm", 9_000, 9_500), ("gemm", 9_900, 20_050), ("gemm", 11_900, 22_050)])

    assert matched(recording, trace).slice_of_dispatch.tolist() == [1, 2]


def test_a_kernel_is_one_dispatch_only(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 20_000), (15_000, 25_000)])

    found = matched(recording, theirs([("gemm", 9_000, 26_000)]))

    assert found.count == 1


def test_how_far_waves_are_outside_of_their_kernel_is_told(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 20_000), (30_000, 40_000)])
    trace = theirs([("gemm", 10_700, 20_000), ("gemm", 29_000, 38_800)])

    assert matched(recording, trace).outside_ns == 1_200


def test_short_kernels_beside_their_dispatch_are_told_by_their_order(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 11_000), (50_000, 51_000)])
    trace = theirs([("gemm", 12_000, 13_000), ("gemm", 52_000, 53_000)])

    found = matched(recording, trace)

    assert found.slice_of_dispatch.tolist() == [0, 1]
    assert found.by_order == 2


def test_a_clock_that_is_off_by_a_kernel_does_not_shift_the_launches(tmp_path: Path) -> None:
    """Each dispatch overlaps with the slice of the one before it."""
    recording = ours(tmp_path, [(10_000, 12_000), (12_000, 14_000), (14_000, 16_000)])
    slices = [("gemm", 12_200, 14_200), ("gemm", 14_200, 16_200), ("gemm", 16_200, 18_200)]

    found = matched(recording, theirs(slices))

    assert found.slice_of_dispatch.tolist() == [0, 1, 2]
    assert (found.by_order, found.outside_ns) == (3, 2_200)


def test_a_kernel_long_after_the_launch_is_another_one(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 20_000)])

    assert matched(recording, theirs([("gemm", 5_000_000, 5_010_000)])).count == 0


def test_processes_and_machines_that_differ_are_not_matched(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 20_000)])
    kernels = [("gemm", 10_000, 20_000)]

    assert match(recording, theirs(kernels, pid=1), HERE) is None
    assert match(recording, theirs(kernels, pid=4242), HERE) is not None
    assert match(recording, theirs(kernels), (Placement(0, 0), Placement(0, 1))) is None


def test_of_several_processes_in_one_file_ours_is_matched(tmp_path: Path) -> None:
    """Ranks run the same kernels at the same time."""
    builder = Builder()
    tracks = [builder.track(HostTrack(builder.process(pid), "queue 1")) for pid in (1, 4242)]
    columns = {"name": [builder.text("gemm")] * 2, "track": tracks}
    begins = [HOST_EPOCH_NS + 10_000, HOST_EPOCH_NS + 10_100]
    ends = [HOST_EPOCH_NS + 20_000, HOST_EPOCH_NS + 20_100]
    builder.add(Kind.KERNEL, {**columns, "begin_ns": begins, "end_ns": ends})
    trace = builder.build(Source(Path("x.db"), "made", Clock.BOOTTIME))

    found = matched(ours(tmp_path, [(10_000, 20_000)]), TraceInput(Path("x.db"), trace))

    assert found.slice_of_dispatch.tolist() == [1]
    assert found.candidates == 1


def test_shifts_of_both_are_heeded(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 20_000)])
    trace = theirs([("gemm", 4_010_000, 4_020_000)])

    found = match(recording, trace, (Placement(1_000_000, 0), Placement(-3_000_000, 0)))

    assert found is not None
    assert (found.count, found.by_order, found.outside_ns) == (1, 0, 0)


@pytest.mark.parametrize(
    ("theirs", "is_same"),
    [
        (GEMM, True),
        (f"{GEMM}.kd", True),
        (
            "void gemm<64, 32>(_Float16 const*, _Float16 const*, float*, int, int, ktrace::sink)",
            True,
        ),
        ("gemm<64,32>", True),
        ("gemm", True),
        ("void gemm<64, 32>(_Float16 cons...", True),
        ("void gemm<64, 64>(_Float16 const*, _Float16 const*, float*, int, int)", False),
        ("gemm<64>", False),
        ("other::gemm<64, 32>(int)", False),
        ("gem", False),
        ("", False),
        ("...", False),
    ],
)
def test_names_are_compared_as_tools_write_them(theirs: str, is_same: bool) -> None:
    assert is_same_kernel(GEMM, theirs) is is_same


def test_of_a_recording_without_dispatches_only_what_is_missing_is_said(tmp_path: Path) -> None:
    recording, trace = ours(tmp_path, []), theirs([("gemm", 10_000, 20_000)])

    said, missing = sentences_on_matches([recording], [trace], {(0, 0): matched(recording, trace)})

    assert said == []
    assert missing == [
        f"x.csv: 1 kernel is called like one of {tmp_path}/a.bin, but no dispatch of it"
    ]


def test_what_is_matched_and_what_is_not_is_said(tmp_path: Path) -> None:
    recording = ours(tmp_path, [(10_000, 20_000), (30_000, 40_000)])
    trace = theirs([("gemm", 10_100, 20_000), ("gemm", 9_000_000, 9_001_000)])

    said, missing = sentences_on_matches([recording], [trace], {(0, 0): matched(recording, trace)})

    path = tmp_path / "a.bin"
    assert said == [
        f"matched 1 of 2 dispatches of {path} to x.csv;"
        " waves are up to 100 ns outside of their kernel"
    ]
    assert missing == [
        f"x.csv: 1 kernel is called like one of {path}, but no dispatch of it",
        f"{path}: 1 dispatch is in no other trace: 1 of gemm(float*, int)",
    ]
