"""Every type of graph node on the software device: adding, asking, changing, running."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_void_p
from pathlib import Path

import numpy as np

from support.hip_calls import (
    DEFAULT,
    INVALID_VALUE,
    NOT_READY,
    SUCCESS,
    call,
    download,
    load_function,
    load_hip,
    out_pointer,
    upload,
)
from support.hip_graph_kernels import add, adding, code_object, data, stream
from support.hip_graphs import (
    COPY,
    EMPTY,
    FILL,
    GRAPH,
    HOST,
    KERNEL,
    RECORD,
    WAIT,
    Arguments,
    CopyParams,
    FillParams,
    HostParams,
    KernelNodeParams,
    NodeParams,
    add_kernel,
    add_node,
    child_of,
    copy_params,
    fill_params,
    handles,
    instantiate,
    launch_graph,
    listed,
    new_graph,
    type_of,
)

__all__ = ["add", "code_object", "data", "stream"]  # fixtures


def words(pointer: int, count: int = 64) -> list[int]:
    return [int(word) for word in set(download(pointer, count, np.int32).tolist())]


def kernel_params(node: int) -> KernelNodeParams:
    params = KernelNodeParams()
    call("hipGraphKernelNodeGetParams", c_void_p(node), byref(params))
    return params


def value_in(params: KernelNodeParams) -> int:
    """Read the second argument, where the node keeps it."""
    pointers = ctypes.cast(params.params, ctypes.POINTER(c_void_p))
    return c_int.from_address(pointers[1] or 0).value


def test_kernel_parameters_are_the_nodes_own_copies(add: int, data: int) -> None:
    graph, arguments = new_graph(), adding(add, data, 5)
    node = add_kernel(graph, arguments)
    arguments.values[1].value = 6

    first, second = kernel_params(node), kernel_params(node)

    assert value_in(first) == 5
    assert first.function == add
    assert (list(first.grid), list(first.block), first.shared) == ([1, 1, 1], [64, 1, 1], 0)
    assert first.extra is None
    assert first.params not in (None, ctypes.addressof(arguments.pointers))
    assert second.params == first.params


def test_an_argument_buffer_comes_back_as_a_buffer(add: int, data: int, stream: int) -> None:
    buffer = ctypes.create_string_buffer(data.to_bytes(8, "little") + b"\3\0\0\0", 16)
    size = c_size_t(16)
    extra = (c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 3)
    params = KernelNodeParams((64, 1, 1), ctypes.addressof(extra), add, (1, 1, 1), None, 0)
    graph = new_graph()
    node = add_node("hipGraphAddKernelNode", graph, [], byref(params))
    buffer[8] = b"\x09"

    seen = kernel_params(node)
    fields = (c_void_p * 5).from_address(seen.extra)

    assert (seen.params, fields[0], fields[2], fields[4]) == (None, 1, 2, 3)
    assert c_size_t.from_address(fields[3] or 0).value == 16
    assert ctypes.string_at(fields[1] or 0, 16)[8:12] == b"\3\0\0\0"
    launch_graph(instantiate(graph), stream)
    assert words(data) == [3]


def test_parameters_that_were_asked_for_can_be_changed_and_set(
    add: int, data: int, stream: int
) -> None:
    graph = new_graph()
    node = add_kernel(graph, adding(add, data, 1))
    before = instantiate(graph)
    params = kernel_params(node)
    pointers = ctypes.cast(params.params, ctypes.POINTER(c_void_p))
    c_int.from_address(pointers[1] or 0).value = 40

    call("hipGraphKernelNodeSetParams", c_void_p(node), byref(params))

    assert value_in(kernel_params(node)) == 40
    launch_graph(before, stream)
    assert words(data) == [1]
    launch_graph(instantiate(graph), stream)
    assert words(data) == [41]


def test_an_exec_keeps_its_parameters_when_the_graph_changes(
    add: int, data: int, stream: int
) -> None:
    graph = new_graph()
    node = add_kernel(graph, adding(add, data, 1))
    executable = instantiate(graph)

    call("hipGraphKernelNodeSetParams", c_void_p(node), byref(adding(add, data, 100).params))
    launch_graph(executable, stream)
    before = words(data)
    changed = adding(add, data, 10)
    set_params = load_hip().hipGraphExecKernelNodeSetParams
    status = set_params(c_void_p(executable), c_void_p(node), byref(changed.params))
    launch_graph(executable, stream)

    assert status == SUCCESS
    assert before == [1]
    assert words(data) == [11]
    assert value_in(kernel_params(node)) == 100


def test_an_exec_knows_no_nodes_but_those_of_its_graph(add: int, data: int) -> None:
    child, other, graph = new_graph(), new_graph(), new_graph()
    add_kernel(child, adding(add, data, 1))
    stranger = add_kernel(other, adding(add, data, 1))
    holder = add_node("hipGraphAddChildGraphNode", graph, [], c_void_p(child))
    inner_graph = child_of(holder)
    (inner,) = listed("hipGraphGetNodes", inner_graph)
    executable, params = instantiate(graph), adding(add, data, 2)

    results = [
        load_hip().hipGraphExecKernelNodeSetParams(
            c_void_p(executable), c_void_p(node), byref(params.params)
        )
        for node in (inner, stranger, holder, 12345)
    ]

    assert results == [INVALID_VALUE] * 4


def test_a_kernel_node_may_change_its_function(
    code_object: Path, add: int, data: int, stream: int
) -> None:
    graph = new_graph()
    node = add_kernel(graph, adding(add, data, 21))
    executable = instantiate(graph)
    launch_graph(executable, stream)
    twice = Arguments(load_function(code_object, "twice"), [c_void_p(data)])

    call(
        *("hipGraphExecKernelNodeSetParams", c_void_p(executable), c_void_p(node)),
        byref(twice.params),
    )

    launch_graph(executable, stream)
    assert words(data) == [42]


def test_fills_can_be_read_and_changed(data: int, stream: int) -> None:
    graph, params = new_graph(), fill_params(data, 7, 64)
    node = add_node("hipGraphAddMemsetNode", graph, [], byref(params))
    executable, seen = instantiate(graph), FillParams()

    call("hipGraphMemsetNodeSetParams", c_void_p(node), byref(fill_params(data, 8, 64)))
    call("hipGraphMemsetNodeGetParams", c_void_p(node), byref(seen))
    launch_graph(executable, stream)
    first = words(data)
    changed = fill_params(data, 9, 64)
    call("hipGraphExecMemsetNodeSetParams", c_void_p(executable), c_void_p(node), byref(changed))
    launch_graph(executable, stream)

    assert (seen.destination, seen.value, seen.element, seen.width) == (data, 8, 4, 64)
    assert (first, words(data)) == ([7], [9])


def test_copies_can_be_read_and_changed(data: int, stream: int) -> None:
    one, two, three = (upload(np.full(64, n, np.int32)) for n in (1, 2, 3))
    graph, params, seen = new_graph(), copy_params(data, one, 256), CopyParams()
    node = add_node("hipGraphAddMemcpyNode", graph, [], byref(params))
    executable = instantiate(graph)

    call("hipGraphMemcpyNodeSetParams", c_void_p(node), byref(copy_params(data, two, 256)))
    call("hipGraphMemcpyNodeGetParams", c_void_p(node), byref(seen))
    launch_graph(executable, stream)
    first = words(data)
    line = (c_void_p(data), c_void_p(three), c_size_t(256), DEFAULT)
    call("hipGraphExecMemcpyNodeSetParams1D", c_void_p(executable), c_void_p(node), *line)
    launch_graph(executable, stream)

    assert (seen.source.pointer, seen.destination.pointer) == (two, data)
    assert list(seen.extent) == [256, 1, 1]
    assert (first, words(data)) == ([1], [3])
    for pointer in (one, two, three):
        call("hipFree", pointer)


def test_a_box_is_copied_layer_by_layer(stream: int) -> None:
    source = upload(np.arange(4 * 4 * 4, dtype=np.int32))
    target = upload(np.zeros(2 * 2 * 2, np.int32))
    params = CopyParams(
        source_position=(4, 1, 1),
        destination_position=(0, 0, 0),
        extent=(8, 2, 2),
        kind=DEFAULT,
    )
    params.source.pointer, params.source.pitch, params.source.y = source, 16, 4
    params.destination.pointer, params.destination.pitch, params.destination.y = target, 8, 2
    graph = new_graph()
    add_node("hipGraphAddMemcpyNode", graph, [], byref(params))

    launch_graph(instantiate(graph), stream)

    assert download(target, 8, np.int32).tolist() == [21, 22, 25, 26, 37, 38, 41, 42]
    call("hipFree", source)
    call("hipFree", target)


def test_host_functions_run_between_their_neighbours(add: int, data: int, stream: int) -> None:
    seen: list[list[int]] = []
    kind = ctypes.CFUNCTYPE(None, c_void_p)
    look = kind(lambda _: seen.append(words(data)))
    ignore = kind(lambda _: seen.append([]))
    graph, params, answer = new_graph(), HostParams(), HostParams()
    params.function, params.data = ctypes.cast(look, c_void_p), 77
    first = add_kernel(graph, adding(add, data, 1))
    host = add_node("hipGraphAddHostNode", graph, [first], byref(params))
    add_kernel(graph, adding(add, data, 1), [host])
    executable = instantiate(graph)
    launch_graph(executable, stream)

    call("hipGraphHostNodeGetParams", c_void_p(host), byref(answer))
    params.function = ctypes.cast(ignore, c_void_p)
    call("hipGraphExecHostNodeSetParams", c_void_p(executable), c_void_p(host), byref(params))
    launch_graph(executable, stream)

    assert seen == [[1], []]
    assert answer.function == ctypes.cast(look, c_void_p).value
    assert answer.data == 77
    assert words(data) == [4]


def test_child_graphs_are_copies_that_run_inside(add: int, data: int, stream: int) -> None:
    child, graph = new_graph(), new_graph()
    outside = add_kernel(child, adding(add, data, 1))
    first = add_kernel(graph, adding(add, data, 10))
    node = add_node("hipGraphAddChildGraphNode", graph, [first], c_void_p(child))
    inner_graph = child_of(node)
    (inner,) = listed("hipGraphGetNodes", inner_graph)

    call("hipGraphKernelNodeSetParams", c_void_p(outside), byref(adding(add, data, 500).params))
    call("hipGraphDestroy", c_void_p(child))
    launch_graph(instantiate(graph), stream)
    as_added = words(data)
    call("hipGraphKernelNodeSetParams", c_void_p(inner), byref(adding(add, data, 100).params))
    launch_graph(instantiate(graph), stream)

    assert as_added == [11]
    assert words(data) == [121]
    assert type_of(node) == GRAPH
    assert load_hip().hipGraphDestroy(c_void_p(inner_graph)) == INVALID_VALUE


def test_an_execs_child_graph_takes_other_parameters_but_no_other_shape(
    add: int, data: int, stream: int
) -> None:
    child, other, larger, graph = (new_graph() for _ in range(4))
    add_kernel(child, adding(add, data, 1))
    add_kernel(other, adding(add, data, 30))
    for _ in range(2):
        add_kernel(larger, adding(add, data, 1))
    node = add_node("hipGraphAddChildGraphNode", graph, [], c_void_p(child))
    executable = instantiate(graph)
    set_child = load_hip().hipGraphExecChildGraphNodeSetParams

    shape = set_child(c_void_p(executable), c_void_p(node), c_void_p(larger))
    params = set_child(c_void_p(executable), c_void_p(node), c_void_p(other))
    launch_graph(executable, stream)

    assert (shape, params) == (999, SUCCESS)
    assert words(data) == [30]


def test_event_nodes_record_and_wait_at_each_launch(add: int, data: int, stream: int) -> None:
    event, other = out_pointer("hipEventCreate"), out_pointer("hipEventCreate")
    graph, answer = new_graph(), c_void_p()
    kernel = add_kernel(graph, adding(add, data, 1))
    record = add_node("hipGraphAddEventRecordNode", graph, [kernel], c_void_p(event))
    wait = add_node("hipGraphAddEventWaitNode", graph, [record], c_void_p(event))
    executable = instantiate(graph)
    never_recorded = load_hip().hipEventQuery(c_void_p(event))

    call("hipGraphLaunch", c_void_p(executable), c_void_p(stream))
    at_once = load_hip().hipEventQuery(c_void_p(event))
    call("hipEventSynchronize", c_void_p(event))
    call("hipGraphEventRecordNodeGetEvent", c_void_p(record), byref(answer))
    set_event = load_hip().hipGraphExecEventRecordNodeSetEvent
    changed = set_event(c_void_p(executable), c_void_p(record), c_void_p(other))
    call("hipGraphLaunch", c_void_p(executable), c_void_p(stream))

    assert (never_recorded, at_once) == (SUCCESS, NOT_READY)
    assert load_hip().hipEventQuery(c_void_p(event)) == SUCCESS
    assert (changed, load_hip().hipEventQuery(c_void_p(other))) == (SUCCESS, NOT_READY)
    assert (type_of(record), type_of(wait), answer.value) == (RECORD, WAIT, event)
    call("hipStreamSynchronize", c_void_p(stream))


def test_any_node_can_be_made_and_changed_through_the_union(
    add: int, data: int, stream: int
) -> None:
    child, graph, event = new_graph(), new_graph(), out_pointer("hipEventCreate")
    add_kernel(child, adding(add, data, 1))
    source = upload(np.full(64, 1000, np.int32))
    arguments, changed = adding(add, data, 10), adding(add, data, 20)
    unions = [NodeParams(type=kind) for kind in range(8)]
    unions[KERNEL].of.kernel = arguments.params
    unions[COPY].of.copy.box = copy_params(data, source, 256)
    unions[FILL].of.fill = fill_params(data, 5, 64)
    touched: list[int] = []
    touch = ctypes.CFUNCTYPE(None, c_void_p)(lambda _: touched.append(1))
    unions[HOST].of.host.function = ctypes.cast(touch, c_void_p)
    unions[GRAPH].of.graph = child
    unions[WAIT].of.event = unions[RECORD].of.event = event
    nodes: list[int] = []

    for kind in (FILL, COPY, KERNEL, GRAPH, HOST, EMPTY, RECORD, WAIT):
        nodes.append(add_node("hipGraphAddNode", graph, nodes[-1:], byref(unions[kind])))
    executable = instantiate(graph)
    launch_graph(executable, stream)
    first = words(data)
    unions[KERNEL].of.kernel = changed.params
    call(
        *("hipGraphExecNodeSetParams", c_void_p(executable), c_void_p(nodes[2])),
        byref(unions[KERNEL]),
    )
    launch_graph(executable, stream)
    second = words(data)
    unions[COPY].of.copy.box = copy_params(data, source + 128, 128)
    call("hipGraphNodeSetParams", c_void_p(nodes[1]), byref(unions[COPY]))
    launch_graph(instantiate(graph), stream)

    assert [type_of(node) for node in nodes] == [2, 1, 0, 4, 3, 5, 7, 6]
    assert (first, second, touched) == ([1011], [1021], [1, 1, 1])
    assert sorted(words(data)) == [16, 1011]
    wrong = load_hip().hipGraphNodeSetParams(c_void_p(nodes[0]), byref(unions[KERNEL]))
    assert wrong == INVALID_VALUE


def test_a_node_that_is_switched_off_is_left_out(add: int, data: int, stream: int) -> None:
    graph = new_graph()
    node = add_kernel(graph, adding(add, data, 1))
    empty = add_node("hipGraphAddEmptyNode", graph, [node])
    executable, enabled = instantiate(graph), ctypes.c_uint(7)
    switch = load_hip().hipGraphNodeSetEnabled

    off = switch(c_void_p(executable), c_void_p(node), 0)
    launch_graph(executable, stream)
    call("hipGraphNodeGetEnabled", c_void_p(executable), c_void_p(node), byref(enabled))
    on = switch(c_void_p(executable), c_void_p(node), 1)
    launch_graph(executable, stream)

    assert (off, on, enabled.value) == (SUCCESS, SUCCESS, 0)
    assert words(data) == [1]
    assert switch(c_void_p(executable), c_void_p(empty), 0) == INVALID_VALUE


def test_nodes_that_make_no_sense_are_not_added(add: int, data: int) -> None:
    graph, other = new_graph(), new_graph()
    mine, foreign = (add_kernel(each, adding(add, data, 1)) for each in (graph, other))
    empty = load_hip().hipGraphAddEmptyNode
    node = c_void_p()

    after_foreign = empty(byref(node), c_void_p(graph), handles([foreign]), c_size_t(1))
    twice = empty(byref(node), c_void_p(graph), handles([mine, mine]), c_size_t(2))
    no_function = KernelNodeParams((64, 1, 1), None, None, (1, 1, 1), None, 0)
    nameless = load_hip().hipGraphAddKernelNode(
        *(byref(node), c_void_p(graph), None, c_size_t(0), byref(no_function))
    )
    odd_fill = load_hip().hipGraphAddMemsetNode(
        *(byref(node), c_void_p(graph), None, c_size_t(0)),
        byref(FillParams(data, 3, 1, 64, 0, 16)),
    )

    assert (after_foreign, twice, nameless, odd_fill) == (INVALID_VALUE,) * 4
    assert listed("hipGraphGetNodes", graph) == [mine]
