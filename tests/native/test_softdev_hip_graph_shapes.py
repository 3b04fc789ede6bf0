"""Graphs as a whole on the software device: edges, clones, instances and their updates."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np

from support.hip_calls import (
    CONTEXT_IS_DESTROYED,
    DEFAULT,
    DEVICE_TO_HOST,
    INVALID_VALUE,
    SUCCESS,
    call,
    download,
    load_hip,
    out_pointer,
)
from support.hip_graph_kernels import add, adding, code_object, data, stream
from support.hip_graphs import (
    GRAPH,
    KERNEL,
    UPDATE_FAILURE,
    Arguments,
    add_kernel,
    add_node,
    child_of,
    fill_params,
    handles,
    instantiate,
    launch_graph,
    listed,
    new_graph,
    type_of,
    update,
)

TOPOLOGY_CHANGED, TYPE_CHANGED, PARAMETERS_CHANGED = 2, 3, 5


class InstantiateParams(ctypes.Structure):
    _fields_ = (
        ("error_node", c_void_p),
        ("flags", c_ulonglong),
        ("result", c_int),
        ("stream", c_void_p),
    )


__all__ = ["add", "code_object", "data", "stream"]  # fixtures


def first_word(pointer: int) -> int:
    return int(download(pointer, 1, np.int32)[0])


def empties(graph: int, *befores: list[int]) -> list[int]:
    """Add empty nodes; each list holds the places of the nodes that come before."""
    nodes: list[int] = []
    for before in befores:
        after = [nodes[place] for place in before]
        nodes.append(add_node("hipGraphAddEmptyNode", graph, after))
    return nodes


def edges(graph: int) -> list[tuple[int | None, int | None]]:
    starts, ends, count = (c_void_p * 16)(), (c_void_p * 16)(), c_size_t(16)
    call("hipGraphGetEdges", c_void_p(graph), starts, ends, byref(count))
    return list(zip(starts[: count.value], ends[: count.value], strict=True))


def change(name: str, graph: int, start: int, end: int) -> int:
    ends = (handles([start]), handles([end]))
    return int(getattr(load_hip(), name)(c_void_p(graph), *ends, c_size_t(1)))


def test_a_graph_tells_its_roots_edges_and_neighbours() -> None:
    graph = new_graph()
    top, left, right, bottom = empties(graph, [], [0], [0], [1, 2])

    assert listed("hipGraphGetNodes", graph) == [top, left, right, bottom]
    assert listed("hipGraphGetRootNodes", graph) == [top]
    assert edges(graph) == [(top, left), (top, right), (left, bottom), (right, bottom)]
    assert listed("hipGraphNodeGetDependencies", bottom) == [left, right]
    assert listed("hipGraphNodeGetDependentNodes", top) == [left, right]


def test_lists_are_counted_cut_off_and_filled_up() -> None:
    graph = new_graph()
    nodes = empties(graph, [], [], [])
    get = load_hip().hipGraphGetNodes
    count, three, seen = c_size_t(), c_size_t(2), (c_void_p * 4)(1, 1, 1, 1)

    counted = get(c_void_p(graph), None, byref(count))
    cut_off = get(c_void_p(graph), seen, byref(three))
    first = seen[:]
    three.value = 4
    filled_up = get(c_void_p(graph), seen, byref(three))

    assert (counted, cut_off, filled_up) == (SUCCESS,) * 3
    assert (count.value, three.value) == (3, 3)
    assert first == [*nodes[:2], 1, 1]
    assert seen[:] == [*nodes, None]
    assert get(c_void_p(graph), seen, None) == INVALID_VALUE


def test_edges_can_be_taken_away_and_added_once() -> None:
    graph, other = new_graph(), new_graph()
    first, second = empties(graph, [], [0])
    (stranger,) = empties(other, [])

    again = change("hipGraphAddDependencies", graph, first, second)
    foreign = change("hipGraphAddDependencies", graph, stranger, second)
    to_itself = change("hipGraphAddDependencies", graph, second, second)
    removed = change("hipGraphRemoveDependencies", graph, first, second)
    gone = change("hipGraphRemoveDependencies", graph, first, second)

    assert (again, foreign, to_itself) == (INVALID_VALUE,) * 3
    assert (removed, gone) == (SUCCESS, INVALID_VALUE)
    assert edges(graph) == []
    assert change("hipGraphAddDependencies", graph, first, second) == SUCCESS
    assert edges(graph) == [(first, second)]


def test_a_destroyed_node_takes_its_edges_along() -> None:
    graph = new_graph()
    first, middle, last = empties(graph, [], [0], [1])

    call("hipGraphDestroyNode", c_void_p(middle))

    assert listed("hipGraphGetNodes", graph) == [first, last]
    assert edges(graph) == []
    assert load_hip().hipGraphDestroyNode(c_void_p(middle)) == INVALID_VALUE
    assert load_hip().hipGraphNodeGetType(c_void_p(middle), byref(c_int())) == INVALID_VALUE


def test_a_clone_has_nodes_and_parameters_of_its_own(add: int, data: int, stream: int) -> None:
    graph = new_graph()
    kernel = add_kernel(graph, adding(add, data, 1))
    empty = add_node("hipGraphAddEmptyNode", graph, [kernel])
    clone = out_pointer("hipGraphClone", c_void_p(graph))
    find = "hipGraphNodeFindInClone"
    own = out_pointer(find, c_void_p(kernel), c_void_p(clone))
    own_empty = out_pointer(find, c_void_p(empty), c_void_p(clone))

    call("hipGraphKernelNodeSetParams", c_void_p(own), byref(adding(add, data, 50).params))
    call("hipGraphDestroyNode", c_void_p(empty))
    launch_graph(instantiate(graph), stream)
    original = first_word(data)
    launch_graph(instantiate(clone), stream)

    assert (original, first_word(data)) == (1, 51)
    assert edges(clone) == [(own, own_empty)]
    assert own not in (kernel, empty)
    found = load_hip().hipGraphNodeFindInClone
    assert found(byref(c_void_p()), c_void_p(own), c_void_p(clone)) == INVALID_VALUE
    assert found(byref(c_void_p()), c_void_p(kernel), c_void_p(graph)) == INVALID_VALUE
    executable, params = instantiate(graph), adding(add, data, 2)
    set_params = load_hip().hipGraphExecKernelNodeSetParams
    not_its = set_params(c_void_p(executable), c_void_p(own), byref(params.params))
    assert not_its == INVALID_VALUE


def test_a_clone_of_a_graph_with_a_child_clones_the_child(add: int, data: int, stream: int) -> None:
    child, graph = new_graph(), new_graph()
    add_kernel(child, adding(add, data, 1))
    node = add_node("hipGraphAddChildGraphNode", graph, [], c_void_p(child))

    clone = out_pointer("hipGraphClone", c_void_p(graph))
    own = out_pointer("hipGraphNodeFindInClone", c_void_p(node), c_void_p(clone))
    (inner,) = listed("hipGraphGetNodes", child_of(own))
    call("hipGraphKernelNodeSetParams", c_void_p(inner), byref(adding(add, data, 8).params))
    launch_graph(instantiate(graph), stream)
    original = first_word(data)
    launch_graph(instantiate(clone), stream)

    assert (original, first_word(data)) == (1, 9)


def test_a_graph_and_its_instance_die_separately(add: int, data: int, stream: int) -> None:
    graph = new_graph()
    add_kernel(graph, adding(add, data, 1))
    executable = instantiate(graph)

    call("hipGraphDestroy", c_void_p(graph))
    launch_graph(executable, stream, times=2)
    call("hipGraphExecDestroy", c_void_p(executable))

    assert first_word(data) == 2
    launch = load_hip().hipGraphLaunch
    assert launch(c_void_p(executable), c_void_p(stream)) == INVALID_VALUE
    assert launch(c_void_p(instantiate(new_graph())), c_void_p(12345)) == CONTEXT_IS_DESTROYED


def test_instances_are_made_in_three_ways_and_keep_their_flags(add: int, data: int) -> None:
    graph, flags = new_graph(), c_ulonglong(99)
    add_kernel(graph, adding(add, data, 1))
    params = InstantiateParams(12345, 8, 7)
    log, node = ctypes.create_string_buffer(b"text", 8), c_void_p(1)

    plain = out_pointer(
        *("hipGraphInstantiate", c_void_p(graph), byref(node), log, c_size_t(8)),
    )
    with_params = out_pointer("hipGraphInstantiateWithParams", c_void_p(graph), byref(params))
    call("hipGraphExecGetFlags", c_void_p(with_params), byref(flags))

    assert plain != with_params
    assert (node.value, log.value) == (None, b"")
    assert (params.error_node, params.result, flags.value) == (None, 0, 8)
    made = load_hip().hipGraphInstantiateWithFlags
    assert made(byref(c_void_p()), c_void_p(graph), c_ulonglong(64)) == INVALID_VALUE


def test_a_launch_on_a_stream_that_has_gone_is_refused(add: int, data: int) -> None:
    graph = new_graph()
    add_kernel(graph, adding(add, data, 1))
    gone = out_pointer("hipStreamCreate")
    call("hipStreamDestroy", c_void_p(gone))

    status = load_hip().hipGraphLaunch(c_void_p(instantiate(graph)), c_void_p(gone))

    assert status == CONTEXT_IS_DESTROYED


def test_an_update_takes_over_all_parameters(add: int, data: int, stream: int) -> None:
    graphs = []
    for value in (1, 20):
        child, graph = new_graph(), new_graph()
        add_kernel(child, adding(add, data, value * 100))
        kernel = add_kernel(graph, adding(add, data, value))
        add_node("hipGraphAddChildGraphNode", graph, [kernel], c_void_p(child))
        graphs.append(graph)
    executable = instantiate(graphs[0])
    launch_graph(executable, stream)
    before = first_word(data)

    result = update(executable, graphs[1])

    launch_graph(executable, stream)
    assert result == (SUCCESS, 0, None)
    assert (before, first_word(data)) == (101, 2121)


def test_an_update_with_another_shape_fails_and_changes_nothing(
    add: int, data: int, stream: int
) -> None:
    graph, larger, turned, typed = (new_graph() for _ in range(4))
    kernel = add_kernel(graph, adding(add, data, 1))
    add_kernel(graph, adding(add, data, 2), [kernel])
    for _ in range(3):
        add_kernel(larger, adding(add, data, 1000))
    loose = [add_kernel(turned, adding(add, data, 1000)) for _ in range(2)]
    first = add_kernel(typed, adding(add, data, 1000))
    params = fill_params(data, 7, 64)
    filling = add_node("hipGraphAddMemsetNode", typed, [first], byref(params))
    executable = instantiate(graph)

    results = [update(executable, other) for other in (larger, turned, typed)]

    assert results == [
        (UPDATE_FAILURE, TOPOLOGY_CHANGED, None),
        (UPDATE_FAILURE, TOPOLOGY_CHANGED, loose[1]),
        (UPDATE_FAILURE, TYPE_CHANGED, filling),
    ]
    launch_graph(executable, stream)
    assert first_word(data) == 3


def test_an_update_may_not_turn_a_copy_around(data: int) -> None:
    host = out_pointer("hipHostMalloc", 256, 0)
    graphs = []
    for kind in (DEFAULT, DEVICE_TO_HOST):
        graph = new_graph()
        line = (c_void_p(host), c_void_p(data), c_size_t(256), kind)
        node = add_node("hipGraphAddMemcpyNode1D", graph, [], *line)
        graphs.append(graph)

    result = update(instantiate(graphs[0]), graphs[1])

    assert result == (UPDATE_FAILURE, PARAMETERS_CHANGED, node)
    call("hipHostFree", host)


def test_a_graph_that_is_launched_into_a_capture_becomes_a_child(
    add: int, data: int, stream: int
) -> None:
    graph, captured = new_graph(), c_void_p()
    node = add_kernel(graph, adding(add, data, 1))
    executable, later = instantiate(graph), adding(add, data, 500)

    call("hipStreamBeginCapture", stream, 0)
    call("hipGraphLaunch", c_void_p(executable), c_void_p(stream))
    call("hipGraphLaunch", c_void_p(executable), c_void_p(stream))
    call("hipStreamEndCapture", stream, byref(captured))
    set_params = load_hip().hipGraphExecKernelNodeSetParams
    assert set_params(c_void_p(executable), c_void_p(node), byref(later.params)) == SUCCESS
    call("hipGraphExecDestroy", c_void_p(executable))

    outer = captured.value or 0
    assert first_word(data) == 0
    assert [type_of(each) for each in listed("hipGraphGetNodes", outer)] == [GRAPH, GRAPH]
    launch_graph(instantiate(outer), stream)
    assert first_word(data) == 2


def test_captured_work_can_be_asked_and_changed(add: int, data: int, stream: int) -> None:
    captured, arguments = c_void_p(), adding(add, data, 3)
    call("hipStreamBeginCapture", stream, 0)
    shape = (1, 1, 1, 64, 1, 1, 0, stream)
    call("hipModuleLaunchKernel", add, *shape, arguments.pointers, None)
    call("hipStreamEndCapture", stream, byref(captured))
    graph = captured.value or 0
    (node,) = listed("hipGraphGetNodes", graph)
    seen = Arguments(0, []).params

    call("hipGraphKernelNodeGetParams", c_void_p(node), byref(seen))
    call("hipGraphKernelNodeSetParams", c_void_p(node), byref(adding(add, data, 4).params))

    assert (type_of(node), seen.function) == (KERNEL, add)
    launch_graph(instantiate(graph), stream)
    assert first_word(data) == 4


def test_a_capture_tells_its_graph_and_builds_upon_other_nodes(
    add: int, data: int, stream: int
) -> None:
    status, number, graph = c_int(), c_ulonglong(), c_void_p()
    tail, count = ctypes.POINTER(c_void_p)(), c_size_t()
    call("hipStreamBeginCapture", stream, 0)
    arguments = adding(add, data, 1)
    shape = (1, 1, 1, 64, 1, 1, 0, stream)
    call("hipModuleLaunchKernel", add, *shape, arguments.pointers, None)
    info = load_hip().hipStreamGetCaptureInfo_v2
    asked = info(
        *(c_void_p(stream), byref(status), byref(number), byref(graph), byref(tail)),
        byref(count),
    )
    first = tail[0]
    own = add_node("hipGraphAddEmptyNode", graph.value or 0, [])
    depend = load_hip().hipStreamUpdateCaptureDependencies

    added = depend(c_void_p(stream), handles([own]), c_size_t(1), c_uint(0))
    call("hipModuleLaunchKernel", add, *shape, arguments.pointers, None)
    instead = depend(c_void_p(stream), handles([own]), c_size_t(1), c_uint(1))
    call("hipModuleLaunchKernel", add, *shape, arguments.pointers, None)
    odd = depend(c_void_p(stream), handles([12345]), c_size_t(1), c_uint(1))
    ended = c_void_p()
    call("hipStreamEndCapture", stream, byref(ended))

    assert (asked, status.value, count.value) == (SUCCESS, 1, 1)
    assert (added, instead, odd) == (SUCCESS, SUCCESS, INVALID_VALUE)
    assert ended.value == graph.value
    nodes = listed("hipGraphGetNodes", ended.value or 0)
    assert nodes[:2] == [first, own]
    assert listed("hipGraphNodeGetDependencies", nodes[2]) == [first, own]
    assert listed("hipGraphNodeGetDependencies", nodes[3]) == [own]
    outside = depend(c_void_p(stream), handles([own]), c_size_t(1), c_uint(1))
    assert outside == 401


def test_more_dependencies_than_a_graph_has_nodes_are_refused(stream: int) -> None:
    hip, graph, node = load_hip(), new_graph(), c_void_p()
    (own,) = empties(graph, [])
    wraps = c_size_t(1 << 61)  # of pointers: as many bytes as none
    begin = hip.hipStreamBeginCaptureToGraph
    target = (c_void_p(stream), c_void_p(graph), handles([own]), None)

    added = hip.hipGraphAddEmptyNode(byref(node), c_void_p(graph), handles([own]), wraps)
    edges_added = hip.hipGraphAddDependencies(
        c_void_p(graph), handles([own] * 3), handles([own] * 3), wraps
    )
    begun = begin(*target, wraps, c_int(0))
    call("hipStreamBeginCaptureToGraph", *target, c_size_t(1), c_int(0))
    depend = hip.hipStreamUpdateCaptureDependencies
    changed = depend(c_void_p(stream), handles([own]), wraps, c_uint(1))
    twice = depend(c_void_p(stream), handles([own, own]), c_size_t(2), c_uint(1))
    call("hipStreamEndCapture", stream, byref(node))

    assert (added, edges_added, begun, changed, twice) == (INVALID_VALUE,) * 5
    assert listed("hipGraphGetNodes", graph) == [own]


def test_events_for_the_outside_are_captured_as_nodes(stream: int, data: int) -> None:
    event, captured = out_pointer("hipEventCreate"), c_void_p()
    call("hipStreamBeginCapture", stream, 0)
    call("hipMemsetAsync", data, 1, 4, stream)
    call("hipEventRecordWithFlags", c_void_p(event), c_void_p(stream), 1)
    call("hipStreamWaitEvent", stream, event, 1)
    call("hipStreamEndCapture", stream, byref(captured))

    nodes = listed("hipGraphGetNodes", captured.value or 0)

    assert [type_of(node) for node in nodes] == [2, 7, 6]


def test_waiting_for_an_event_of_a_capture_that_is_over_waits_for_nothing(
    stream: int, data: int
) -> None:
    event, captured = out_pointer("hipEventCreate"), c_void_p()
    call("hipStreamBeginCapture", stream, 0)
    call("hipMemsetAsync", data, 1, 4, stream)
    call("hipEventRecord", event, stream)
    call("hipStreamEndCapture", stream, byref(captured))

    call("hipStreamWaitEvent", stream, event, 0)

    assert load_hip().hipStreamQuery(stream) == SUCCESS
