"""What the recording says of the launches: shapes, streams, buffers, filters, sizes, times."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.trace_file import layout
from support.preloaded import SAXPY, Outcome, run_script

HOST = "host = Host(open_hip(), SAXPY, int(os.environ.get('N', 1000)))\n"
RIGHT = "print('right' if host.is_right() else 'wrong', flush=True)\n"
PLAIN = f"{HOST}assert host.launch() == 0\n{RIGHT}"


def run(script: str, folder: Path, **environment: str) -> Outcome:
    outcome = run_script(script, folder, environment=environment)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    return outcome


def records(outcome: Outcome) -> list[np.void]:
    return [dispatch.record for dispatch in outcome.recording.dispatches]


def column(outcome: Outcome, name: str) -> list[Any]:
    return [record[name].tolist() for record in records(outcome)]


def chunks(outcome: Outcome) -> list[tuple[int, bytes]]:
    """Type and payload of each chunk, in file order."""
    data, at, found = outcome.path.read_bytes(), layout.FILE_HEADER.itemsize, []
    while at < len(data):
        header = np.frombuffer(data, layout.CHUNK_HEADER, 1, at)[0]
        begin = at + layout.CHUNK_HEADER.itemsize
        at = begin + int(header["length"])
        found.append((int(header["type"]), data[begin:at]))
    return found


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    script = (
        HOST + "stream = ctypes.c_void_p()\n"
        "host.hip.hipStreamCreate(ctypes.byref(stream))\n"
        "for i in range(6): host.launch(stream=stream if i % 2 else None)\n" + RIGHT
    )

    outcome = run(script, tmp_path)
    first = outcome.path.read_bytes()
    dispatches = len(outcome.recording.dispatches)
    outcome.path.unlink()
    second = run(script, tmp_path).path.read_bytes()

    assert first == second
    assert dispatches == 6


@pytest.mark.parametrize("mode", ["direct", "claim"])
def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path, mode: str) -> None:
    recordings = []
    for threads in ("1", "3"):
        settings = {"N": "100000", "KTRACE_MODE": mode, "KTRACE_SOFT_THREADS": threads}
        script = f"{HOST}for _ in range(2): host.launch(grid=(100, 1, 1))\n{RIGHT}"
        outcome = run(script, tmp_path, **settings)
        assert column(outcome, "waves") == [400] * 2
        recordings.append(outcome.path.read_bytes())
        outcome.path.unlink()

    assert recordings[0] == recordings[1]


def test_chunks_are_in_the_order_of_the_launches(tmp_path: Path) -> None:
    outcome = run(f"{HOST}for _ in range(2): host.launch()\n{RIGHT}", tmp_path)

    kinds = [layout.ChunkType(kind).name for kind, _ in chunks(outcome)]
    assert kinds == [
        "PROCESS",
        "DEVICE",
        "CLOCK",
        "CODE_OBJECT",
        "KERNEL",
        "DISPATCH",
        "DISPATCH",
        "CLOCK",
        "END",
    ]


def test_a_dispatch_says_how_it_was_launched(tmp_path: Path) -> None:
    outcome = run(
        f"{HOST}host.launch(grid=(2, 3, 1))\nhost.launch()\nhost.launches = 2\n"
        "host.arguments.n, host.launches = 1000, 7\nprint('right')\n",
        tmp_path,
    )

    first, second = records(outcome)
    assert (first["grid"].tolist(), first["block"].tolist()) == ([2, 3, 1], [256, 1, 1])
    assert (int(first["waves"]), int(first["expected"]), int(first["wave_slots"])) == (24, 24, 24)
    assert [int(second[name]) for name in ("dispatch", "launch", "waves")] == [2, 2, 16]
    assert int(first["status"]) == 0


def test_streams_are_numbered_in_the_order_of_their_first_use(tmp_path: Path) -> None:
    outcome = run(
        HOST + "made = [ctypes.c_void_p() for _ in range(2)]\n"
        "for stream in made: host.hip.hipStreamCreate(ctypes.byref(stream))\n"
        "for stream in (made[1], None, made[0], made[1], ctypes.c_void_p(1), ctypes.c_void_p(2)):\n"
        "    assert host.launch(stream=stream) == 0\n"
        "host.hip.hipStreamSynchronize(made[1])\n"
        "host.hip.hipStreamDestroy(made[1])\n"
        "host.hip.hipStreamCreate(ctypes.byref(made[1]))\n"
        "assert host.launch(stream=made[1]) == 0\n" + RIGHT,
        tmp_path,
    )

    assert column(outcome, "stream") == [1, 0, 2, 1, 0, 3, 4]


def test_each_device_has_its_own_record_clocks_and_buffers(tmp_path: Path) -> None:
    outcome = run_script(
        "hip = open_hip()\n"
        "hosts = []\n"
        "for device in (0, 1):\n"
        "    assert hip.hipSetDevice(device) == 0\n"
        "    hosts.append(Host(hip, SAXPY))\n"
        "for device in (1, 0, 1):\n"
        "    assert hip.hipSetDevice(device) == 0\n"
        "    assert hosts[device].launch() == 0\n"
        "print('right' if all(host.is_right() for host in hosts) else 'wrong')\n",
        tmp_path,
        environment={"KTRACE_SOFT_DEVICES": "2"},
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert column(outcome, "device") == [1, 0, 1]
    assert sorted(outcome.recording.devices) == [0, 1]
    assert outcome.recording.clocks["device"].tolist() == [1, 0, 1, 0]
    assert len(outcome.recording.code_objects) == 1


def test_times_are_in_order_and_enclose_the_waves(tmp_path: Path) -> None:
    outcome = run(f"{HOST}for _ in range(3): host.launch()\n{RIGHT}", tmp_path)

    for dispatch in outcome.recording.dispatches:
        record, headers = dispatch.record, dispatch.headers
        ns_per_tick = 10
        begin = int(headers["realtime_begin"].min()) * ns_per_tick
        end = int(headers["realtime_end"].max()) * ns_per_tick
        assert record["launched_ns"] < record["submitted_ns"]
        assert record["launched_ns"] < begin < end <= record["completed_ns"]
    clocks = outcome.recording.clocks
    assert clocks["method"].tolist() == [layout.ClockMethod.SOFTWARE] * 2
    assert clocks["host_ns"][0] < records(outcome)[0]["launched_ns"]
    assert clocks["host_ns"][1] >= records(outcome)[-1]["completed_ns"]


def test_a_buffer_is_used_again_and_comes_back_clean(tmp_path: Path) -> None:
    # One buffer fits: a second one that was needed would be a loss.
    outcome = run(
        f"{HOST}for _ in range(20): host.launch()\n{RIGHT}",
        tmp_path,
        KTRACE_WORDS="64",
        KTRACE_MEMORY="65536",
    )

    recording = outcome.recording
    assert recording.losses == ()
    words = [dispatch.words for dispatch in recording.dispatches]
    assert [len(each) for each in words] == [len(words[0])] * 20
    for number, dispatch in enumerate(recording.dispatches, 1):
        assert set(dispatch.headers["dispatch"].tolist()) == {number}
        assert np.array_equal(np.sort(dispatch.words["tag"]), np.sort(words[0]["tag"]))
        begin = dispatch.headers["memtime_begin"].min() & 0xFFFFFFFF
        events = dispatch.words[dispatch.words["tag"] >> 27 != layout.Kind.VALUE]
        assert (events["clock"] >= begin).all()


def test_used_words_alone_are_in_the_file(tmp_path: Path) -> None:
    outcome = run(PLAIN, tmp_path)

    (dispatch,) = outcome.recording.dispatches
    # One round of the loop: its payload, the range, the mark.
    assert dispatch.extents["main_words"].tolist() == [3] * 16
    assert dispatch.extents["side_words"].tolist() == [0] * 16
    assert dispatch.headers["main_cursor"].tolist() == [128 + 3 * 8] * 16
    assert outcome.path.stat().st_size < 16384


def test_the_next_launch_of_a_kernel_that_ran_out_gets_larger_regions(tmp_path: Path) -> None:
    # The rule gives the first launch's 100,000 waves 64 words; 49 rounds attempt 16 + 2 * 49 + 1.
    script = (
        f"{HOST}host.launch(grid=(25000, 1, 1))\n"
        "host.arguments.n = 50000\nhost.launch(grid=(4, 1, 1))\n"
        "host.launch(grid=(25000, 1, 1))\nhost.hip.hipDeviceSynchronize()\nprint('right')\n"
    )

    outcome = run(script, tmp_path, N="50000")

    assert column(outcome, "region_log2") == [9, 16, 10]
    assert column(outcome, "waves") == [100_000, 16, 100_000]
    assert outcome.status.grown_launches == 1
    assert (outcome.status.dropped_words, outcome.status.message) == (0, "")


def test_the_words_of_a_region_can_be_given(tmp_path: Path) -> None:
    outcome = run(PLAIN, tmp_path, KTRACE_WORDS="32", N="50000")

    (dispatch,) = outcome.recording.dispatches
    assert int(dispatch.record["region_log2"]) == 8
    assert dispatch.extents["main_words"].tolist() == [16] * 16
    assert (dispatch.headers["main_cursor"] > 256).all()
    attempted = (dispatch.headers["main_cursor"] - 128) // 8
    assert outcome.status.dropped_words == int(attempted.sum()) - 16 * 16
    assert outcome.status.grown_launches == 0


@pytest.mark.parametrize(
    ("environment", "blocks", "waves", "xccs"),
    [
        ({"KTRACE_BLOCKS": "1:4:2"}, {1, 3}, {0, 1, 2, 3}, None),
        ({"KTRACE_BLOCKS": "2"}, {2}, {0, 1, 2, 3}, None),
        ({"KTRACE_BLOCKS": "*,0"}, {0, 1, 2, 3}, {0, 1, 2, 3}, None),
        ({"KTRACE_WAVES": "0,2-3"}, {0, 1, 2, 3}, {0, 2, 3}, None),
        ({"KTRACE_XCC": "1,3"}, {1, 3}, {0, 1, 2, 3}, {1, 3}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_filters_choose_waves(
    environment: dict[str, str],
    blocks: set[int],
    waves: set[int],
    xccs: set[int] | None,
    tmp_path: Path,
) -> None:
    outcome = run(PLAIN, tmp_path, **environment)

    (dispatch,) = outcome.recording.dispatches
    headers = dispatch.headers
    assert set(headers["block"][:, 0].tolist()) == blocks
    assert set(headers["wave"].tolist()) == waves
    if xccs is None:
        assert int(dispatch.record["expected"]) == len(headers) == len(blocks) * len(waves)
    else:
        assert set(headers["xcc_id_begin"].tolist()) == xccs
        assert int(dispatch.record["expected"]) == 0  # not known
    assert int(dispatch.record["flags"]) == layout.DispatchFlag.FILTERED


@pytest.mark.parametrize(
    "environment",
    [{}, {"KTRACE_BLOCKS": "*,0::1", "KTRACE_WAVES": "0-31", "KTRACE_XCC": "0-15,16-31"}],
    ids=["none", "all"],
)
def test_filters_that_choose_everything_are_none(
    environment: dict[str, str], tmp_path: Path
) -> None:
    outcome = run(PLAIN, tmp_path, **environment)

    (dispatch,) = outcome.recording.dispatches
    assert int(dispatch.record["flags"]) == 0
    assert int(dispatch.record["expected"]) == 16


@pytest.mark.parametrize(
    ("patterns", "is_traced"),
    [
        ("saxpy", True),
        ("sax*", True),
        ("axpy", False),
        ("/axp/", True),
        ("/^axp/", False),
        ("gemm\nsaxpy", True),
    ],
)
def test_kernels_are_chosen_by_name(patterns: str, is_traced: bool, tmp_path: Path) -> None:
    outcome = run(PLAIN, tmp_path, KTRACE_KERNELS=patterns)

    assert outcome.path.exists() == is_traced
    assert outcome.status.annotated_launches == 1
    assert outcome.status.unselected_launches == (0 if is_traced else 1)
    assert outcome.status.losses == {}


def test_a_grid_that_is_too_large_for_the_memory_is_claimed_by_its_first_waves(
    tmp_path: Path,
) -> None:
    outcome = run(f"{HOST}host.launch(grid=(100, 1, 1))\n{RIGHT}", tmp_path, KTRACE_MEMORY="65536")

    (dispatch,) = outcome.recording.dispatches
    record = dispatch.record
    assert int(record["mode"]) == layout.Mode.CLAIM
    assert int(record["claimed"]) == 400
    assert int(record["waves"]) == int(record["wave_slots"])
    assert 0 < int(record["waves"]) < 400
    assert dispatch.extents["slot"].tolist() == list(range(int(record["waves"])))
    assert (outcome.status.claim_launches, outcome.status.message) == (1, "")


def test_the_status_file_tells_what_the_recording_tells(tmp_path: Path) -> None:
    outcome = run(f"{HOST}for _ in range(5): host.launch()\n{RIGHT}", tmp_path)

    status, end = outcome.status, outcome.recording.end
    assert (status.launches, status.annotated_launches, status.dispatches) == (5, 5, 5)
    assert (status.code_objects, status.annotated_code_objects, status.annotated_kernels) == (
        1,
        1,
        1,
    )
    assert [
        int(end[name]) for name in ("code_objects", "annotated_kernels", "launches", "dispatches")
    ] == [1, 1, 5, 5]
    assert status.size == outcome.path.stat().st_size
    assert (status.is_software, status.is_closed, status.output_failed) == (True, True, False)
    assert (status.output, status.message, status.losses) == (outcome.path, "", {})


def test_nothing_launched_leaves_counts_and_no_file(tmp_path: Path) -> None:
    outcome = run(f"{HOST}{RIGHT}", tmp_path)

    status = outcome.status
    assert (status.code_objects, status.annotated_kernels, status.launches) == (1, 1, 0)
    assert (status.output, status.is_closed) == (None, True)
    assert not outcome.path.exists()


def test_the_recorded_kernel_is_found_in_the_recorded_code_object(tmp_path: Path) -> None:
    outcome = run(PLAIN, tmp_path)

    kernel = outcome.recording.kernels[0]
    assert (kernel.name, kernel.symbol, kernel.kernarg_offset) == ("saxpy", "saxpy.kd", 24)
    assert outcome.recording.code_objects[kernel.code_object].image == SAXPY.read_bytes()
