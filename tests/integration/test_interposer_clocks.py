"""Device time on the host's clock: through HSA, else the kernel's driver, else bounds."""

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.layout import ClockMethod
from support.preloaded import ROOT, Outcome, run_script

SUPPORT = ROOT / "tests" / "support"
TICK_NS = 10
Run = Callable[..., Outcome]


def compile_library(source: Path, output: Path) -> Path:
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    include = f"-I{ROOT / 'preload' / 'include'}"
    subprocess.run(
        [compiler, "-std=c++17", "-O1", "-fPIC", "-shared", include, source, "-o", output, "-ldl"],
        check=True,
    )
    return output


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries")
    compile_library(SUPPORT / "fake_hip.cpp", folder / "libamdhip64.so.7")
    compile_library(SUPPORT / "stand_in_hsa.cpp", folder / "libhsa-runtime64.so.1")
    compile_library(SUPPORT / "stand_in_kfd.cpp", folder / "kfd.so")
    return folder


@pytest.fixture(scope="module")
def origin() -> int:
    """The nanosecond of CLOCK_BOOTTIME of tick 0."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - 1_000_000_000


@pytest.fixture
def run(libraries: Path, origin: int, tmp_path: Path) -> Run:
    def call(
        script: str = "for _ in range(3): assert host.launch() == 0\n",
        *,
        hsa: str = "",
        kfd: bool = False,
        **environment: str,
    ) -> Outcome:
        text = f"if {bool(hsa)}: ctypes.CDLL({str(libraries / 'libhsa-runtime64.so.1')!r})\n"
        text += f"host = Host(ctypes.CDLL({str(libraries / 'libamdhip64.so.7')!r}), SAXPY)\n"
        if kfd:
            make_driver(tmp_path / "kfd")
        settings = {
            "FAKE_TICKS": str(origin),
            "STAND_IN_ORIGIN": str(origin),
            "STAND_IN_HSA": hsa,
            "STAND_IN_KFD": str(tmp_path / "kfd"),
            "STAND_IN_GPU_ID": "4711",
            **environment,
        }
        preload = [libraries / "kfd.so"] if kfd else []
        outcome = run_script(
            text + script, tmp_path, preload_device=False, environment=settings, preload=preload
        )
        assert (outcome.returncode, outcome.stderr) == (0, "")
        return outcome

    return call


def make_driver(root: Path, gpu_ids: tuple[int, ...] = (0, 4711, 4712)) -> None:
    """Make a CPU node, a GPU at 0000:c1:03.0, one elsewhere, and maybe one more at c1:03.0."""
    (root / "dev").mkdir(parents=True, exist_ok=True)
    (root / "dev" / "kfd").touch()
    places = ((0, 0), (0xC118, 0), (0x4100, 0), (0xC118, 0))
    for number, (gpu_id, (location, domain)) in enumerate(zip(gpu_ids, places, strict=False)):
        node = root / "sys/class/kfd/kfd/topology/nodes" / str(number)
        node.mkdir(parents=True, exist_ok=True)
        (node / "gpu_id").write_text(f"{gpu_id}\n")
        (node / "properties").write_text(
            f"cpu_cores_count 0\nlocation_id {location}\ndomain {domain}\n"
        )


def methods(outcome: Outcome) -> set[int]:
    return set(outcome.recording.clocks["method"].tolist())


def samples(outcome: Outcome) -> np.ndarray:
    clocks = outcome.recording.clocks
    return clocks[clocks["method"] != ClockMethod.BOUNDS]


def off_the_line(outcome: Outcome, origin: int) -> list[int]:
    """How far each sample is from where the stand-ins' line has it, in nanoseconds."""
    rows = samples(outcome)
    line = origin + TICK_NS * rows["realtime"].astype(np.int64)
    return (rows["host_ns"].astype(np.int64) - line).tolist()


def errors_of_waves(outcome: Outcome, origin: int) -> list[int]:
    """How far each wave's begin on the timeline is from its tick on the line."""
    recording = outcome.recording
    ticks = np.concatenate([d.headers["realtime_begin"] for d in recording.dispatches])
    begins = build_timeline(recording).waves["begin_ns"]
    return np.abs(begins - (origin + TICK_NS * ticks.astype(np.int64))).tolist()


def test_where_hsa_is_loaded_its_conversion_is_recorded(run: Run, origin: int) -> None:
    outcome = run(hsa="counters")

    assert methods(outcome) == {ClockMethod.HSA}
    assert len(samples(outcome)) >= 2  # at the start and at the end
    assert set(off_the_line(outcome, origin)) == {0}
    assert build_timeline(outcome.recording).clocks[0].method == "hsa"
    assert max(errors_of_waves(outcome, origin)) <= TICK_NS


def test_the_uncertainty_of_hsa_s_conversion_is_measured(run: Run, origin: int) -> None:
    outcome = run(hsa="counters", STAND_IN_HSA_OFF="5000000")

    uncertainty = samples(outcome)["uncertainty_ns"][0]
    assert 4_900_000 < uncertainty < 6_000_000
    assert build_timeline(outcome.recording).clocks[0].method == "hsa"


def test_an_hsa_without_counters_converts_the_waves_own_ticks(run: Run, origin: int) -> None:
    outcome = run(hsa="old")

    rows = samples(outcome)
    assert set(rows["method"].tolist()) == {ClockMethod.HSA}
    assert set(off_the_line(outcome, origin)) == {0}
    assert rows["uncertainty_ns"][0] == TICK_NS
    last = max(int(d.headers["realtime_end"].max()) for d in outcome.recording.dispatches)
    assert int(rows["realtime"].max()) == last
    assert max(errors_of_waves(outcome, origin)) <= TICK_NS


@pytest.mark.parametrize("mode", ["failing", "twins"])
def test_an_hsa_that_does_not_answer_leaves_it_to_the_driver(
    mode: str, run: Run, origin: int
) -> None:
    outcome = run(hsa=mode, kfd=True)

    assert methods(outcome) == {ClockMethod.KFD}


def test_without_hsa_the_driver_s_counters_are_recorded(run: Run, origin: int) -> None:
    outcome = run(kfd=True)

    rows = samples(outcome)
    assert methods(outcome) == {ClockMethod.KFD}
    assert len(rows) >= 2
    # The stand-in reads the tick, rounded down, and the host's clock at one moment.
    assert all(0 <= off < TICK_NS for off in off_the_line(outcome, origin))
    assert 0 < rows["uncertainty_ns"].max() < 1_000_000
    assert build_timeline(outcome.recording).clocks[0].method == "kfd"
    assert max(errors_of_waves(outcome, origin)) <= 2 * TICK_NS + rows["uncertainty_ns"].max()


def test_a_driver_with_two_nodes_at_the_address_cannot_be_asked(run: Run, tmp_path: Path) -> None:
    make_driver(tmp_path / "kfd", (0, 4711, 4712, 4713))

    outcome = run(kfd=True)

    assert methods(outcome) == {ClockMethod.BOUNDS}


def test_a_driver_that_refuses_leaves_bounds(run: Run) -> None:
    outcome = run(kfd=True, STAND_IN_GPU_ID="1")

    assert methods(outcome) == {ClockMethod.BOUNDS}
    timeline = build_timeline(outcome.recording)
    assert timeline.clocks[0].method == "bounds"
    for row in timeline.dispatches:
        assert row["launched_ns"] <= row["begin_ns"] <= row["end_ns"] <= row["completed_ns"]


def test_samples_are_taken_while_dispatches_flow(run: Run, origin: int) -> None:
    outcome = run(
        "import time\nbegin = time.monotonic()\n"
        "while time.monotonic() < begin + 2.5:\n"
        "    assert host.launch() == 0\n"
        "    host.hip.hipDeviceSynchronize()\n"
        "print(int(time.monotonic() - begin))\n",
        hsa="counters",
    )

    rows = samples(outcome)
    # At the start, after the first dispatch and each second, at the end; not once per dispatch.
    assert 4 <= len(rows) <= 4 + int(outcome.stdout)
    assert len(outcome.recording.dispatches) > 20
    assert set(off_the_line(outcome, origin)) == {0}
    assert np.all(np.diff(rows["host_ns"].astype(np.int64)) > 0)


def test_the_software_device_s_samples_are_the_same_in_every_run(tmp_path: Path) -> None:
    script = "host = Host(open_hip(), SAXPY)\nfor _ in range(3): host.launch()\nEND"
    contents = []
    for number, end in enumerate(("", "", "os._exit(0)", "os._exit(0)")):
        folder = tmp_path / "same"
        folder.mkdir(exist_ok=True)
        outcome = run_script(script.replace("END", end), folder)
        assert (outcome.returncode, outcome.stderr) == (0, "")
        assert methods(outcome) == {ClockMethod.SOFTWARE}
        content = outcome.path.read_bytes().replace(b"os._exit(0)", b"")
        outcome.path.rename(tmp_path / f"{number}.bin")
        contents.append(content)

    assert contents[0] == contents[1]
    assert contents[2] == contents[3]


def test_an_end_by_os_exit_is_recorded_as_any_other(tmp_path: Path) -> None:
    script = "host = Host(open_hip(), SAXPY)\nfor _ in range(3): host.launch()\n"
    ends = []
    for name, end in (("exit", "sys.exit(0)"), ("os_exit", "os._exit(0)")):
        (tmp_path / name).mkdir()
        recording = run_script(script + end, tmp_path / name).recording
        ends.append((recording.end, recording.clocks.tolist()))

    assert ends[0] == ends[1]
    assert int(ends[0][0]["dispatches"]) == 3


def test_a_launch_from_a_library_s_constructor_is_sampled_without_the_loader_s_lock(
    run: Run, origin: int, tmp_path: Path
) -> None:
    # dlopen holds the loader's lock meanwhile, and our own thread reads the clock.
    source = tmp_path / "constructor.cpp"
    source.write_text(
        "#include <cstdlib>\n"
        "__attribute__((constructor)) static void begin() {\n"
        '  reinterpret_cast<void (*)()>(std::strtoull(std::getenv("CALLBACK"), nullptr, 10))();\n'
        "}\n"
    )
    library = compile_library(source, tmp_path / "constructor.so")

    outcome = run(
        "work = ctypes.CFUNCTYPE(None)(lambda: print(host.launch()))\n"
        "os.environ['CALLBACK'] = str(ctypes.cast(work, ctypes.c_void_p).value)\n"
        f"ctypes.CDLL({str(library)!r})\n",
        hsa="counters",
    )

    assert outcome.stdout == "0\n"
    assert len(outcome.recording.dispatches) == 1
    assert methods(outcome) == {ClockMethod.HSA}
