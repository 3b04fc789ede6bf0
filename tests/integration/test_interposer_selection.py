"""Which launches are recorded: by the kernel's name, by the launch's number, by the time."""

from pathlib import Path

import pytest

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import LossReason
from support.preloaded import Outcome, run_script

HOST = "host = Host(open_hip(), SAXPY)\n"
RIGHT = "print('right' if host.is_right() else 'wrong', flush=True)\n"


def run(folder: Path, launches: int = 6, script: str = "", **environment: str) -> Outcome:
    text = f"{HOST}for _ in range({launches}): assert host.launch() == 0\n{script}{RIGHT}"
    outcome = run_script(text, folder, environment=environment)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    return outcome


def launches(outcome: Outcome) -> list[int]:
    return [int(dispatch.record["launch"]) for dispatch in outcome.recording.dispatches]


@pytest.mark.parametrize(
    ("include", "exclude", "is_traced"),
    [
        ("axp", "", True),
        ("^axp", "", False),
        ("gemm\n^saxpy$", "", True),
        ("saxpy", "s.*y", False),
        ("", "gemm", True),
        ("", "saxpy", False),
    ],
)
def test_kernels_are_chosen_by_regular_expressions(
    include: str, exclude: str, is_traced: bool, tmp_path: Path
) -> None:
    outcome = run(tmp_path, 2, KTRACE_KERNEL_INCLUDE=include, KTRACE_KERNEL_EXCLUDE=exclude)

    status = outcome.status
    assert (status.launches, status.annotated_launches) == (2, 2)
    assert status.dispatches == (2 if is_traced else 0)
    assert status.unselected_launches == (0 if is_traced else 2)
    assert (status.skipped_launches, status.losses) == (0, {})


def test_an_expression_sees_the_name_without_the_trailing_sink(tmp_path: Path) -> None:
    sample = "samples', 'gemm', 'gemm.gfx942.co"
    outcome = run_script(
        f"{HOST}image = SAXPY.parents[2].joinpath('{sample}').read_bytes()\n"
        "assert host.hip.hipModuleLoadData(ctypes.byref(host.module), image) == 0\n"
        "assert host.hip.hipModuleGetFunction(ctypes.byref(host.function), host.module,\n"
        "    b'_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE') == 0\n"
        "assert host.hip.hipModuleLaunchKernel(host.function, *GRID, 4096, 1, 1, 0, None,\n"
        "    (ctypes.c_void_p * 6)(*[ctypes.addressof(host.arguments)] * 6), None) != 0\n",
        tmp_path,
        environment={"KTRACE_KERNEL_INCLUDE": r"^gemm<64, 32>\(.*, int, int\)$"},
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.status.unselected_launches == 0
    assert outcome.status.losses == {LossReason.LAUNCH_FAILED: 1}


def test_launches_are_chosen_by_their_number(tmp_path: Path) -> None:
    outcome = run(tmp_path, KTRACE_KERNEL_ITERATIONS="1,3-4")

    assert launches(outcome) == [1, 3, 4]
    assert outcome.status.skipped_launches == 3
    assert (outcome.status.unselected_launches, outcome.status.losses) == (0, {})


def test_launches_of_kernels_that_are_not_chosen_are_not_numbered(tmp_path: Path) -> None:
    outcome = run(tmp_path, 3, KTRACE_KERNEL_ITERATIONS="2", KTRACE_KERNELS="gemm")

    assert not outcome.path.exists()
    assert (outcome.status.unselected_launches, outcome.status.skipped_launches) == (3, 0)


def test_a_child_of_fork_numbers_its_own_launches(tmp_path: Path) -> None:
    script = (
        "import warnings\nwarnings.filterwarnings('ignore', '.*multi-threaded')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    for _ in range(3): assert host.launch() == 0\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )

    outcome = run(tmp_path, 3, script, KTRACE_KERNEL_ITERATIONS="2")

    recordings = outcome.recordings
    assert [[int(d.record["launch"]) for d in r.dispatches] for r in recordings] == [[2], [2]]


def test_a_period_that_has_not_begun_records_nothing(tmp_path: Path) -> None:
    outcome = run(tmp_path, 3, KTRACE_PERIODS="3600000000000:1000000000:0")

    assert not outcome.path.exists()
    assert outcome.status.skipped_launches == 3


def test_periods_are_counted_on_the_model_s_clock(tmp_path: Path) -> None:
    # The fifth launch takes so long that the others do not matter.
    script = (
        "assert host.launch(grid=(400, 1, 1)) == 0\n"
        "assert host.hip.hipDeviceSynchronize() == 0\n"
        "for _ in range(3): assert host.launch() == 0\n"
    )
    everything = run(tmp_path / "all", 4, script)
    begin = [int(d.record["launched_ns"]) for d in everything.recording.dispatches]
    middle = (begin[4] + begin[5]) // 2 - int(everything.recording.clocks["host_ns"][0])

    # From the first call of HIP, where the model's clock begins.
    part = run(tmp_path / "part", 4, script, KTRACE_PERIODS=f"0:{middle}:1")

    assert launches(part) == [1, 2, 3, 4, 5]
    assert (part.status.skipped_launches, part.status.losses) == (3, {})


def test_claim_mode_gives_slots_to_the_waves_that_pass_the_filters(tmp_path: Path) -> None:
    outcome = run(tmp_path, 1, KTRACE_MODE="claim", KTRACE_BLOCKS="1:3")

    (dispatch,) = outcome.recording.dispatches
    record = dispatch.record
    assert int(record["mode"]) == layout.Mode.CLAIM
    assert [int(record[name]) for name in ("wave_slots", "claimed", "waves", "expected")] == [8] * 4
    assert set(dispatch.headers["block"][:, 0].tolist()) == {1, 2}
    assert outcome.status.claim_launches == 1


def test_direct_mode_loses_what_does_not_fit(tmp_path: Path) -> None:
    script = "assert host.launch(grid=(100, 1, 1)) == 0\n"
    outcome = run(tmp_path, 1, script, KTRACE_MODE="direct", KTRACE_MEMORY="65536")

    (dispatch,) = outcome.recording.dispatches
    assert int(dispatch.record["mode"]) == layout.Mode.DIRECT
    assert outcome.status.losses == {LossReason.POOL_EXHAUSTED: 1}
    assert outcome.status.message == (
        "kernel `saxpy`: 400 waves of 512 bytes did not fit `--memory 65536`"
    )
    assert outcome.status.claim_launches == 0


def test_a_ring_that_the_kernel_was_not_built_for_matters_only_to_full_regions(
    tmp_path: Path,
) -> None:
    outcome = run(tmp_path, 2, KTRACE_FULL="ring")

    assert [int(d.record["flags"]) for d in outcome.recording.dispatches] == [0, 0]
    assert (outcome.status.saturated_launches, outcome.status.dropped_words) == (0, 0)


def test_threads_of_the_software_device_wait_for_a_buffer_too(tmp_path: Path) -> None:
    script = """
import threading
def work():
    for _ in range(8): host.launch()
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    # Room for two buffers of 16 waves with 2 KiB each.
    environment = {"KTRACE_WORDS": "256", "KTRACE_MEMORY": "70000", "KTRACE_ON_FULL": "wait"}

    outcome = run(tmp_path, 0, script, **environment, KTRACE_ON_FULL_MS="60000")

    assert (outcome.status.dispatches, outcome.status.losses) == (48, {})
    assert outcome.status.claim_launches == 0


def test_a_name_of_the_recording_is_filled_in_by_each_process(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        1,
        KTRACE_OUTPUT=str(tmp_path / "%env{JOB}%-%rank%-%pid%.bin"),
        JOB="night",
        PMI_RANK="3",
    )

    (path,) = tmp_path.glob("*.bin")
    assert path.name == f"night-3-{outcome.status.pid}.bin"
    assert outcome.status.output == path


def test_a_variable_that_is_not_set_is_said_once_and_nothing_is_traced(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.launch()\n{RIGHT}",
        tmp_path,
        environment={"KTRACE_OUTPUT": "/nowhere/%env{NOBODY_SET_THIS}%.bin"},
    )

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    assert outcome.stderr == (
        "ktrace: KTRACE_OUTPUT is `/nowhere/%env{NOBODY_SET_THIS}%.bin`, and "
        "the variable NOBODY_SET_THIS is not set: the program runs untraced\n"
    )
    assert outcome.status.is_refused


def test_where_it_records_is_said_to_who_wants_to_know(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.launch()\n{RIGHT}", tmp_path, environment={"KTRACE_LOG_LEVEL": "info"}
    )

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    assert outcome.stderr == f"ktrace: records into {outcome.path}\n"


def test_kernels_that_were_launched_and_not_chosen_are_listed_once(tmp_path: Path) -> None:
    run(tmp_path, 3, KTRACE_KERNELS="gemm")

    (listed,) = tmp_path.rglob("refused_kernels")
    assert listed.read_text() == "saxpy\n"
