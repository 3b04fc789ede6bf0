"""Captures: what is one, when it is over, and what HIP is asked meanwhile."""

import shutil
from pathlib import Path

import pytest

from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from support.async_hip import Bench, build
from support.preloaded import Outcome, run_script

HOST = (
    "from support.graph_host import GraphHost\n"
    "host = GraphHost(SAXPY)\nstream, other = host.stream(), host.stream()\n"
)
RIGHT = "print('right' if host.is_right() else host.result())\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    built = build(tmp_path_factory.mktemp("async"))
    if built is None:
        pytest.skip("no C++ compiler")
    return built


def blocks_of(outcome: Outcome) -> list[int]:
    return [int(d.record["grid"][0]) for d in outcome.recording.dispatches]


@pytest.mark.parametrize("extra", ["capture", "capture-destroy", "capture-reset"])
def test_after_a_capture_a_launch_adds_two_calls_as_before(
    extra: str, bench: Bench, tmp_path: Path
) -> None:
    traced = bench.run(tmp_path, launches=64 + 4000, extra=extra)

    # A buffer that is used for the first time is cleared.
    assert 3 <= traced.values["calls"] <= 3.6
    assert traced.status.dispatches == 4064


def test_while_a_capture_is_open_hip_is_asked_once_more(bench: Bench, tmp_path: Path) -> None:
    traced = bench.run(tmp_path, launches=64 + 4000, extra="capture-abandon")

    assert 4 <= traced.values["calls"] <= 4.6
    assert traced.status.dispatches == 4064


def test_a_launch_waits_for_a_buffer_also_while_another_stream_is_captured(
    bench: Bench, tmp_path: Path
) -> None:
    launched = bench.run(
        tmp_path,
        threads=2,
        streams=2,
        launches=400,
        extra="capture-abandon",
        environment={
            "STAND_IN_ASYNC": "1",
            "KTRACE_WORDS": "64",
            "KTRACE_MEMORY": "65536",
            "KTRACE_ON_FULL": "wait",
            "KTRACE_ON_FULL_MS": "60000",
        },
    )

    status = launched.status
    assert (status.launches, status.dispatches, status.losses) == (800, 800, {})


def test_an_end_that_fails_leaves_the_capture_as_it_was(tmp_path: Path) -> None:
    # Only the thread that began it may end it. A launch after that still belongs to the graph.
    outcome = run_script(
        f"{HOST}import threading\n"
        "graph = ctypes.c_void_p()\n"
        "host.call('hipStreamBeginCapture', stream, 0)\n"
        "end = lambda: host.hip.hipStreamEndCapture(stream, ctypes.byref(graph))\n"
        "thread = threading.Thread(target=lambda: print(end() != 0, end=' '))\n"
        "thread.start()\nthread.join()\n"
        "host.hip.hipGetLastError()\n"
        "host.put(stream, (4, 1, 1))\n"
        "host.call('hipStreamEndCapture', stream, ctypes.byref(graph))\n"
        "print(len(host.nodes(graph)), end=' ')\nhost.launches = 0\n"
        f"host.replay(host.instantiate(graph), stream)\n{RIGHT}",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "True 1 right\n", "")
    assert blocks_of(outcome) == [4]
    assert outcome.status.losses == {}


def test_a_stream_that_an_event_draws_into_a_capture_is_known_for_one(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}fork, join = (host.pointer('hipEventCreate') for _ in range(2))\n"
        "def work():\n"
        "    host.call('hipEventRecord', fork, stream)\n"
        "    host.call('hipStreamWaitEvent', other, fork, 0)\n"
        "    host.put(other, (5, 1, 1))\n"
        "    host.call('hipEventRecord', join, other)\n"
        "    host.call('hipStreamWaitEvent', stream, join, 0)\n"
        "graph = host.capture(stream, work)\n"
        "print(len(host.nodes(graph)), end=' ')\nhost.launches = 0\n"
        f"host.replay(host.instantiate(graph), stream)\n{RIGHT}",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "1 right\n", "")
    assert blocks_of(outcome) == [5]
    assert outcome.status.losses == {}


def test_the_recording_of_one_copy_of_hip_leaves_captures_of_another_valid(tmp_path: Path) -> None:
    copies = [tmp_path / version / f"libamdhip64.so.{version}" for version in "67"]
    for copy in copies:
        copy.parent.mkdir()
        shutil.copy(native_library(SOFTWARE_DEVICE), copy)
    script = (
        "from support.graph_host import GraphHost\n"
        f"six, seven = (ctypes.CDLL(path) for path in {list(map(str, copies))!r})\n"
        "first, host = GraphHost(SAXPY, six), GraphHost(SAXPY, seven)\n"
        "first.launch()\n"  # the recording's thread begins with this copy
        "stream, other = host.stream(), host.stream()\n"
        "def work():\n"
        "    host.launch(stream=stream)\n"
        "    for _ in range(3): host.launch(stream=other)\n"
        "graph = host.capture(stream, work)\n"
        "print(len(host.nodes(graph)), first.is_right())\n"
    )
    outcome = run_script(script, tmp_path, preload_device=False)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "1 True\n", "")
    assert (outcome.status.dispatches, outcome.status.losses) == (4, {})
