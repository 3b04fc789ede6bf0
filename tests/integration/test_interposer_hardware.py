"""The interposer before a HIP other than the software device, with faults and delays forced."""

from pathlib import Path

import pytest

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import DispatchFlag, LossReason, WaveState
from support.linked_units import link, source
from support.preloaded import SAXPY, Outcome, run_script
from support.stand_in import build_stand_in

# Where a status file counts the dispatches that are in the recording.
DISPATCHES = layout.STATUS.fields["counts"][1] + layout.END.fields["dispatches"][1]
HOST = (
    "host = Host(ctypes.CDLL(str(FAKE)), SAXPY)\nhip = host.hip\n"
    "def stream():\n"
    "    made = ctypes.c_void_p()\n"
    "    hip.hipStreamCreateWithFlags(ctypes.byref(made), 0)\n"
    "    return made\n"
)


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stand_in(tmp_path_factory.mktemp("fake"), "fake_hip.cpp")


@pytest.fixture
def run(fake: Path, tmp_path: Path):
    def call(script: str, **environment: str) -> Outcome:
        text = f"FAKE = {str(fake)!r}\n{HOST}{script}"
        outcome = run_script(text, tmp_path, preload_device=False, environment=environment)
        assert (outcome.returncode, outcome.stderr) == (0, "")
        return outcome

    return call


def test_dispatches_are_recorded_on_the_machine_s_clock(run) -> None:
    outcome = run("for _ in range(5): assert host.launch() == 0\n")

    recording = outcome.recording
    assert [len(dispatch.headers) for dispatch in recording.dispatches] == [1] * 5
    assert [dispatch.words["clock"].tolist() for dispatch in recording.dispatches] == [[17]] * 5
    assert not recording.devices[0].is_software
    assert not outcome.status.is_software
    # Without a driver nothing ties the clocks together but the launches themselves.
    assert set(recording.clocks["method"].tolist()) == {layout.ClockMethod.BOUNDS}
    process = recording.process
    for dispatch in recording.dispatches:
        record = dispatch.record
        assert record["launched_ns"] <= record["submitted_ns"] <= record["completed_ns"]
        assert abs(int(record["launched_ns"]) - process.boottime_ns) < 60 * 10**9


def test_an_event_that_is_not_ready_is_asked_again(run) -> None:
    outcome = run("for _ in range(3): assert host.launch() == 0\n", FAKE_POLLS="20")

    assert len(outcome.recording.dispatches) == 3
    assert outcome.recording.damage.not_closed == 0


def test_a_kernel_that_never_ends_holds_up_neither_the_others_nor_the_exit(run) -> None:
    outcome = run(
        "slow, fast = stream(), stream()\n"
        "assert host.launch(stream=slow) == 0\n"
        "for _ in range(3): assert host.launch(stream=fast) == 0\n",
        FAKE_HANGING_STREAM="1",
    )

    recording = outcome.recording
    assert [int(dispatch.record["dispatch"]) for dispatch in recording.dispatches] == [2, 3, 4]
    assert outcome.status.losses == {LossReason.NOT_FINISHED: 1}
    (loss,) = recording.losses
    assert (loss.kernel, loss.explanation) == (
        "saxpy",
        "it had not finished when the process ended",
    )
    assert recording.damage.not_closed == 0


def test_an_exhausted_pool_is_counted_and_the_kernel_runs_untraced(run) -> None:
    outcome = run(
        "slow = stream()\nprint([host.launch(stream=slow) for _ in range(10)])\n",
        FAKE_HANGING_STREAM="1",
        KTRACE_WORDS="64",
        KTRACE_MEMORY="65536",
    )

    assert outcome.stdout == f"{[0] * 10}\n"
    assert outcome.status.losses == {LossReason.NOT_FINISHED: 7, LossReason.POOL_EXHAUSTED: 3}


def test_a_larger_launch_takes_over_the_memory_of_smaller_ones(run) -> None:
    # Buffers of 8,448 and of 57,600 bytes: each fits into the memory, both do not. The first large
    # launch makes do with the small buffer, which makes room for the others afterwards.
    outcome = run(
        "import struct\n"
        "status = Path(os.environ['KTRACE_SESSION_DIR'], f'{os.getpid()}.status')\n"
        "for number, blocks in enumerate((4, 28, 28, 28), 1):\n"
        "    assert host.launch(grid=(blocks, 1, 1)) == 0\n"
        f"    while struct.unpack_from('<Q', status.read_bytes(), {DISPATCHES})[0] < number:\n"
        "        os.sched_yield()\n",
        KTRACE_WORDS="64",
        KTRACE_MEMORY="65536",
    )

    records = [dispatch.record for dispatch in outcome.recording.dispatches]
    modes = [layout.Mode(int(record["mode"])) for record in records]
    assert modes == [layout.Mode.DIRECT, layout.Mode.CLAIM, layout.Mode.DIRECT, layout.Mode.DIRECT]
    assert [int(record["wave_slots"]) for record in records] == [16, 16, 112, 112]
    assert outcome.status.losses == {}


def test_a_device_without_memory_runs_the_kernel_untraced(run) -> None:
    outcome = run("print(host.launch(), hip.hipGetLastError())\n", FAKE_MEMORY="8192")

    assert outcome.stdout == "0 0\n"
    assert outcome.status.losses == {LossReason.NO_MEMORY: 1}
    assert outcome.status.message == "kernel `saxpy`: the device had no memory for its trace buffer"


@pytest.mark.parametrize(
    "function",
    [
        "hipMemset2DAsync",
        "hipMemcpy2DAsync",
        "hipStreamWaitEvent",
        "hipStreamCreateWithFlags",
        "hipStreamSynchronize",
    ],
)
def test_a_copy_that_fails_is_counted_by_its_name(function: str, run) -> None:
    outcome = run("print(host.launch(), hip.hipGetLastError())\n", FAKE_FAILING=function)

    assert outcome.stdout == "0 0\n"
    assert outcome.status.losses == {LossReason.COPY_FAILED: 1}
    assert outcome.status.message == f"kernel `saxpy`: {function} returned hipErrorUnknown"


@pytest.mark.parametrize("function", ["hipMemsetAsync", "hipMemcpyAsync", "hipEventRecord"])
def test_a_failure_of_ours_on_the_applications_thread_is_not_its_last_error(
    function: str, run
) -> None:
    outcome = run(
        "print([host.launch() for _ in range(2)], hip.hipGetLastError())\n", FAKE_FAILING=function
    )

    assert outcome.stdout == "[0, 0] 0\n"
    assert outcome.status.losses == {LossReason.COPY_FAILED: 2}
    assert "hipErrorUnknown" in outcome.status.message


def test_a_refused_launch_keeps_the_applications_error(run) -> None:
    outcome = run(
        "print(host.launch(), hip.hipGetLastError())\n", FAKE_FAILING="hipModuleLaunchKernel"
    )

    assert outcome.stdout == "999 999\n"
    assert outcome.status.losses == {LossReason.LAUNCH_FAILED: 1}


def test_an_error_of_the_device_is_told_with_the_dispatch(run) -> None:
    outcome = run("print(host.launch())\n", FAKE_ASYNC_ERROR="999")

    assert outcome.status.losses == {LossReason.COPY_FAILED: 1}
    assert outcome.status.message == "kernel `saxpy`: the dispatch ended with hipErrorUnknown"


LIBRARY = (
    "library, kernel = ctypes.c_void_p(), ctypes.c_void_p()\n"
    "assert hip.hipLibraryLoadData(ctypes.byref(library), host.image, *[None] * 6) == 0\n"
    "assert hip.hipLibraryGetKernel(ctypes.byref(kernel), library, b'saxpy') == 0\n"
    "assert hip.hipKernelGetFunction(ctypes.byref(host.function), kernel) == 0\n"
    "assert host.function.value != kernel.value\n"
)


def test_the_function_of_a_librarys_kernel_is_traced(run) -> None:
    outcome = run(f"{LIBRARY}assert host.launch() == 0\n")

    assert len(outcome.recording.dispatches) == 1
    assert (outcome.status.code_objects, outcome.status.unseen_launches) == (1, 0)


def test_unloading_a_library_forgets_the_functions_of_its_kernels(run) -> None:
    outcome = run(f"{LIBRARY}assert hip.hipLibraryUnload(library) == 0\nhost.launch()\n")

    assert (outcome.status.launches, outcome.status.annotated_launches) == (1, 0)
    assert outcome.status.unseen_launches == 1


def test_a_function_of_unknown_origin_is_counted_when_it_is_launched(run) -> None:
    outcome = run(
        "functions = (ctypes.c_void_p * 1)()\n"
        "assert hip.hipModuleEnumerateFunctions(functions, 1, host.module) == 0\n"
        "assert host.launch() == 0\nhost.function = functions[0]\n"
        "launch = hip.hipModuleLaunchKernel\nlaunch.argtypes = [ctypes.c_void_p]\n"
        "assert [host.launch() for _ in range(2)] == [0, 0]\n"
    )

    assert len(outcome.recording.dispatches) == 1
    assert (outcome.status.launches, outcome.status.annotated_launches) == (3, 1)
    assert (outcome.status.unseen_launches, outcome.status.losses) == (2, {})


@pytest.mark.parametrize("failing", ["", "hipLibraryGetKernelCount", "hipKernelGetName"])
def test_a_listed_kernel_whose_name_cannot_be_asked_for_is_counted(failing: str, run) -> None:
    outcome = run(
        "library, kernels = ctypes.c_void_p(), (ctypes.c_void_p * 9)()\n"
        "assert hip.hipLibraryLoadData(ctypes.byref(library), host.image, *[None] * 6) == 0\n"
        "assert hip.hipLibraryEnumerateKernels(kernels, 9, library) == 0\n"
        "host.function = ctypes.c_void_p(kernels[0])\n"
        "print(hip.hipGetLastError(), host.launch())\n",
        FAKE_FAILING=failing,
    )

    assert outcome.stdout == "0 0\n"
    assert outcome.status.annotated_launches == (0 if failing else 1)
    assert outcome.status.unseen_launches == (1 if failing else 0)


def test_launches_of_a_code_object_that_cannot_be_read_are_counted(run) -> None:
    outcome = run(
        "host.image = b'a kind of code object that nobody knows'\n"
        "assert hip.hipModuleLoadData(ctypes.byref(host.module), host.image) == 0\n"
        "assert hip.hipModuleGetFunction(\n"
        "    ctypes.byref(host.function), host.module, b'saxpy') == 0\n"
        "assert host.launch() == 0\n"
    )

    assert outcome.status.losses == {LossReason.CODE_OBJECT: 1}
    assert (outcome.status.annotated_launches, outcome.status.unseen_launches) == (0, 1)


def test_an_annotated_kernel_that_no_metadata_lists_is_counted_at_every_launch(
    run, tmp_path: Path
) -> None:
    image = SAXPY.read_bytes()
    assert image.count(b"\xa8saxpy.kd") == 1
    path = tmp_path / "unlisted.co"
    path.write_bytes(image.replace(b"\xa8saxpy.kd", b"\xa8other.kd"))

    outcome = run(
        f"odd = Host(hip, Path({str(path)!r}))\nprint([odd.launch() for _ in range(3)])\n"
    )

    assert outcome.stdout == f"{[0] * 3}\n"
    assert not outcome.path.exists()
    status = outcome.status
    assert (status.launches, status.annotated_launches, status.unseen_launches) == (3, 3, 0)
    assert status.losses == {LossReason.CODE_OBJECT: 1, LossReason.ARGUMENT: 3}
    assert status.message == (
        "a code object in memory: kernels whose descriptors could not be found: 1, such as `saxpy`"
    )


def test_a_kernel_that_two_notes_describe_differently_is_refused(run, tmp_path: Path) -> None:
    path = link(
        tmp_path,
        source("saxpy", "of a", "a", parameters="int* out, float* b, float* c, float* d"),
        source("saxpy", "of b", "b", parameters="int* out, float* b, float* c, int d"),
        options=["--allow-multiple-definition"],  # the first one's code is taken
    )

    outcome = run(f"print(Host(hip, Path({str(path)!r})).launch())\n")

    assert outcome.stdout == "0\n"
    assert not outcome.path.exists()
    # The code of the second one is still there, but nothing leads to it: that alone is no damage.
    assert outcome.status.losses == {LossReason.ARGUMENT: 1}
    assert outcome.status.message == (
        "kernel `saxpy`: two notes of metadata describe its arguments differently"
    )


def test_a_launch_that_hip_refuses_is_of_no_kernel(run) -> None:
    outcome = run(
        "functions = (ctypes.c_void_p * 1)()\n"
        "assert hip.hipModuleEnumerateFunctions(functions, 1, host.module) == 0\n"
        "host.function = functions[0]\n"
        "launch = hip.hipModuleLaunchKernel\nlaunch.argtypes = [ctypes.c_void_p]\n"
        "assert host.launch() != 0\n",
        FAKE_FAILING="hipModuleLaunchKernel",
    )

    assert (outcome.status.launches, outcome.status.unseen_launches) == (1, 0)


def test_without_pinned_memory_there_is_no_buffer(run) -> None:
    outcome = run("print(host.launch())\n", FAKE_FAILING="hipHostMalloc")

    assert outcome.stdout == "0\n"
    assert outcome.status.losses == {LossReason.NO_MEMORY: 1}


UNFINISHED = layout.STATUS.fields["unfinished_dispatches"][1]
UNFINISHED_IS = (
    "import struct\n"
    "status = Path(os.environ['KTRACE_SESSION_DIR'], f'{os.getpid()}.status')\n"
    "def wait_until_unfinished_is(count):\n"
    f"    while struct.unpack_from('<Q', status.read_bytes(), {UNFINISHED})[0] != count:\n"
    "        os.sched_yield()\n"
)


def test_a_kernel_that_never_ends_leaves_what_it_wrote_in_host_memory(run) -> None:
    outcome = run(
        UNFINISHED_IS + "slow, fast = stream(), stream()\n"
        "assert host.launch(stream=slow) == 0\nwait_until_unfinished_is(1)\n"
        "os._exit(0)\n",
        FAKE_HANGING_STREAM="1",
        FAKE_UNFINISHED="1",
        KTRACE_HANG_MS="50",
        KTRACE_LOG_LEVEL="error",
    )

    (dispatch,) = outcome.recording.dispatches
    record = dispatch.record
    flags = DispatchFlag.UNFINISHED | DispatchFlag.EAGER
    assert DispatchFlag(int(record["flags"])) == flags
    assert dispatch.headers["state"].tolist() == [WaveState.BEGUN]
    assert dispatch.words["clock"].tolist() == [1017]
    assert int(record["completed_ns"]) - int(record["launched_ns"]) >= 50_000_000
    assert (outcome.status.unfinished_dispatches, outcome.status.losses) == (1, {})
    assert outcome.recording.damage.not_closed == 0


def test_a_kernel_that_ends_after_the_limit_is_recorded_as_it_ended(run) -> None:
    outcome = run(
        UNFINISHED_IS + "assert host.launch() == 0\n"
        "wait_until_unfinished_is(1)\nwait_until_unfinished_is(0)\n",
        FAKE_POLLS="400",
        FAKE_UNFINISHED="1",
        KTRACE_HANG_MS="20",
        KTRACE_LOG_LEVEL="error",
    )

    (dispatch,) = outcome.recording.dispatches
    assert DispatchFlag(int(dispatch.record["flags"])) == DispatchFlag.EAGER
    assert (outcome.status.unfinished_dispatches, outcome.status.losses) == (0, {})


def test_a_kernel_that_breaks_the_device_leaves_what_it_wrote(run) -> None:
    outcome = run(
        "assert host.launch() == 0\n",
        FAKE_ASYNC_ERROR="999",
        FAKE_UNFINISHED="1",
        KTRACE_HANG_MS="60000",
    )

    (dispatch,) = outcome.recording.dispatches
    assert DispatchFlag(int(dispatch.record["flags"])) & DispatchFlag.UNFINISHED
    assert int(dispatch.record["status"]) == 999
    assert dispatch.words["clock"].tolist() == [1017]
    assert (outcome.status.unfinished_dispatches, outcome.status.losses) == (1, {})


def test_a_reset_loses_only_what_was_not_copied_back(run) -> None:
    outcome = run(
        "slow, fast = stream(), stream()\n"
        "assert host.launch(stream=slow) == 0\n"
        "for _ in range(3): assert host.launch(stream=fast) == 0\n"
        "assert hip.hipDeviceReset() == 0\n"
        "for _ in range(2): assert host.launch(stream=fast) == 0\n",
        FAKE_HANGING_STREAM="1",
    )

    dispatches = outcome.recording.dispatches
    assert [int(dispatch.record["dispatch"]) for dispatch in dispatches] == [2, 3, 4, 5, 6]
    assert outcome.status.losses == {LossReason.COPY_FAILED: 1}
    assert outcome.status.message == (
        "kernel `saxpy`: its device was reset before it was copied back"
    )


def test_waiting_for_a_buffer_is_bounded_and_counted(run) -> None:
    outcome = run(
        "slow = stream()\nprint([host.launch(stream=slow) for _ in range(9)])\n",
        FAKE_HANGING_STREAM="1",
        KTRACE_WORDS="64",
        KTRACE_MEMORY="65536",
        KTRACE_ON_FULL="wait",
        KTRACE_ON_FULL_MS="20",
    )

    assert outcome.stdout == f"{[0] * 9}\n"
    status = outcome.status
    assert status.losses == {LossReason.NOT_FINISHED: 7, LossReason.POOL_EXHAUSTED: 2}
    assert status.waited_launches == 2
    assert 2 * 20_000_000 <= status.waited_ns < 60 * 10**9


def test_nobody_waits_for_memory_that_is_too_small_for_one_wave(run) -> None:
    outcome = run(
        "print(host.launch())\n",
        KTRACE_WORDS="8192",
        KTRACE_MEMORY="65536",
        KTRACE_ON_FULL="wait",
        KTRACE_ON_FULL_MS="3600000",
    )

    assert outcome.stdout == "0\n"
    assert outcome.status.losses == {LossReason.POOL_EXHAUSTED: 1}
    assert (outcome.status.waited_launches, outcome.status.waited_ns) == (0, 0)
