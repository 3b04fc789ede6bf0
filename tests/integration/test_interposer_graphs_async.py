"""Graphs on a HIP whose work runs late, in the order that is least convenient."""

import pytest

from ktrace_cli.trace_file.layout import LossReason
from support.late_hip import RIGHT, Run, assert_replayed, blocks_of, fake, run

__all__ = ["fake", "run"]  # fixtures


def test_replays_in_flight_on_two_streams_do_not_see_each_other(run: Run) -> None:
    outcome = run(
        "streams = [host.stream(), host.stream()]\n"
        "executable = host.instantiate(host.captured((4, 1, 1), (6, 1, 1)))\n"
        "hip.fake_hold(1)\n"
        "for turn in range(5): host.replay(executable, streams[turn % 2], 2)\n"
        f"hip.fake_hold(0)\n{RIGHT}"
    )

    assert_replayed(outcome, [4, 6] * 5)


def test_two_executables_of_one_graph_in_flight_do_not_see_each_other(run: Run) -> None:
    outcome = run(
        "graph, other = host.captured((4, 1, 1)), host.stream()\n"
        "first, second = host.instantiate(graph), host.instantiate(graph)\n"
        "hip.fake_hold(1)\n"
        "for turn in range(3):\n"
        "    host.replay(first, stream)\n    host.replay(second, other)\n"
        f"hip.fake_hold(0)\n{RIGHT}"
    )

    assert_replayed(outcome, [4] * 6)


def test_an_executable_may_be_changed_and_destroyed_while_its_replays_are_in_flight(
    run: Run,
) -> None:
    outcome = run(
        "graph = host.graph()\nnode = host.add(graph, (4, 1, 1))\n"
        "executable = host.instantiate(graph)\n"
        "hip.fake_hold(1)\n"
        "for blocks in (4, 5, 600, 3):\n"
        "    params = host.params((blocks, 1, 1))\n"
        "    host.call('hipGraphExecKernelNodeSetParams', executable, node, ctypes.byref(params))\n"
        "    for _ in range(2): host.replay(executable, stream)\n"
        "host.call('hipGraphExecDestroy', executable)\n"
        f"hip.fake_hold(0)\n{RIGHT}"
    )

    assert_replayed(outcome, [4, 4, 5, 5, 600, 600, 3, 3])


def test_a_capture_is_not_disturbed(run: Run) -> None:
    # Synchronous calls, allocations and events would invalidate it or become part of it.
    script = (
        "def work():\n"
        "    for blocks in (4, 5):\n        host.put(stream, (blocks, 1, 1))\n"
        "graph = host.capture(stream, work)\n"
        "host.launches = 0\n"
        "print(len(host.nodes(graph)), hip.fake_disturbances(), hip.hipGetLastError(), end=' ')\n"
        f"host.replay(host.instantiate(graph), stream, 2)\n{RIGHT}"
    )

    plain, traced = run(script, traced=False), run(script)

    assert plain.stdout == traced.stdout == "2 0 0 right\n"
    assert blocks_of(traced) == [4, 5]


def test_launches_elsewhere_during_a_capture_are_traced_and_leave_it_valid(run: Run) -> None:
    script = (
        "other, executable = host.stream(), host.instantiate(host.captured((9, 1, 1)))\n"
        "def work():\n"
        "    host.put(stream, (4, 1, 1))\n"
        "    host.put(other, (8, 1, 1))\n    host.replay(executable, other)\n"
        "    host.instantiate(host.captured((2, 1, 1)))\n"
        "graph = host.capture(stream, work)\nhost.launches = 2\n"
        "print(hip.fake_disturbances(), end=' ')\n"
        f"host.replay(host.instantiate(graph), stream)\n{RIGHT}"
    )

    plain, traced = run(script, traced=False), run(script)

    assert plain.stdout == traced.stdout == "0 right\n"
    assert [int(d.record["grid"][0]) for d in traced.recording.dispatches] == [8, 9, 4]
    assert (traced.status.launches, traced.status.graph_launches) == (3, 2)


@pytest.mark.parametrize(
    "call",
    ["hipGraphAddNode", "hipGraphAddKernelNode"],
)
def test_added_nodes_are_traced(call: str, run: Run) -> None:
    outcome = run(
        "graph = host.graph()\n"
        f"make = host.any_params if {call!r} == 'hipGraphAddNode' else host.params\n"
        "params = make((4, 1, 1))\nbefore = bytes(params)\n"
        f"host.pointer({call!r}, graph, None, ctypes.c_size_t(0), ctypes.byref(params))\n"
        "assert bytes(params) == before\n"
        f"host.replay(host.instantiate(graph), stream)\n{RIGHT}"
    )

    assert_replayed(outcome, [4])


@pytest.mark.parametrize(
    ("call", "more"),
    [
        ("hipGraphInstantiate", "None, None, ctypes.c_size_t(0)"),
        ("hipGraphInstantiateWithFlags", "ctypes.c_ulonglong(0)"),
        ("hipGraphInstantiateWithParams", "ctypes.create_string_buffer(64)"),
    ],
)
def test_a_graph_is_traced_however_it_is_instantiated(call: str, more: str, run: Run) -> None:
    outcome = run(
        f"executable = host.pointer({call!r}, host.captured(), {more})\n"
        f"for _ in range(2): host.replay(executable, stream)\n{RIGHT}"
    )

    assert_replayed(outcome, [4, 4])


def test_kernels_of_child_graphs_are_traced(run: Run) -> None:
    outcome = run(
        "inner = host.captured((4, 1, 1), (5, 1, 1))\n"
        "middle = host.captured((6, 1, 1))\n"
        "outer = host.captured((7, 1, 1))\n"
        "add = lambda to, child: host.pointer(\n"
        "    'hipGraphAddChildGraphNode', to, None, ctypes.c_size_t(0), child)\n"
        "add(middle, inner)\nadd(outer, middle)\nadd(outer, inner)\n"
        "executable = host.instantiate(outer)\n"
        f"for _ in range(2): host.replay(executable, stream, 6)\n{RIGHT}"
    )

    assert_replayed(outcome, [7, 6, 4, 5, 4, 5] * 2)


def test_a_clone_is_traced_as_the_graph_itself(run: Run) -> None:
    outcome = run(
        "graph = host.captured((4, 1, 1))\nclone = host.pointer('hipGraphClone', graph)\n"
        "executables = [host.instantiate(one) for one in (graph, clone)]\n"
        "later = host.pointer('hipGraphClone', graph)\n"
        "for one in (*executables, host.instantiate(later)): host.replay(one, stream)\n"
        f"print([host.trace_argument(n) for n in host.nodes(later)], end=' ')\n{RIGHT}"
    )

    assert outcome.stdout == "[None] right\n"
    assert blocks_of(outcome) == [4, 4, 4]


def test_an_executable_is_updated_from_another_graph(run: Run) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured((4, 1, 1), (5, 1, 1)))\n"
        "host.replay(executable, stream, 2)\n"
        "for grids in [((8, 1, 1), (2, 1, 1)), ((700, 1, 1), (3, 1, 1))]:\n"
        "    graph, outcome = host.captured(*grids), ctypes.c_int(-1)\n"
        "    host.call('hipGraphExecUpdate', executable, graph, None, ctypes.byref(outcome))\n"
        "    assert outcome.value == 0\n"
        "    assert [host.trace_argument(n) for n in host.nodes(graph)] == [None, None]\n"
        f"    host.replay(executable, stream, 2)\n{RIGHT}"
    )

    assert_replayed(outcome, [4, 5, 8, 2, 700, 3])


def test_an_update_that_hip_refuses_changes_nothing(run: Run) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured((4, 1, 1)))\n"
        "outcome = ctypes.c_int(-1)\n"
        "other = host.captured((5, 1, 1), (6, 1, 1))\n"
        "print(hip.hipGraphExecUpdate(executable, other, None, ctypes.byref(outcome)),\n"
        "    outcome.value, hip.hipGetLastError(), end=' ')\n"
        f"host.replay(executable, stream)\n{RIGHT}"
    )

    assert outcome.stdout == "910 1 910 right\n"
    assert blocks_of(outcome) == [4]


def test_updates_use_the_memory_that_the_executable_has(run: Run) -> None:
    # 4 and 8 workgroups of 4 waves, 1 KiB each: room for a few of them, not for hundreds.
    outcome = run(
        "executable = host.instantiate(host.captured((8, 1, 1)))\n"
        "for turn in range(200):\n"
        "    graph, outcome = host.captured((4 if turn % 2 else 8, 1, 1)), ctypes.c_int(-1)\n"
        "    host.call('hipGraphExecUpdate', executable, graph, None, ctypes.byref(outcome))\n"
        "    host.replay(executable, stream)\n"
        f"    host.call('hipDeviceSynchronize')\n{RIGHT}",
        KTRACE_WORDS="128",
        KTRACE_MEMORY=str(1 << 20),
    )

    assert outcome.stdout == "right\n"
    assert outcome.status.launches == 200
    lost = outcome.status.losses.get(LossReason.POOL_EXHAUSTED, 0)
    assert outcome.status.losses == ({LossReason.POOL_EXHAUSTED: lost} if lost else {})
    assert len(outcome.recording.dispatches) == 200 - lost
    assert len(outcome.recording.dispatches) > 2


def test_a_child_graph_of_an_executable_is_replaced(run: Run) -> None:
    outcome = run(
        "outer = host.captured((7, 1, 1))\n"
        "child = host.pointer('hipGraphAddChildGraphNode', outer, None, ctypes.c_size_t(0),\n"
        "    host.captured((4, 1, 1), (5, 1, 1)))\n"
        "host.add(outer, (9, 1, 1))\n"
        "executable = host.instantiate(outer)\nhost.replay(executable, stream, 4)\n"
        "host.call('hipGraphExecChildGraphNodeSetParams', executable, child,\n"
        "    host.captured((2, 1, 1), (500, 1, 1)))\n"
        f"host.replay(executable, stream, 4)\n{RIGHT}"
    )

    assert_replayed(outcome, [7, 4, 5, 9, 7, 2, 500, 9])


def test_nodes_change_through_the_calls_for_any_type(run: Run) -> None:
    outcome = run(
        "graph = host.graph()\nnode = host.add(graph, (4, 1, 1))\n"
        "params = host.any_params((5, 1, 1))\n"
        "host.call('hipGraphNodeSetParams', node, ctypes.byref(params))\n"
        "executable = host.instantiate(graph)\nhost.replay(executable, stream)\n"
        "params = host.any_params((6, 1, 1))\n"
        "host.call('hipGraphExecNodeSetParams', executable, node, ctypes.byref(params))\n"
        f"host.replay(executable, stream)\n{RIGHT}"
    )

    assert_replayed(outcome, [5, 6])


def test_a_disabled_node_is_no_launch(run: Run) -> None:
    outcome = run(
        "graph = host.graph()\n"
        "first, last = host.add(graph, (4, 1, 1)), host.add(graph, (5, 1, 1))\n"
        "executable = host.instantiate(graph)\n"
        "host.call('hipGraphNodeSetEnabled', executable, first, 0)\n"
        "host.replay(executable, stream, 1)\n"
        "host.call('hipGraphNodeSetEnabled', executable, first, 1)\n"
        f"host.replay(executable, stream, 2)\n{RIGHT}"
    )

    assert_replayed(outcome, [5, 4, 5])
