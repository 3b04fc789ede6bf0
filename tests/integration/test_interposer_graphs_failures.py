"""What goes wrong with a graph is counted, and the graph runs as it would without us."""

import pytest

from ktrace_cli.trace_file.layout import LossReason
from support.late_hip import RIGHT, Run, blocks_of, fake, run

__all__ = ["fake", "run"]  # fixtures


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
        f"executable = host.instantiate(host.captured())\nhost.replay(executable, stream)\n{RIGHT}",
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
