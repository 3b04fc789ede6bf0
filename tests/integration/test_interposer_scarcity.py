"""Where ktrace gets no thread or no memory, the program runs on, and what is lost is counted."""

from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import LossReason
from support.preloaded import ROOT, Outcome, run_script
from support.short_host import SHORT_HOST, without_placeholder
from support.stand_in import build_stand_in
from support.table_hip import compile_cpp

SUPPORT = ROOT / "tests" / "support"
THREE = (
    "for _ in range(3):\n    assert host.launch() == 0\n"
    "print('right' if host.is_right() else 'wrong')\n"
)
MOST_THREADS = 7  # more than what three launches on the software device take


@pytest.fixture(scope="module")
def scarce(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scarce")
    return compile_cpp(SUPPORT / "scarce.cpp", folder / "scarce.so", "-ldl")


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stand_in(tmp_path_factory.mktemp("fake"), "fake_hip.cpp")


def assert_all_are_counted(outcome: Outcome, launches: int) -> None:
    status = outcome.status
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert status.launches == status.annotated_launches == launches
    assert status.dispatches + sum(status.losses.values()) == launches


@pytest.mark.parametrize("threads", range(MOST_THREADS))
def test_without_threads_each_launch_runs_and_is_counted_once(
    threads: int, scarce: Path, tmp_path: Path
) -> None:
    outcome = run_script(
        f"{without_placeholder(tmp_path)}{SHORT_HOST}"
        f"class ShortHost(Short, GraphHost): pass\nhost = ShortHost(SHORT)\n{THREE}",
        tmp_path,
        preload=[scarce],
        environment={"SCARCE_THREADS": str(threads)},
    )

    assert_all_are_counted(outcome, 3)
    if threads == 0:
        assert outcome.status.losses == {LossReason.NO_MEMORY: 3}
        assert outcome.status.message == "inside ktrace: no thread could be started"


@pytest.mark.parametrize("threads", range(MOST_THREADS))
def test_without_threads_a_graphs_node_gets_the_argument_that_its_kernel_reads(
    threads: int, scarce: Path, tmp_path: Path
) -> None:
    outcome = run_script(
        f"{without_placeholder(tmp_path)}{SHORT_HOST}"
        "class ShortHost(Short, GraphHost): pass\nhost = ShortHost(SHORT)\n"
        "stream = None\n"
        "graph = host.graph()\nnode = host.add(graph, (4, 1, 1))\n"
        "executable = host.instantiate(graph)\n"
        "params = host.params((5, 1, 1))\n"
        "host.call('hipGraphExecKernelNodeSetParams', executable, node, ctypes.byref(params))\n"
        "for _ in range(2): host.replay(executable, stream)\n"
        "print('right' if host.is_right() else 'wrong')\n",
        tmp_path,
        preload=[scarce],
        environment={"SCARCE_THREADS": str(threads)},
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    status = outcome.status
    counted = status.dispatches + sum(status.losses.values())
    if LossReason.ENTRY_POINT in status.losses:  # nobody knows how many kernels the graph has
        assert (counted, status.annotated_launches) == (1, 0)
        assert status.message == "the kernels of a graph are not known: no thread could be started"
    else:
        assert counted == status.annotated_launches == 2
    assert (threads == 0) <= (LossReason.ENTRY_POINT in status.losses)


@pytest.mark.parametrize("size", [1, 60, 300, 2000])
def test_a_writer_without_memory_ends_tracing_and_not_the_application(
    size: int, scarce: Path, tmp_path: Path
) -> None:
    outcome = run_script(
        f"host = Host(open_hip(), SAXPY)\n{THREE}",
        tmp_path,
        preload=[scarce],
        environment={"SCARCE_MEMORY": "ktrace-writer", "SCARCE_SIZE": str(size)},
    )

    assert_all_are_counted(outcome, 3)
    assert outcome.status.losses
    assert "bad_alloc" in outcome.status.message


def test_a_watcher_without_memory_watches_no_more(scarce: Path, fake: Path, tmp_path: Path) -> None:
    outcome = run_script(
        f"host = Host(ctypes.CDLL({str(fake)!r}), SAXPY)\nhip = host.hip\nimport time\n"
        "stream = ctypes.c_void_p()\nhip.hipStreamCreateWithFlags(ctypes.byref(stream), 0)\n"
        "assert host.launch(stream=stream) == 0\n"
        "while not any(b'not watched' in p.read_bytes() for p in Path('session').glob('*')):\n"
        "    os.sched_yield()\n"
        "print('right')\n",
        tmp_path,
        preload_device=False,
        preload=[scarce],
        environment={
            "SCARCE_MEMORY": "ktrace-hang",
            "SCARCE_SIZE": "1",
            "KTRACE_HANG_MS": "1",
            "FAKE_HANGING_STREAM": "1",
            "FAKE_UNFINISHED": "1",
        },
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert outcome.status.message == "hanging kernels are not watched any more: std::bad_alloc"


@pytest.mark.parametrize("is_refused", [False, True], ids=["accepted", "refused"])
def test_an_empty_grid_is_counted_whatever_hip_thinks_of_it(
    is_refused: bool, fake: Path, tmp_path: Path
) -> None:
    hip = "open_hip()" if is_refused else f"ctypes.CDLL({str(fake)!r})"
    outcome = run_script(
        f"host = Host({hip}, SAXPY)\n"
        "print(host.launch(), host.launch(grid=(0, 1, 1)) != 0, host.launch())\n",
        tmp_path,
        preload_device=is_refused,
    )

    assert (outcome.returncode, outcome.stdout) == (0, f"0 {is_refused} 0\n")
    assert outcome.status.annotated_launches == 3
    assert outcome.status.dispatches == 2
    assert outcome.status.losses == {LossReason.LAUNCH_FAILED: 1}
