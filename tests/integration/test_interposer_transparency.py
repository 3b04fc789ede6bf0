"""The application is not to notice: HIP's own answers, the same errors, the loader's own dlsym."""

import sys
from pathlib import Path

from support.preloaded import run_preloaded, run_script

# Every call's status, and the last error after each: what a program can see of HIP.
ANSWERS = """
hip = open_hip()
def show(name, *arguments):
    status = getattr(hip, name)(*arguments)
    print(name, status, hip.hipPeekAtLastError(), hip.hipGetLastError(), hip.hipGetLastError())
host = Host(hip, SAXPY)
null, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
places, one = host.places(), (1, 1, 1)
show("hipModuleLoadData", ctypes.byref(module), b"this is no code object" + bytes(4096))
show("hipModuleLoad", ctypes.byref(module), b"/nowhere/at/all.co")
show("hipModuleGetFunction", ctypes.byref(function), host.module, b"no_such_kernel")
show("hipModuleLaunchKernel", host.function, *GRID, *BLOCK, 0, None, places, None)
show("hipModuleLaunchKernel", host.function, *GRID, 2048, 1, 1, 0, None, places, None)
show("hipModuleLaunchKernel", host.function, 0, 1, 1, *BLOCK, 0, None, places, None)
show("hipModuleLaunchKernel", host.function, *GRID, *BLOCK, 0, None, None, None)
show("hipModuleLaunchKernel", host.function, *GRID, *BLOCK, 0, None, places, host.extra())
show("hipModuleLaunchKernel", host.function, *GRID, *BLOCK, 0, None, None, host.extra(4))
show("hipModuleLaunchKernel", host.function, *GRID, *BLOCK, 1 << 30, None, places, None)
show("hipModuleLaunchKernel", null, *GRID, *BLOCK, 0, None, places, None)
show("hipModuleLaunchKernel", host.function, *GRID, *BLOCK, 0, ctypes.c_void_p(12345), places, None)
show("hipModuleUnload", null)
show("hipStreamDestroy", ctypes.c_void_p(12345))
# An error that the application has not asked for yet outlives a launch that works.
status = hip.hipModuleGetFunction(ctypes.byref(function), host.module, b"no_such_kernel")
print(status, host.launch(), hip.hipPeekAtLastError(), hip.hipGetLastError(), hip.hipGetLastError())
print("sum", host.result().sum())
"""


def compare(script: str, folder: Path, expected: str = "") -> None:
    plain = run_script(script, folder / "plain", traced=False)
    traced = run_script(script, folder / "traced")

    assert (traced.returncode, traced.stdout, traced.stderr) == (0, plain.stdout, plain.stderr)
    assert plain.stdout
    assert expected in plain.stdout


def test_answers_and_last_errors_are_those_of_a_run_without_ktrace(tmp_path: Path) -> None:
    compare(ANSWERS, tmp_path, "hipModuleGetFunction 500 500 500 0")


def test_a_kernel_that_faults_fails_where_it_fails_without_ktrace(tmp_path: Path) -> None:
    script = """
host = Host(open_hip(), SAXPY)
host.arguments.x = 16
print(host.launch(), host.hip.hipDeviceSynchronize(), host.hip.hipGetLastError())
"""
    plain = run_script(script, tmp_path / "plain", traced=False)
    traced = run_script(script, tmp_path / "traced")

    assert (traced.returncode, traced.stdout) == (0, plain.stdout)
    assert plain.stdout == "0 700 700\n"
    assert sum(traced.status.losses.values()) == 1
    assert "hipErrorIllegalAddress" in traced.status.message


def test_a_name_that_hip_does_not_have_is_not_found(tmp_path: Path) -> None:
    compare(
        """
hip = open_hip()
for name in ("hipModuleLaunchKernel", "hipLaunchByAnyOtherName", "hipInit", "strlen"):
    for handle in (hip, ctypes.CDLL(None)):
        print(name, hasattr(handle, name))
""",
        tmp_path,
        "hipLaunchByAnyOtherName False",
    )


def test_before_hip_is_loaded_no_name_of_it_is_found(tmp_path: Path) -> None:
    outcome = run_script(
        """
own = ctypes.CDLL(None)
dlsym = own.dlsym
dlsym.restype = ctypes.c_void_p
print(dlsym(None, b"hipDrvLaunchKernelEx"), hasattr(own, "hipInit"), own.dlerror.restype)
""",
        tmp_path,
        preload_device=False,
    )

    assert outcome.stdout.startswith("None False")
    assert outcome.statuses == []


def test_dlerror_tells_of_the_last_lookup_alone(tmp_path: Path) -> None:
    compare(
        """
own = ctypes.CDLL(None)
own.dlsym.restype = own.dlerror.restype = ctypes.c_void_p
own.dlsym.argtypes = ctypes.c_void_p, ctypes.c_char_p
hip = open_hip()._handle
for name in (b"hipInit", b"hipModuleLaunchKernel", b"strlen", b"nothing_at_all"):
    found = own.dlsym(hip, name)
    print(name, bool(found), bool(own.dlerror()))
""",
        tmp_path,
        "b'nothing_at_all' False True",
    )


def test_dlvsym_finds_the_hook_too(tmp_path: Path) -> None:
    outcome = run_script(
        """
own = ctypes.CDLL(None)
own.dlvsym.restype = ctypes.c_void_p
own.dlvsym.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p
host = Host(open_hip(), SAXPY)
by_version = own.dlvsym(host.hip._handle, b"hipModuleLaunchKernel", b"hip_4.2")
by_name = ctypes.cast(host.hip.hipModuleLaunchKernel, ctypes.c_void_p).value
print(by_version == by_name, own.dlvsym(host.hip._handle, b"hipInit", b"hip_99.9"))
""",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout) == (0, "True None\n")


def test_a_program_without_hip_is_left_alone(tmp_path: Path) -> None:
    outcome = run_preloaded(
        [sys.executable, "-c", "print('hello')"], tmp_path, preload_device=False
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "hello\n", "")
    assert outcome.statuses == []
    assert outcome.recordings == []


def test_without_a_session_everything_goes_straight_to_hip(tmp_path: Path) -> None:
    outcome = run_script(
        "host = Host(open_hip(), SAXPY)\nhost.launch()\nprint(host.is_right())",
        tmp_path,
        environment={"KTRACE_SESSION_DIR": ""},
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "True\n", "")
    assert outcome.recordings == []
