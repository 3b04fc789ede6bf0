"""Every replay of a graph is a launch of its own in the recording; graphs compute what they did."""

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


def test_child_graphs_clones_and_nodes_of_any_type_are_traced(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}inner = host.captured((4, 1, 1), (5, 1, 1))\n"
        "outer = host.captured((6, 1, 1))\n"
        "none = None, ctypes.c_size_t(0)\n"
        "params = host.any_params((7, 1, 1))\n"
        "host.pointer('hipGraphAddNode', outer, *none, ctypes.byref(params))\n"
        "host.pointer('hipGraphAddChildGraphNode', outer, *none, inner)\n"
        "clone = host.pointer('hipGraphClone', outer)\n"
        "for one in (outer, clone): host.replay(host.instantiate(one), stream, 4)\n"
        f"{RIGHT}",
        tmp_path,
    )

    # The nodes do not depend on each other: HIP runs them in the order in which they were added.
    assert_replayed(outcome, [6, 7, 4, 5] * 2)


def test_an_executable_is_updated_from_another_graph(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}executable = host.instantiate(host.captured((4, 1, 1), (5, 1, 1)))\n"
        "host.replay(executable, stream, 2)\n"
        "graph = host.captured((8, 1, 1), (2, 1, 1))\n"
        "node, result = ctypes.c_void_p(), ctypes.c_int(-1)\n"
        "places = ctypes.byref(node), ctypes.byref(result)\n"
        "host.call('hipGraphExecUpdate', executable, graph, *places)\n"
        "assert result.value == 0\n"
        "assert [host.trace_argument(n) for n in host.nodes(graph)] == [None, None]\n"
        f"host.replay(executable, stream, 2)\nprint(host.result()[:2].tolist())\n",
        tmp_path,
    )

    # y[1] = 1 + 2 x 1 x 4: each of the four launches reaches the first workgroup.
    assert outcome.stdout == "[1.0, 9.0]\n"
    assert [int(d.record["grid"][0]) for d in outcome.recording.dispatches] == [4, 5, 8, 2]
    assert outcome.status.losses == {}


def test_a_graph_that_is_launched_by_a_forked_child_is_counted(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}executable = host.instantiate(host.captured())\nhost.replay(executable, stream)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    host.replay(executable, stream)\n"
        "    os._exit(0 if host.is_right() else 1)\n"
        f"assert os.waitpid(child, 0)[1] == 0\n{RIGHT}",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert [len(d.headers) for d in outcome.recordings[0].dispatches] == [16]
    assert sorted((s.launches, s.unseen_launches) for s in outcome.statuses) == [(1, 0), (1, 1)]


def test_graphs_are_made_and_launched_anew_after_a_reset_of_the_device(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.replay(host.instantiate(host.captured((4, 1, 1))), stream)\n"
        "assert host.is_right()\nhost.call('hipDeviceReset')\n"
        "host = GraphHost(SAXPY)\nstream = host.stream()\n"
        "executable = host.instantiate(host.captured((5, 1, 1)))\n"
        f"for _ in range(2): host.replay(executable, stream)\n{RIGHT}",
        tmp_path,
    )

    assert_replayed(outcome, [4, 5, 5])
