"""What has no end in a program ends on the software device: grids, stacks, loads without end."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, fault_of, launch_kernels, library_path

TARGET = "gfx942"
LAUNCH_FAILURE = 719


def assembled(body: str = "", **options: object) -> Path:
    source = AsmKernel(body, **options).source(TARGET)  # type: ignore[arg-type]
    return any_compiler(TARGET).assemble(source)


def test_a_grid_of_a_quintillion_waves_ends_at_the_limit() -> None:
    launch = Launch(
        assembled("  s_nop 0\n", arguments=0),
        "test_kernel",
        [],
        grid=(4194303, 65535, 65535),
        block=(1024, 1, 1),
    )

    outcome = launch_kernels([launch], TARGET, {"KTRACE_SOFT_BUDGET": "5000"})

    assert outcome.statuses == [LAUNCH_FAILURE]
    assert "5000 instructions were executed, which is the limit" in outcome.errors


# Stores at 16, 1040, 2064, ... of its stack.
RECURSION = """
  s_movk_i32 s4, 16
call:
  scratch_store_dword off, v0, s4
  s_addk_i32 s4, 0x400
  s_branch call
"""


def test_a_stack_without_end_is_a_fault() -> None:
    directives = "  .amdhsa_uses_dynamic_stack 1"
    launch = Launch(
        assembled(RECURSION, scratch=16, directives=directives), "test_kernel", [np.zeros(1)]
    )

    message = fault_of(launch, TARGET)

    assert "scratch access out of range: 4 bytes at 0x2010 of 8208 per lane, lane 0" in message


# Loads, launches and unloads a code object, and tries a damaged one: `count` times. What the
# process has then: bytes in memory, mappings, open files.
LOADER = """
import ctypes, os, sys
from ctypes import byref, c_void_p
hip = ctypes.CDLL(sys.argv[1])
image = open(sys.argv[2], "rb").read()
damaged = image.replace(b"test_kernel.kd", b"test_kernel.xx")
def load(count):
    for _ in range(count):
        module, function = c_void_p(), c_void_p()
        statuses = [
            hip.hipModuleLoadData(byref(module), image),
            hip.hipModuleGetFunction(byref(function), module, b"test_kernel"),
            hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, None, None),
            hip.hipDeviceSynchronize(),
            hip.hipModuleUnload(module),
            hip.hipModuleLoadData(byref(module), damaged),
        ]
        assert statuses == [0, 0, 0, 0, 0, 200], statuses
    resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return resident, len(open("/proc/self/maps").readlines()), len(os.listdir("/proc/self/fd"))
begin, end = load(50), load(1000)
print(*(after - before for before, after in zip(begin, end)))
"""


def test_a_thousand_loads_and_unloads_leave_nothing() -> None:
    code_object = assembled("  s_nop 0\n", arguments=0)

    done = subprocess.run(
        [sys.executable, "-c", LOADER, str(library_path()), str(code_object)],
        env={**os.environ, "KTRACE_SOFT_ARCH": TARGET},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    resident, mappings, files = map(int, done.stdout.split())
    assert resident < 1 << 20  # each code object is mapped with 20 KiB
    assert mappings < 5
    assert files == 0
