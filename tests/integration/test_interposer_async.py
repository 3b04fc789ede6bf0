"""Asynchronous launches from several threads on several streams: all are recorded or counted."""

import time
from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.trace_file.reader import read_recording
from support.async_hip import SAXPY_UNTRACED, Bench, build
from support.preloaded import run_script


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    built = build(tmp_path_factory.mktemp("bench"))
    if built is None:
        pytest.skip("no C++ compiler")
    return built


def test_every_launch_of_many_threads_and_streams_is_recorded(bench: Bench, tmp_path: Path) -> None:
    launched = bench.run(
        tmp_path,
        threads=4,
        streams=3,
        launches=250,
        environment={"STAND_IN_ASYNC": "1", "KTRACE_WORDS": "64"},
    )

    status, recording = launched.status, read_recording(launched.recording)
    assert (status.launches, status.dispatches, status.losses) == (1000, 1000, {})
    numbers = sorted(int(dispatch.record["dispatch"]) for dispatch in recording.dispatches)
    assert numbers == list(range(1, 1001))
    assert {len(dispatch.headers) for dispatch in recording.dispatches} == {1}
    by_stream: dict[int, list[int]] = {}
    for dispatch in recording.dispatches:
        by_stream.setdefault(int(dispatch.record["stream"]), []).append(
            int(dispatch.record["launch"])
        )
    assert sorted(by_stream) == list(range(1, 13))
    assert all(launches == sorted(launches) for launches in by_stream.values())
    assert recording.damage.not_closed == 0


def test_every_launch_that_finds_no_buffer_is_counted(bench: Bench, tmp_path: Path) -> None:
    launched = bench.run(
        tmp_path,
        threads=4,
        streams=2,
        launches=500,
        environment={"STAND_IN_ASYNC": "1", "KTRACE_WORDS": "64", "KTRACE_MEMORY": "65536"},
    )

    status = launched.status
    assert set(status.losses) <= {LossReason.POOL_EXHAUSTED}
    assert status.dispatches + sum(status.losses.values()) == 2000
    # The memory has room for 85 buffers, which are used again.
    assert status.dispatches >= 85
    assert len(read_recording(launched.recording).dispatches) == status.dispatches
    assert int(launched.values["waves"]) == status.dispatches


def test_a_launch_waits_for_a_buffer_where_that_is_asked_for(bench: Bench, tmp_path: Path) -> None:
    launched = bench.run(
        tmp_path,
        threads=4,
        streams=4,
        launches=400,
        environment={
            "STAND_IN_ASYNC": "1",
            "KTRACE_WORDS": "64",
            "KTRACE_MEMORY": "65536",
            "KTRACE_ON_FULL": "wait",
            "KTRACE_ON_FULL_MS": "60000",
        },
    )

    status = launched.status
    assert (status.launches, status.dispatches, status.losses) == (1600, 1600, {})
    assert 0 < status.waited_launches <= 1600
    assert status.waited_ns > 0


def test_a_traced_launch_adds_two_calls_of_hip(bench: Bench, tmp_path: Path) -> None:
    # 64 launches come before those that are counted: buffers are made for them. Each launch is one
    # call; the copy of its control block and the event behind it are ours.
    plain = bench.run(tmp_path / "plain", launches=464, preloads=())
    traced = bench.run(tmp_path / "traced", launches=464, extra="settle")

    assert plain.values["calls"] == 1
    # A buffer that is used for the first time is cleared: no more than 200 in a batch.
    assert 3 <= traced.values["calls"] <= 3 + 200 / 400
    assert traced.status.dispatches == 464


def test_with_several_devices_a_stream_is_asked_for_its_device_once(
    bench: Bench, tmp_path: Path
) -> None:
    traced = bench.run(
        tmp_path, streams=3, launches=64 + 4000, environment={"STAND_IN_DEVICES": "2"}
    )

    assert 3 <= traced.values["calls"] <= 3.6


def test_an_unannotated_launch_adds_no_call(bench: Bench, tmp_path: Path) -> None:
    traced = bench.run(tmp_path, code_object=SAXPY_UNTRACED, launches=464)

    assert traced.values["calls"] == 1
    assert (traced.status.launches, traced.status.annotated_launches) == (464, 0)


@pytest.mark.parametrize("words", [64, 1024, 8192])
def test_of_a_half_full_region_its_words_are_copied_and_no_more(
    words: int, bench: Bench, tmp_path: Path
) -> None:
    events = words // 2 - 16  # a header is 16 words
    traced = bench.run(
        tmp_path,
        launches=100,
        environment={"KTRACE_WORDS": str(words), "STAND_IN_WORDS": str(events)},
    )

    assert traced.status.dispatches == 100
    assert traced.values["to_host"] == 100 * (128 + events * 8)


def test_threads_of_the_software_device_are_recorded(tmp_path: Path) -> None:
    outcome = run_script(
        "import threading\n"
        "host = Host(open_hip(), SAXPY)\n"
        "def work():\n"
        "    streams = [ctypes.c_void_p() for _ in range(2)]\n"
        "    for stream in streams: host.hip.hipStreamCreate(ctypes.byref(stream))\n"
        "    for i in range(6): assert host.launch(stream=streams[i % 2]) == 0\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    status = outcome.status
    assert (status.launches, status.dispatches, status.losses) == (24, 24, {})
    assert len({int(d.record["stream"]) for d in outcome.recording.dispatches}) == 8


def test_after_a_reset_launches_are_recorded_again(tmp_path: Path) -> None:
    # Whatever of ours was on the device is gone, and so are the handles of the program's streams.
    outcome = run_script(
        "hip = open_hip()\n"
        "for _ in range(3):\n"
        "    host, stream = Host(hip, SAXPY), ctypes.c_void_p()\n"
        "    assert hip.hipStreamCreate(ctypes.byref(stream)) == 0\n"
        "    for _ in range(3): assert host.launch(stream=stream) == 0\n"
        "    assert host.is_right()\n"
        "    assert hip.hipDeviceReset() == 0\n"
        "print(hip.hipGetLastError())\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "0\n", "")
    status = outcome.status
    assert (status.launches, status.dispatches, status.losses) == (9, 9, {})
    dispatches = outcome.recording.dispatches
    assert [len(dispatch.headers) for dispatch in dispatches] == [16] * 9
    assert [int(dispatch.record["stream"]) for dispatch in dispatches] == [1] * 3 + [2] * 3 + [
        3
    ] * 3


def test_buffers_are_on_the_device_of_the_stream_and_the_threads_device_stays(
    tmp_path: Path,
) -> None:
    outcome = run_script(
        "hip = open_hip()\n"
        "hosts, streams, current = [], [], ctypes.c_int()\n"
        "for device in (0, 1):\n"
        "    assert hip.hipSetDevice(device) == 0\n"
        "    hosts.append(Host(hip, SAXPY))\n"
        "    streams.append(ctypes.c_void_p())\n"
        "    assert hip.hipStreamCreate(ctypes.byref(streams[-1])) == 0\n"
        "for device in (0, 1, 0, 1, 1, 0):\n"
        "    assert hip.hipSetDevice(device) == 0\n"
        "    for stream in (streams[device], None):\n"
        "        assert hosts[device].launch(stream=stream) == 0\n"
        "        assert hip.hipGetDevice(ctypes.byref(current)) == 0\n"
        "        assert current.value == device\n"
        "print('right' if all(host.is_right() for host in hosts) else 'wrong')\n",
        tmp_path,
        environment={"KTRACE_SOFT_DEVICES": "2"},
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    devices = [int(dispatch.record["device"]) for dispatch in outcome.recording.dispatches]
    assert devices == [0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0]


def test_threads_that_go_on_launching_do_not_hold_up_the_end_of_the_process(
    bench: Bench, tmp_path: Path
) -> None:
    begun = time.monotonic()

    (status,) = bench.race(tmp_path, "exit", turns=200)

    assert time.monotonic() - begun < 30  # the writer's last moment is 60 s away
    assert set(status.losses) <= {LossReason.NOT_FINISHED}
    assert status.dispatches >= 200
    assert read_recording(tmp_path / "run.bin").damage.not_closed == 0


def test_threads_of_a_child_that_call_hip_first_at_once_are_all_counted(
    bench: Bench, tmp_path: Path
) -> None:
    statuses = bench.race(tmp_path, "first-forks", turns=4)

    counts = sorted((status.launches, status.dispatches) for status in statuses)
    assert counts == [(10, 10), (40, 40), (40, 40), (40, 40), (40, 40)]


def test_modules_that_come_and_go_on_several_threads_are_all_traced(
    bench: Bench, tmp_path: Path
) -> None:
    (status,) = bench.race(tmp_path, "modules", turns=50)

    assert (status.launches, status.dispatches, status.losses) == (400, 400, {})


def test_resets_lose_nothing_that_was_launched_before(bench: Bench, tmp_path: Path) -> None:
    (status,) = bench.race(tmp_path, "resets", turns=5)

    assert (status.launches, status.dispatches, status.losses) == (200, 200, {})
