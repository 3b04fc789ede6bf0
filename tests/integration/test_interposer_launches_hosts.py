"""Launches by host functions, on several devices, and by hosts that pass no trace argument."""

from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import LossReason
from support.preloaded import Outcome, run_script
from support.short_host import SHORT_HOST, bundle, without_placeholder
from support.stand_in import build_stand_in

RIGHT = "print('right' if host.is_right() else host.result())\n"
TWO_DEVICES = {"KTRACE_SOFT_DEVICES": "2"}


def host(folder: Path) -> str:
    return (
        f"{bundle(folder)}from support.registered_host import *\n"
        "host = RegisteredHost(SAXPY, BUNDLE)\nstream = host.stream()\n"
    )


def assert_traced(outcome: Outcome, blocks: list[int]) -> None:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    dispatches = outcome.recording.dispatches
    assert [int(d.record["grid"][0]) for d in dispatches] == blocks
    assert [len(d.headers) for d in dispatches] == [4 * count for count in blocks]
    assert outcome.status.losses == {}
    assert outcome.status.launches == outcome.status.annotated_launches == len(blocks)


@pytest.mark.parametrize(
    "call",
    [
        "hipLaunchKernel",
        "hipLaunchKernel_spt",
        "hipLaunchCooperativeKernel",
        "hipLaunchCooperativeKernel_spt",
        "hipExtLaunchKernel",
        "hipLaunchKernelExC",
    ],
)
def test_a_host_function_is_traced_through_every_call(call: str, tmp_path: Path) -> None:
    outcome = run_script(
        f"{host(tmp_path)}for blocks in (4, 5):\n"
        f"    assert host.launch({call!r}, stream=stream, grid=(blocks, 1, 1)) == 0\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome, [4, 5])


def test_host_functions_are_traced_in_graphs(tmp_path: Path) -> None:
    outcome = run_script(
        f"{host(tmp_path)}graph = host.captured((4, 1, 1), (5, 1, 1))\nhost.add(graph, (6, 1, 1))\n"
        "executable = host.instantiate(graph)\n"
        f"for _ in range(2): host.replay(executable, stream, 3)\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome, [4, 5, 6] * 2)
    assert outcome.status.graph_launches == 6


def on_two_devices(tmp_path: Path, fill: str) -> str:
    return (
        f"{host(tmp_path)}host.call('hipSetDevice', 1)\n"
        "other = RegisteredHost(SAXPY, BUNDLE, host.registration)\nsecond = other.stream()\n"
        "host.call('hipSetDevice', 0)\n"
        f"{fill}"
        "host.call('hipSetDevice', 1)\nassert other.is_right()\nhost.call('hipSetDevice', 0)\n"
        f"{RIGHT}"
    )


@pytest.mark.parametrize(
    ("call", "entry", "kind"),
    [
        ("hipLaunchCooperativeKernelMultiDevice", "entry", "LaunchParams"),
        ("hipExtLaunchMultiKernelMultiDevice", "entry", "LaunchParams"),
        (
            "hipModuleLaunchCooperativeKernelMultiDevice",
            "function_entry",
            "FunctionLaunchParams",
        ),
    ],
)
def test_each_launch_of_a_list_is_traced_on_its_own_device(
    call: str, entry: str, kind: str, tmp_path: Path
) -> None:
    outcome = run_script(
        on_two_devices(
            tmp_path,
            f"entries = ({kind} * 2)(host.{entry}(stream, (4, 1, 1)),\n"
            f"    other.{entry}(second, (6, 1, 1)))\n"
            "before = bytes(entries)\n"
            f"host.call({call!r}, entries, 2, 0)\n"
            "assert bytes(entries) == before\n",
        ),
        tmp_path,
        environment=TWO_DEVICES,
    )

    assert_traced(outcome, [4, 6])
    assert [d.device for d in outcome.recording.dispatches] == [0, 1]


def test_a_list_that_hip_refuses_keeps_its_answer(tmp_path: Path) -> None:
    script = (
        f"{host(tmp_path)}entries = (LaunchParams * 1)(host.entry(None))\n"
        "call = host.hip.hipLaunchCooperativeKernelMultiDevice\n"
        "print(call(entries, 1, 0), host.hip.hipGetLastError(), end=' ')\n"
        "print(call(None, 1, 0), call(entries, 0, 0))\n"
    )

    plain = run_script(script, tmp_path / "plain", traced=False)
    traced = run_script(script, tmp_path)

    assert (traced.returncode, traced.stdout, traced.stderr) == (0, plain.stdout, "")
    assert traced.stdout != "0 0 0 0\n"


def test_graphs_of_two_devices_are_traced_on_their_own(tmp_path: Path) -> None:
    # Made while the one device is current, instantiated and launched while the other one is.
    outcome = run_script(
        on_two_devices(
            tmp_path,
            "graph = host.captured((4, 1, 1))\n"
            "host.call('hipSetDevice', 1)\n"
            "graphs = [graph, other.captured((6, 1, 1))]\n"
            "host.call('hipSetDevice', 0)\n"
            "executables = [host.instantiate(one) for one in reversed(graphs)]\n"
            "for _ in range(2):\n"
            "    host.replay(executables[1], stream)\n    other.replay(executables[0], second)\n",
        ),
        tmp_path,
        environment=TWO_DEVICES,
    )

    assert_traced(outcome, [4, 6, 4, 6])
    assert [d.device for d in outcome.recording.dispatches] == [0, 1, 0, 1]


@pytest.mark.parametrize("extra", [False, True], ids=["params", "extra"])
@pytest.mark.parametrize(
    "call",
    [
        "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel",
        "hipHccModuleLaunchKernel",
        "hipDrvLaunchKernelEx",
    ],
)
def test_an_argument_that_the_host_does_not_pass_is_added_to_a_module_launch(
    call: str, extra: bool, tmp_path: Path
) -> None:
    outcome = run_script(
        f"{without_placeholder(tmp_path)}{SHORT_HOST}"
        "class ShortHost(Short, GraphHost): pass\nhost = ShortHost(SHORT)\n"
        f"assert host.launch({call!r}, extra={extra}) == 0\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome, [4])


@pytest.mark.parametrize(
    "call",
    ["hipLaunchKernel", "hipLaunchCooperativeKernel", "hipExtLaunchKernel", "hipLaunchKernelExC"],
)
def test_an_argument_that_the_host_does_not_pass_is_added_to_a_host_launch(
    call: str, tmp_path: Path
) -> None:
    outcome = run_script(
        f"{without_placeholder(tmp_path)}{SHORT_HOST}"
        "class ShortHost(Short, RegisteredHost): pass\nhost = ShortHost(SHORT, BUNDLE)\n"
        f"assert host.launch({call!r}) == 0\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome, [4])


def test_an_argument_that_the_host_does_not_pass_is_added_in_a_list(tmp_path: Path) -> None:
    outcome = run_script(
        f"{without_placeholder(tmp_path)}{SHORT_HOST}"
        "class ShortHost(Short, RegisteredHost): pass\nhost = ShortHost(SHORT, BUNDLE)\n"
        "entries = (LaunchParams * 1)(host.entry(host.stream()))\n"
        f"host.call('hipLaunchCooperativeKernelMultiDevice', entries, 1, 0)\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome, [4])


@pytest.mark.parametrize("extra", [False, True], ids=["params", "extra"])
def test_an_argument_that_the_host_does_not_pass_is_added_in_graphs(
    extra: bool, tmp_path: Path
) -> None:
    outcome = run_script(
        f"{without_placeholder(tmp_path)}{SHORT_HOST}"
        "class ShortHost(Short, GraphHost): pass\nhost = ShortHost(SHORT)\nstream = host.stream()\n"
        f"graph = host.graph()\nnode = host.add(graph, (4, 1, 1), extra={extra})\n"
        "executable = host.instantiate(graph)\nhost.replay(executable, stream)\n"
        f"params = host.params((5, 1, 1), extra={extra})\n"
        "host.call('hipGraphExecKernelNodeSetParams', executable, node, ctypes.byref(params))\n"
        "host.replay(executable, stream)\n"
        f"params = host.params((6, 1, 1), extra={extra})\n"
        "host.call('hipGraphKernelNodeSetParams', node, ctypes.byref(params))\n"
        "for one in (host.instantiate(graph), host.instantiate(host.captured((7, 1, 1)))):\n"
        f"    host.replay(one, stream)\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome, [4, 5, 6, 7])


def test_the_first_versions_launch_call_is_traced_by_what_it_ends_in(tmp_path: Path) -> None:
    fake = build_stand_in(tmp_path, "graph_hip.cpp", "old_launch.cpp")
    outcome = run_script(
        "from support.registered_host import *\n"
        f"host = GraphHost(SAXPY, ctypes.CDLL({str(fake)!r}))\n"
        "shape = Dim3(4, 1, 1), Dim3(256, 1, 1), ctypes.c_size_t(0), None\n"
        "host.call('hipConfigureCall', *shape)\n"
        "size = ctypes.sizeof(host.arguments)\n"
        "host.call('hipSetupArgument', ctypes.byref(host.arguments), ctypes.c_size_t(size),\n"
        "    ctypes.c_size_t(0))\n"
        f"host.call('hipLaunchByPtr', host.function)\nhost.launches = 1\n{RIGHT}",
        tmp_path,
        preload_device=False,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    (dispatch,) = outcome.recording.dispatches
    assert dispatch.words["clock"].tolist() == [4]
    assert outcome.status.launches == 1


@pytest.mark.parametrize("unloads", [False, True], ids=["", "with its library gone before"])
def test_functions_that_hip_lists_are_traced(unloads: bool, tmp_path: Path) -> None:
    again = (
        "host.call('hipLibraryUnload', library)\n"
        "library = host.pointer('hipLibraryLoadData', host.image, None, None, 0, None, None, 0)\n"
    )
    outcome = run_script(
        f"{host(tmp_path)}host = GraphHost(SAXPY)\n"
        "library = host.pointer('hipLibraryLoadData', host.image, None, None, 0, None, None, 0)\n"
        f"{again if unloads else ''}"
        "module = host.pointer('hipLibraryGetModule', library)\n"
        "for one in (module, host.module):\n"
        "    functions = (ctypes.c_void_p * 3)()\n"
        "    host.call('hipModuleEnumerateFunctions', functions, 1, one)\n"
        "    host.function = ctypes.c_void_p(functions[0])\n"
        "    assert host.launch() == 0\n"
        "host.call('hipModuleGetFunction', ctypes.byref(host.function), module, b'saxpy')\n"
        f"assert host.launch() == 0\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome, [4, 4, 4])
    assert outcome.status.unseen_launches == 0


def test_the_first_versions_launch_call_is_counted_where_hip_does_it_alone(tmp_path: Path) -> None:
    outcome = run_script(
        f"{host(tmp_path)}from support.registered_host import Dim3\n"
        "host.call('hipConfigureCall', Dim3(4, 1, 1), Dim3(256, 1, 1), ctypes.c_size_t(0), None)\n"
        "size = ctypes.sizeof(host.arguments)\n"
        "host.call('hipSetupArgument', ctypes.byref(host.arguments), ctypes.c_size_t(size),\n"
        "    ctypes.c_size_t(0))\n"
        f"host.call('hipLaunchByPtr', host.function)\nhost.launches = 1\n{RIGHT}",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    status = outcome.status
    assert (status.launches, status.annotated_launches, status.dispatches) == (1, 1, 0)
    assert status.losses == {LossReason.ENTRY_POINT: 1}
