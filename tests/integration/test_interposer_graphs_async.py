"""Graphs on a HIP whose work runs late, in the order that is least convenient, and may fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import DispatchFlag, LossReason
from support.preloaded import Outcome, run_script
from support.stand_in import build_stand_in

HOST = (
    "from support.graph_host import *\nhost = GraphHost(SAXPY, ctypes.CDLL(str(FAKE)))\n"
    "hip, stream = host.hip, host.stream()\n"
)
RIGHT = "print('right' if host.is_right() else host.result())\n"
Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stand_in("graph_hip.cpp", tmp_path_factory.mktemp("graph_hip"))


@pytest.fixture
def run(fake: Path, tmp_path: Path) -> Run:
    def call(script: str, *, traced: bool = True, **environment: str) -> Outcome:
        outcome = run_script(
            f"FAKE = {str(fake)!r}\n{HOST}{script}",
            tmp_path / ("traced" if traced else "plain"),
            traced=traced,
            preload_device=False,
            environment=environment,
        )
        assert (outcome.returncode, outcome.stderr) == (0, "")
        return outcome

    return call


def blocks_of(outcome: Outcome) -> list[int]:
    """The grid of each dispatch, which the kernel itself left in its record as well."""
    dispatches = sorted(outcome.recording.dispatches, key=lambda dispatch: dispatch.number)
    for dispatch in dispatches:
        assert dispatch.words["clock"].tolist() == [int(dispatch.record["grid"][0])]
        assert dispatch.headers["dispatch"].tolist() == [dispatch.number]
        assert int(dispatch.record["flags"]) & DispatchFlag.GRAPH
    return [int(dispatch.record["grid"][0]) for dispatch in dispatches]


def assert_replayed(outcome: Outcome, blocks: list[int]) -> None:
    assert outcome.stdout == "right\n"
    assert blocks_of(outcome) == blocks
    assert outcome.status.losses == {}
    assert (outcome.status.launches, outcome.status.graph_launches) == (len(blocks), len(blocks))


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
        "graph = host.graph()\nfirst, last = host.add(graph, (4, 1, 1)), host.add(graph, (5, 1, 1))\n"
        "executable = host.instantiate(graph)\n"
        "host.call('hipGraphNodeSetEnabled', executable, first, 0)\n"
        "host.replay(executable, stream, 1)\n"
        "host.call('hipGraphNodeSetEnabled', executable, first, 1)\n"
        f"host.replay(executable, stream, 2)\n{RIGHT}"
    )

    assert_replayed(outcome, [5, 4, 5])


@pytest.mark.parametrize(
    ("failing", "first", "reason", "words"),
    [
        ("hipMemsetAsync", 1, LossReason.COPY_FAILED, "could not be prepared"),
        ("hipMemcpyAsync", 1, LossReason.COPY_FAILED, "could not be prepared: hipErrorUnknown"),
        ("hipStreamWaitEvent", 1, LossReason.COPY_FAILED, "could not be prepared: hipErrorUnknown"),
        ("hipStreamWaitEvent", 2, LossReason.COPY_FAILED, "could not be followed: hipErrorUnknown"),
        ("hipEventRecord", 2, LossReason.COPY_FAILED, "could not be followed: hipErrorUnknown"),
        ("hipGraphKernelNodeSetParams", 1, LossReason.ARGUMENT, "HIP refused its parameters"),
        ("hipMalloc", 3, LossReason.NO_MEMORY, "no more room"),
    ],
)
def test_a_failure_of_ours_is_counted_and_the_graph_runs_as_it_would(
    failing: str, first: int, reason: LossReason, words: str, run: Run
) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured())\n"
        "print(hip.hipGetLastError(), end=' ')\n"
        "host.replay(executable, stream)\n"
        f"print(hip.hipGetLastError(), end=' ')\n{RIGHT}",
        FAKE_FAILING=failing,
        FAKE_FAILING_FROM=str(first),
    )

    assert outcome.stdout == "0 0 right\n"
    assert outcome.status.losses == {reason: 1}
    assert words in outcome.status.message
    assert (outcome.status.launches, outcome.status.annotated_launches) == (1, 1)


def test_a_graph_whose_kernels_hip_does_not_list_is_said(run: Run) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured())\n"
        f"host.replay(executable, stream)\n{RIGHT}",
        FAKE_FAILING="hipGraphGetNodes",
    )

    assert outcome.stdout == "right\n"
    assert outcome.status.losses == {LossReason.ENTRY_POINT: 1}
    assert outcome.status.message == (
        "the kernels of a graph are not known: hipGraphGetNodes returned hipErrorUnknown"
    )


def test_a_refused_launch_keeps_hips_error_and_the_next_one_is_whole(run: Run) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured())\n"
        "os.environ['FAKE_FAILING'] = 'hipGraphLaunch'\n"
        "print(hip.hipGraphLaunch(executable, stream), hip.hipGetLastError(), end=' ')\n"
        "del os.environ['FAKE_FAILING']\n"
        f"for _ in range(2): host.replay(executable, stream)\n{RIGHT}"
    )

    assert outcome.stdout == "999 999 right\n"
    assert outcome.status.losses == {LossReason.LAUNCH_FAILED: 1}
    assert [d.number for d in outcome.recording.dispatches] == [2, 3]


def test_a_graph_that_cannot_be_instantiated_keeps_hips_error(run: Run) -> None:
    outcome = run(
        "graph, executable = host.captured(), ctypes.c_void_p()\n"
        "flags = ctypes.c_ulonglong(0)\n"
        "print(hip.hipGraphInstantiateWithFlags(ctypes.byref(executable), graph, flags),\n"
        "    hip.hipGetLastError(), [host.trace_argument(n) for n in host.nodes(graph)])\n",
        FAKE_FAILING="hipGraphInstantiateWithFlags",
    )

    assert outcome.stdout == "999 999 [None]\n"
    assert outcome.status.losses == {}


def test_an_exhausted_pool_is_counted_per_kernel_and_the_rest_is_whole(run: Run) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured((4, 1, 1)))\n"
        "hip.fake_hold(1)\n"
        "for _ in range(10): host.replay(executable, stream)\n"
        f"hip.fake_hold(0)\n{RIGHT}",
        KTRACE_WORDS="128",
        KTRACE_MEMORY="100000",
    )

    assert outcome.stdout == "right\n"
    lost = outcome.status.losses[LossReason.POOL_EXHAUSTED]
    assert outcome.status.losses == {LossReason.POOL_EXHAUSTED: lost}
    assert 0 < lost < 10
    assert blocks_of(outcome) == [4] * (10 - lost)
    assert (outcome.status.launches, outcome.status.graph_launches) == (10, 10)


def test_launches_of_a_graph_are_chosen_by_their_number(run: Run) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured((4, 1, 1), (6, 1, 1)))\n"
        "hip.fake_hold(1)\n"
        "for _ in range(4): host.replay(executable, stream, 2)\n"
        f"hip.fake_hold(0)\n{RIGHT}",
        KTRACE_KERNEL_ITERATIONS="2,5-6",
    )

    assert outcome.stdout == "right\n"
    assert blocks_of(outcome) == [6, 4, 6]
    assert (outcome.status.annotated_launches, outcome.status.skipped_launches) == (8, 5)
    assert outcome.status.losses == {}


def test_kernels_that_are_not_asked_for_get_no_memory(run: Run) -> None:
    outcome = run(
        "executable = host.instantiate(host.captured())\n"
        f"for _ in range(3): host.replay(executable, stream)\n{RIGHT}",
        KTRACE_KERNELS="other",
    )

    assert outcome.stdout == "right\n"
    assert (outcome.status.launches, outcome.status.unselected_launches) == (3, 3)
    assert outcome.status.losses == {}
    assert not outcome.path.exists()
