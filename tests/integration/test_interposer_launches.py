"""Every way of launching is traced, and computes what it computed before."""

import sys
from pathlib import Path

import pytest

from support.preloaded import ROOT, SAXPY, SAXPY_UNTRACED, Outcome, run_preloaded, run_script

HOST = "host = Host(open_hip(), SAXPY)\n"
TYPES = "P18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_"
EXT = f"_Z24hipExtModuleLaunchKernel{TYPES}j"
HCC = f"_Z24hipHccModuleLaunchKernel{TYPES}"
WITH_EXTRA = (
    "hipModuleLaunchKernel",
    "hipExtModuleLaunchKernel",
    EXT,
    "hipHccModuleLaunchKernel",
    HCC,
    "hipDrvLaunchKernelEx",
)


def assert_traced(outcome: Outcome, dispatches: int) -> None:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    recording = outcome.recording
    assert recording.damage.not_closed == 0
    assert [len(d.headers) for d in recording.dispatches] == [16] * dispatches
    assert recording.losses == ()


def launch(call: str, *, extra: bool = False) -> str:
    return (
        f"{HOST}for _ in range(3):\n  assert host.launch({call!r}, extra={extra}) == 0\n"
        "print('right' if host.is_right() else host.result())\n"
    )


@pytest.mark.parametrize("extra", [False, True], ids=["params", "extra"])
@pytest.mark.parametrize("call", WITH_EXTRA)
def test_a_module_launch_is_traced_with_either_argument_list(
    call: str, extra: bool, tmp_path: Path
) -> None:
    outcome = run_script(launch(call, extra=extra), tmp_path)

    if f"undefined symbol: {call}" in outcome.stderr:
        pytest.skip(f"the software device has no {call}")
    assert_traced(outcome, 3)


def test_a_cooperative_launch_is_traced(tmp_path: Path) -> None:
    assert_traced(run_script(launch("hipModuleLaunchCooperativeKernel"), tmp_path), 3)


def test_the_callers_arguments_are_not_written_to(tmp_path: Path) -> None:
    outcome = run_script(
        HOST + "places, extra = host.places(), host.extra()\n"
        "before = bytes(places), bytes(host.arguments), bytes(extra)\n"
        "launch = host.hip.hipModuleLaunchKernel\n"
        "assert launch(host.function, *GRID, *BLOCK, 0, None, places, None) == 0\n"
        "assert launch(host.function, *GRID, *BLOCK, 0, None, None, extra) == 0\n"
        "host.launches = 2\n"
        "assert (bytes(places), bytes(host.arguments), bytes(extra)) == before\n"
        "print('right' if host.is_right() else host.result())\n",
        tmp_path,
    )

    assert_traced(outcome, 2)


def test_hip_is_found_by_hip_get_proc_address(tmp_path: Path) -> None:
    outcome = run_script(
        HOST + "pointer = ctypes.c_void_p()\n"
        "query = ctypes.c_int()\n"
        "assert host.hip.hipGetProcAddress(b'hipModuleLaunchKernel', ctypes.byref(pointer), 702,\n"
        "    ctypes.c_uint64(0), ctypes.byref(query)) == 0\n"
        "launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7,\n"
        "    *[ctypes.c_void_p] * 3)(pointer.value)\n"
        "host.launches = 1\n"
        "assert launch(host.function, *GRID, *BLOCK, 0, None, host.places(), None) == 0\n"
        "print('right' if host.is_right() else host.result())\n",
        tmp_path,
    )

    assert_traced(outcome, 1)


def test_hip_is_found_by_dlopen_and_dlsym_of_a_private_handle(tmp_path: Path) -> None:
    outcome = run_script(
        "hip = ctypes.CDLL('libamdhip64.so.7', mode=os.RTLD_LOCAL | os.RTLD_LAZY)\n"
        "host = Host(hip, SAXPY)\nassert host.launch() == 0\n"
        "print('right' if host.is_right() else host.result())\n",
        tmp_path,
    )

    assert_traced(outcome, 1)


def test_hip_is_found_by_the_programs_own_handle(tmp_path: Path) -> None:
    outcome = run_script(
        "host = Host(ctypes.CDLL(None), SAXPY)\nassert host.launch() == 0\n"
        "print('right' if host.is_right() else host.result())\n",
        tmp_path,
    )

    assert_traced(outcome, 1)


def test_a_module_from_a_file_is_traced_and_unloading_it_forgets_its_functions(
    tmp_path: Path,
) -> None:
    outcome = run_script(
        HOST + "hip, path = host.hip, str(SAXPY).encode()\n"
        "for _ in range(3):\n"
        "  assert hip.hipModuleLoad(ctypes.byref(host.module), path) == 0\n"
        "  function = ctypes.byref(host.function)\n"
        "  assert hip.hipModuleGetFunction(function, host.module, b'saxpy') == 0\n"
        "  assert host.launch() == 0\n"
        "  assert host.hip.hipDeviceSynchronize() == 0\n"
        "  assert hip.hipModuleUnload(host.module) == 0\n"
        "print('right' if host.is_right() else host.result())\n",
        tmp_path,
    )

    assert_traced(outcome, 3)
    assert len(outcome.recording.code_objects) == 1
    assert outcome.status.code_objects == 1


def test_an_untraced_code_object_at_a_reused_handle_is_not_taken_for_the_traced_one(
    tmp_path: Path,
) -> None:
    outcome = run_script(
        HOST + "assert host.launch() == 0\n"
        f"plain = Path({str(SAXPY_UNTRACED)!r}).read_bytes()\n"
        "for image in (plain, host.image, plain):\n"
        "  assert host.hip.hipModuleUnload(host.module) == 0\n"
        "  assert host.hip.hipModuleLoadData(ctypes.byref(host.module), image) == 0\n"
        "  assert host.hip.hipModuleGetFunction(\n"
        "    ctypes.byref(host.function), host.module, b'saxpy') == 0\n"
        "  assert host.launch() == 0\n"
        "print('right' if host.is_right() else host.result())\n",
        tmp_path,
    )

    assert_traced(outcome, 2)
    assert (outcome.status.launches, outcome.status.annotated_launches) == (4, 2)


@pytest.mark.parametrize("sample", ["saxpy", "gemm"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_sample_with_hip_python_prints_what_it_prints_without_ktrace(
    sample: str, arch: str, tmp_path: Path
) -> None:
    program = [sys.executable, ROOT / "samples" / sample / "run.py"]
    environment = {"KTRACE_SOFT_ARCH": arch}

    plain = run_preloaded(program, tmp_path / "plain", traced=False, environment=environment)
    traced = run_preloaded(program, tmp_path, environment=environment)

    assert (traced.returncode, traced.stdout, traced.stderr) == (0, plain.stdout, "")
    assert plain.stdout.endswith("ok\n")
    assert traced.recording.devices[0].target.startswith(arch)
    assert traced.recording.damage.not_closed == 0


def test_the_code_object_is_recorded_whole_and_once(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}for _ in range(4): host.launch()\n", tmp_path)

    (code_object,) = outcome.recording.code_objects.values()
    assert code_object.image == SAXPY.read_bytes()
