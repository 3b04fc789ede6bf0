"""Which clock each input of a merge counts, and what ties it to the others."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.clocks import Alignment, Placement, align
from ktrace_cli.importers.host_trace import Clock, HostTrack, Kind
from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from support.host_traces import recording
from support.recording import HOST_EPOCH_NS

HOUR = 3_600_000_000_000
LAUNCHES = [(10_000, 20_000)]


def ours(path: Path, **more: object) -> RecordingInput:
    recording(path, **{"launches": LAUNCHES, **more})  # type: ignore[arg-type]
    return RecordingInput(path, path, build_timeline(read_recording(path)))


def theirs(
    name: str, begin: int, *, clock: Clock = Clock.BOOTTIME, host: str = "", pid: int = 0
) -> TraceInput:
    builder = Builder()
    track = builder.track(HostTrack(builder.process(pid, host=host), "queue 1"))
    columns = {"track": [track], "name": [builder.text("gemm")]}
    builder.add(Kind.KERNEL, {**columns, "begin_ns": [begin], "end_ns": [begin + 1_000]})
    return TraceInput(Path(name), builder.build(Source(Path(name), "made", clock)))


def shifts(aligned: Alignment) -> list[int]:
    return [at.shift_ns for at in (*aligned.recordings, *aligned.traces)]


def refusal(recordings: Sequence[RecordingInput], traces: Sequence[TraceInput]) -> KtraceError:
    with pytest.raises(KtraceError) as problem:
        align(recordings, traces, {})
    return problem.value


def test_recordings_of_one_boot_share_their_clock_as_it_is(tmp_path: Path) -> None:
    first = ours(tmp_path / "a.bin", pid=1)
    second = ours(tmp_path / "b.bin", pid=2, boot_ns=1_500_000)  # the calendar was corrected

    aligned = align([first, second], [], {})

    assert aligned.recordings == (Placement(0, 0), Placement(0, 0))
    assert (aligned.notes, aligned.assumptions) == ((), ())
    assert aligned.axis == "CLOCK_BOOTTIME of node"


def test_another_boot_of_the_same_host_is_tied_by_the_calendar(tmp_path: Path) -> None:
    first = ours(tmp_path / "a.bin", boot_ns=HOUR)
    second = ours(tmp_path / "b.bin")

    aligned = align([first, second], [], {})

    assert aligned.recordings == (Placement(HOUR, 0), Placement(0, 1))
    assert aligned.notes == (
        "node booted 3600 s after the first machine: tied to it by the calendar, as well as their"
        " clocks agree",
    )


def test_hosts_are_tied_by_the_calendar(tmp_path: Path) -> None:
    first = ours(tmp_path / "a.bin", host="node1")
    second = ours(tmp_path / "b.bin", host="node2", boot_ns=20_000_000)

    aligned = align([first, second], [], {})

    assert aligned.recordings == (Placement(0, 0), Placement(20_000_000, 1))
    assert aligned.axis == "CLOCK_BOOTTIME of node1"


def test_hosts_that_booted_at_one_moment_are_taken_as_containers_of_one(tmp_path: Path) -> None:
    first = ours(tmp_path / "a.bin", host="0f3a")
    second = ours(tmp_path / "b.bin", host="77bc", boot_ns=400_000)

    aligned = align([first, second], [], {})

    assert aligned.recordings == (Placement(0, 0), Placement(0, 0))
    assert aligned.assumptions == (
        f"{tmp_path}/b.bin: host 77bc booted within 400 us of 0f3a: taken as one machine",
    )


def test_software_devices_are_shown_as_if_they_had_begun_together(tmp_path: Path) -> None:
    inputs = [ours(tmp_path / f"{name}.bin", hardware=False) for name in "ab"]

    aligned = align(inputs, [], {})

    assert shifts(aligned) == [0, 0]
    assert aligned.axis == "a software device's modelled time"
    assert aligned.assumptions == (
        "times of software devices are modelled and have no calendar: the 2 recordings are shown"
        " as if they had begun at one moment",
    )


def test_modelled_and_measured_times_are_not_mixed(tmp_path: Path) -> None:
    inputs = [ours(tmp_path / "a.bin", hardware=False), ours(tmp_path / "b.bin")]

    problem = refusal(inputs, [])

    assert problem.what == f"cannot merge {tmp_path}/a.bin with {tmp_path}/b.bin"


def test_a_trace_of_a_named_host_is_on_that_hosts_clock(tmp_path: Path) -> None:
    first = ours(tmp_path / "a.bin", host="node1")
    second = ours(tmp_path / "b.bin", host="node2", boot_ns=HOUR)

    aligned = align([first, second], [theirs("x.json", HOST_EPOCH_NS, host="node2")], {})

    assert aligned.traces == (Placement(HOUR, 1),)
    assert aligned.assumptions == ()


def test_a_trace_in_a_folder_called_like_a_host_is_on_that_hosts_clock(tmp_path: Path) -> None:
    """So rocprofv3 names folders by default."""
    first = ours(tmp_path / "a.bin", host="node1")
    second = ours(tmp_path / "b.bin", host="node2", boot_ns=HOUR)

    aligned = align([first, second], [theirs("out/node2/7_*.csv", HOST_EPOCH_NS)], {})

    assert aligned.traces == (Placement(HOUR, 1),)


def test_a_trace_without_a_host_belongs_to_the_one_recording(tmp_path: Path) -> None:
    aligned = align([ours(tmp_path / "a.bin")], [theirs("x.csv", HOST_EPOCH_NS + 5_000)], {})

    assert aligned.traces == (Placement(0, 0),)
    assert aligned.assumptions == ()


def test_a_trace_that_overlaps_with_nothing_is_assumed_to_be_of_the_boot(tmp_path: Path) -> None:
    aligned = align([ours(tmp_path / "a.bin")], [theirs("x.csv", 5_000)], {})

    assert aligned.traces == (Placement(0, 0),)
    assert aligned.assumptions == (
        "x.csv does not overlap in time with any recording: taken as recorded since the same boot"
        " of node",
    )


def test_a_trace_of_another_host_that_overlaps_is_assumed_to_be_of_the_boot(tmp_path: Path) -> None:
    trace = theirs("x.json", HOST_EPOCH_NS + 5_000, host="outside")

    aligned = align([ours(tmp_path / "a.bin", host="container")], [trace], {})

    assert aligned.assumptions == (
        "x.json is taken as recorded on container: its times overlap with that one's",
    )


def test_a_trace_of_another_host_that_overlaps_with_nothing_is_refused(tmp_path: Path) -> None:
    problem = refusal([ours(tmp_path / "a.bin")], [theirs("x.json", 5_000, host="far")])

    assert problem.what == "cannot tie x.json to the recordings"
    assert problem.why == (
        "it counts CLOCK_BOOTTIME of far; the recordings are of node, and none overlaps with it in"
        " time"
    )


def test_where_several_hosts_overlap_the_process_decides(tmp_path: Path) -> None:
    recordings = [
        ours(tmp_path / "a.bin", host="node1", pid=1),
        ours(tmp_path / "b.bin", host="node2", pid=2, boot_ns=HOUR),
    ]

    aligned = align(recordings, [theirs("2_kernel_trace.csv", HOST_EPOCH_NS + 5_000, pid=2)], {})
    problem = refusal(recordings, [theirs("kernel_trace.csv", HOST_EPOCH_NS + 5_000)])

    assert aligned.traces == (Placement(HOUR, 1),)
    assert "more than one overlaps" in problem.why


def test_the_calendar_is_tied_to_the_axis_by_the_recordings_clocks(tmp_path: Path) -> None:
    recordings = [ours(tmp_path / "a.bin"), ours(tmp_path / "b.bin", host="far", boot_ns=HOUR)]
    trace = theirs("x.pt.trace.json", 2 * HOST_EPOCH_NS, clock=Clock.REALTIME, host="far")

    aligned = align(recordings, [trace], {})

    assert aligned.traces == (Placement(-HOST_EPOCH_NS, 1),)


def test_the_calendar_can_not_be_tied_to_a_software_device(tmp_path: Path) -> None:
    recordings = [ours(tmp_path / "a.bin", hardware=False)]

    problem = refusal(recordings, [theirs("x.json", HOST_EPOCH_NS, clock=Clock.REALTIME)])

    assert problem.why == (
        "it counts CLOCK_REALTIME, and the recordings' clock is a software device's"
    )
    assert "--shift FILE=NS" in problem.fix


def test_a_trace_that_overlaps_with_modelled_time_is_assumed_to_count_it(tmp_path: Path) -> None:
    recordings = [ours(tmp_path / "a.bin", hardware=False)]

    aligned = align(recordings, [theirs("x.csv", HOST_EPOCH_NS + 5_000)], {})
    problem = refusal(recordings, [theirs("y.csv", 5_000)])

    assert aligned.assumptions == (
        "x.csv is taken as counting the software device's modelled time, as its times overlap with"
        " the recording's",
    )
    assert "the recordings are of a software device" in problem.why


def test_an_unknown_clock_is_refused_unless_the_user_says_the_shift(tmp_path: Path) -> None:
    recordings = [ours(tmp_path / "a.bin")]
    trace = theirs("x.json", 5_000, clock=Clock.UNKNOWN)

    problem = refusal(recordings, [trace])
    aligned = align(recordings, [trace], {Path("x.json"): HOST_EPOCH_NS})

    assert problem.what == "cannot tell when x.json was recorded"
    assert aligned.traces == (Placement(HOST_EPOCH_NS, 0),)
    assert aligned.assumptions == ("x.json: 1,700,000,000,000,000,000 ns are added, as asked for",)


def test_a_recording_can_be_shifted(tmp_path: Path) -> None:
    first, second = ours(tmp_path / "a.bin"), ours(tmp_path / "b.bin")

    aligned = align([first, second], [], {tmp_path / "b.bin": -700})

    assert shifts(aligned) == [0, -700]


def test_traces_without_a_recording_must_count_one_clock() -> None:
    boottime = theirs("x.json", 5_000, host="node")
    calendar = theirs("y.json", HOST_EPOCH_NS, clock=Clock.REALTIME)

    problem = refusal([], [boottime, calendar])

    assert problem.what == "cannot tie y.json to x.json"
    assert (
        problem.why
        == "the first counts CLOCK_REALTIME of a host, the second CLOCK_BOOTTIME of node"
    )


def test_traces_of_the_calendar_need_no_recording() -> None:
    traces = [
        theirs("x.json", HOST_EPOCH_NS, clock=Clock.REALTIME, host="node1"),
        theirs("y.json", HOST_EPOCH_NS, clock=Clock.REALTIME, host="node2"),
    ]

    aligned = align([], traces, {})

    assert aligned.traces == (Placement(0, 0), Placement(0, 1))
    assert aligned.axis == "CLOCK_REALTIME"


def test_traces_that_do_not_name_their_host_are_assumed_to_share_it() -> None:
    aligned = align([], [theirs("x.csv", 5_000), theirs("y.csv", 6_000)], {})

    assert shifts(aligned) == [0, 0]
    assert aligned.assumptions == (
        "y.csv and x.csv do not both name their host: taken as counting one clock",
    )
