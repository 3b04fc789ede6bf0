"""Every replay of a graph is a launch of its own in the recording, and graphs compute what they did."""

from pathlib import Path

from ktrace_cli.trace_file.layout import DispatchFlag
from support.preloaded import Outcome, run_script

HOST = "from support.graph_host import *\nhost = GraphHost(SAXPY)\nstream = host.stream()\n"
RIGHT = "print('right' if host.is_right() else host.result())\n"


def assert_replayed(outcome: Outcome, blocks: list[int]) -> None:
    """Assert one dispatch per entry, with so many blocks of 4 waves, all of them whole."""
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    recording = outcome.recording
    assert recording.damage.not_closed == 0
    assert [int(d.record["grid"][0]) for d in recording.dispatches] == blocks
    assert [len(d.headers) for d in recording.dispatches] == [4 * count for count in blocks]
    assert [d.number for d in recording.dispatches] == list(range(1, len(blocks) + 1))
    for dispatch in recording.dispatches:
        assert dispatch.record["flags"] == DispatchFlag.GRAPH
        assert set(dispatch.headers["dispatch"]) == {dispatch.number}
        assert set(dispatch.headers["state"]) == {2}
    assert outcome.status.losses == {}
    assert outcome.status.graph_launches == len(blocks)
    assert outcome.status.launches == len(blocks)
    assert outcome.status.annotated_launches == len(blocks)


def test_a_captured_launch_is_recorded_once_per_replay(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}executable = host.instantiate(host.captured())\n"
        f"for _ in range(3): host.replay(executable, stream)\n{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4, 4, 4])


def test_a_captured_launch_is_no_launch_until_its_graph_is(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}host.instantiate(host.captured())\n{RIGHT}", tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert (outcome.status.launches, outcome.status.annotated_launches) == (0, 0)
    assert outcome.status.losses == {}
    assert not outcome.path.exists()


def test_each_node_of_a_graph_is_recorded_with_its_own_grid(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}executable = host.instantiate(host.captured((4, 1, 1), (7, 1, 1), (5, 1, 1)))\n"
        f"for _ in range(2): host.replay(executable, stream, 3)\n{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4, 7, 5, 4, 7, 5])
    assert [int(d.record["launch"]) for d in outcome.recording.dispatches] == [1, 2, 3, 4, 5, 6]


def test_launches_between_replays_are_counted_in_their_order(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}executable = host.instantiate(host.captured())\n"
        "host.put(stream)\nhost.replay(executable, stream)\nhost.put(stream)\n"
        f"host.replay(executable, stream)\n{RIGHT}",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    dispatches = outcome.recording.dispatches
    assert [int(d.record["launch"]) for d in dispatches] == [1, 2, 3, 4]
    assert [int(d.record["flags"]) & DispatchFlag.GRAPH for d in dispatches] == [0, 16, 0, 16]
    assert (outcome.status.launches, outcome.status.graph_launches) == (4, 2)


def test_added_nodes_are_recorded_with_either_argument_list(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}graph = host.graph()\n"
        "first = host.add(graph, (4, 1, 1))\n"
        "host.add(graph, (6, 1, 1), after=first, extra=True)\n"
        "executable = host.instantiate(graph)\n"
        f"for _ in range(2): host.replay(executable, stream, 2)\n{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4, 6, 4, 6])


def test_the_programs_graph_holds_no_address_of_ours(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}graph = host.captured()\nhost.add(graph)\n"
        "print([host.trace_argument(node) for node in host.nodes(graph)])\n"
        "host.instantiate(graph)\n"
        "print([host.trace_argument(node) for node in host.nodes(graph)])\n",
        tmp_path,
    )

    assert outcome.stdout == "[None, None]\n[None, None]\n"


def test_five_replays_in_flight_on_two_streams_keep_their_records_apart(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}streams = [stream, host.stream()]\n"
        "executable = host.instantiate(host.captured((4, 1, 1), (6, 1, 1)))\n"
        "for turn in range(5): host.replay(executable, streams[turn % 2], 2)\n"
        f"{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4, 6] * 5)
    streams = [int(d.record["stream"]) for d in outcome.recording.dispatches]
    assert streams == [2, 2, 3, 3, 2, 2, 3, 3, 2, 2]  # the captured stream is the first


def test_two_instantiations_of_one_graph_keep_their_records_apart(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}graph = host.captured((4, 1, 1))\n"
        "executables = [host.instantiate(graph) for _ in range(2)]\n"
        "host.call('hipGraphDestroy', graph)\n"
        "for _ in range(3):\n"
        "  for one in executables: host.replay(one, stream)\n"
        f"{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4] * 6)


def test_a_destroyed_graph_gives_its_memory_back(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}graph = host.captured((4, 1, 1))\n"
        "for _ in range(50):\n"
        "  executable = host.instantiate(graph)\n"
        "  host.replay(executable, stream)\n"
        "  host.call('hipGraphExecDestroy', executable)\n"
        f"{RIGHT}",
        tmp_path,
        environment={"KTRACE_MEMORY": "1048576", "KTRACE_WORDS": "512"},
    )

    assert_replayed(outcome, [4] * 50)


def test_hip_graph_launch_spt_is_traced(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}executable = host.instantiate(host.captured())\n"
        "host.launches += 1\nhost.call('hipGraphLaunch_spt', executable, None)\n"
        f"host.call('hipStreamSynchronize', ctypes.c_void_p(2))\n{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4])
    assert [int(d.record["stream"]) for d in outcome.recording.dispatches] == [2]


def test_an_executables_node_can_get_another_shape(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}graph = host.graph()\nnode = host.add(graph, (4, 1, 1))\n"
        "executable = host.instantiate(graph)\n"
        "host.replay(executable, stream)\n"
        "for blocks in (5, 64):\n"
        "  params = host.params((blocks, 1, 1))\n"
        "  host.call('hipGraphExecKernelNodeSetParams', executable, node, ctypes.byref(params))\n"
        "  for _ in range(2): host.replay(executable, stream)\n"
        f"{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4, 5, 5, 64, 64])


def test_a_graphs_node_can_get_another_shape_before_it_is_instantiated(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}graph = host.graph()\nnode = host.add(graph, (4, 1, 1))\n"
        "before = host.instantiate(graph)\n"
        "params = host.params((9, 1, 1))\n"
        "host.call('hipGraphKernelNodeSetParams', node, ctypes.byref(params))\n"
        "after = host.instantiate(graph)\n"
        "for one in (before, after): host.replay(one, stream)\n"
        f"{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4, 9])


def test_a_refused_graph_launch_is_counted_and_hips_answer_comes_through(tmp_path: Path) -> None:
    script = (
        f"{HOST}executable = host.instantiate(host.captured())\n"
        "bad = ctypes.c_void_p(0x1234)\n"
        "print(host.hip.hipGraphLaunch(executable, bad), host.hip.hipGetLastError())\n"
        "print(host.hip.hipGraphLaunch(bad, stream), host.hip.hipGetLastError())\n"
        f"host.replay(executable, stream)\n{RIGHT}"
    )

    plain = run_script(script, tmp_path / "plain", traced=False)
    traced = run_script(script, tmp_path)

    assert (traced.returncode, traced.stdout, traced.stderr) == (0, plain.stdout, "")
    assert [len(d.headers) for d in traced.recording.dispatches] == [16]
