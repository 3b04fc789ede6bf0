"""A dispatch on several threads: the same results, times and faults as on one."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from support.asm_kernel import AsmKernel
from support.compile_c import compile_c_library
from support.compile_kernel import any_compiler
from support.hip import Launch, fault_of, launch_kernels, library_path

TARGET = "gfx942"
GROUPS = 1000
THREADS = ("1", "2", "3", "8", "64")

# Every workgroup writes down when it began and when it ended, in cycles.
TIMED = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_memtime s[20:21]
  s_waitcnt lgkmcnt(0)
{body}
  s_memtime s[22:23]
  s_lshl_b32 s12, s2, 4
  s_waitcnt lgkmcnt(0)
  s_store_dwordx4 s[20:23], s[6:7], s12
  s_dcache_wb
"""
# 20 to 420 turns that depend on the workgroup, with memory and LDS in them.
WORK = """
  s_mul_i32 s8, s2, 37
  s_and_b32 s8, s8, 15
  s_add_u32 s8, s8, 4
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v4, 0
.Lloop:
  global_load_dword v2, v1, s[4:5] offset:256
  ds_write_b32 v1, v4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32 v4, v4, v2
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  v_add_u32 v4, v4, v3
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lloop
"""
# Takes a number, then works.
TICKET = """
  v_mov_b32 v5, 0
  v_mov_b32 v6, 1
  s_mov_b64 exec, 1
  global_atomic_add v7, v5, v6, s[4:5] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s22, v7
  s_mov_b64 exec, -1
"""
# Writes the number down in place of when it ended.
NUMBERED = TIMED.replace("  s_memtime s[22:23]\n", "  s_mov_b32 s23, 0\n")
# Works, then adds to a sum whose rounding depends on the order.
SUM = """
  v_cvt_f32_u32 v5, s2
  v_add_f32 v5, 1.0, v5
  v_rcp_f32 v5, v5
  v_mov_b32 v6, 0
  s_mov_b64 exec, 1
  global_atomic_add_f32 v6, v5, s[4:5]
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, -1
"""
# Workgroup 13 comes to a null pointer long before the others, and workgroup 2 long before the rest.
FAULT = """
  s_movk_i32 s8, 400
  s_cmp_eq_u32 s2, 2
  s_cselect_b32 s8, 300, s8
  s_cmp_eq_u32 s2, 13
  s_cselect_b32 s8, 3, s8
.Lpause:
  s_sleep 1
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lpause
  v_mov_b32 v2, 0
  v_mov_b32 v3, 0
  global_load_dword v4, v[2:3], off
"""

Times = npt.NDArray[np.uint64]


@cache
def code_object_of(body: str) -> Path:
    return any_compiler(TARGET).assemble(AsmKernel(body, arguments=2, lds=256).source(TARGET))


def run(body: str, threads: str) -> tuple[npt.NDArray[np.uint32], Times]:
    """Memory, and each workgroup's begin and end."""
    given = [np.zeros(1024, np.uint32), np.zeros(GROUPS * 2, np.uint64)]
    launch = Launch(code_object_of(body), "test_kernel", given, (GROUPS, 1, 1), (64, 1, 1))
    outcome = launch_kernels([launch], TARGET, {"KTRACE_SOFT_THREADS": threads})
    assert outcome.statuses == [0], outcome.errors
    memory, times = outcome.arrays[0]
    return memory, times.reshape(-1, 2)


def same_for_all(body: str) -> tuple[npt.NDArray[np.uint32], Times]:
    """What `run` gives, which is the same with any number of threads."""
    first = run(body, THREADS[0])
    for threads in THREADS[1:]:
        again = run(body, threads)
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)), threads
    return first


def test_times_do_not_depend_on_threads() -> None:
    _, times = same_for_all(TIMED.format(body=WORK))

    assert (times[:, 1] > times[:, 0]).all()
    assert len(np.unique(times[:, 1] - times[:, 0])) > 16  # they depend on much


def test_atomics_are_in_the_order_of_time_whatever_the_threads() -> None:
    memory, written = same_for_all(NUMBERED.format(body=TICKET + WORK))

    assert memory[0] == GROUPS
    assert sorted(written[:, 1]) == list(range(GROUPS))
    by_ticket = written[np.argsort(written[:, 1]), 0].astype(np.int64)
    assert np.diff(by_ticket).min() > -2048  # CUs may disagree by so many cycles


def test_a_sum_of_floats_is_rounded_the_same_whatever_the_threads() -> None:
    memory, _ = same_for_all(TIMED.format(body=WORK + SUM))

    exact = (1 / np.arange(1, GROUPS + 1)).sum()
    assert memory[:1].view(np.float32)[0] == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("threads", THREADS)
def test_the_fault_that_is_first_in_time_is_told(threads: str) -> None:
    given = [np.zeros(1, np.uint32)] * 2
    launch = Launch(code_object_of(FAULT), "test_kernel", given, (64, 1, 1), (64, 1, 1))

    told = fault_of(launch, TARGET, {"KTRACE_SOFT_THREADS": threads})

    assert "workgroup (13, 0, 0), wave 0" in told
    assert told.count("memory access fault") == 1


# Launches the kernel, then does so in a child; tells whether it ran, and the threads that are left.
PROGRAM = """
import ctypes, os, sys
from ctypes import byref, c_void_p
hip, code_object, groups = ctypes.CDLL(sys.argv[1]), sys.argv[2], int(sys.argv[3])
module, function = c_void_p(), c_void_p()
assert hip.hipModuleLoad(byref(module), code_object.encode()) == 0
assert hip.hipModuleGetFunction(byref(function), module, b"test_kernel") == 0
memory, times = (ctypes.c_uint32 * 1024)(), (ctypes.c_uint64 * (2 * groups))()
def launch():
    values = [c_void_p(ctypes.addressof(memory)), c_void_p(ctypes.addressof(times))]
    places = (c_void_p * 2)(*(ctypes.addressof(value) for value in values))
    assert hip.hipModuleLaunchKernel(function, groups, 1, 1, 64, 1, 1, 0, None, places, None) == 0
    assert hip.hipDeviceSynchronize() == 0
    print(all(times), len(os.listdir("/proc/self/task")), flush=True)
launch()
child = os.fork()
if child == 0:
    ctypes.memset(times, 0, ctypes.sizeof(times))
    launch()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
# Counts threads and whether they take signals; refuses those behind the first KTRACE_TEST_THREADS.
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static int made, refused, open_to_signals;
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
      dlsym(RTLD_NEXT, "pthread_create");
  if (made >= atoi(getenv("KTRACE_TEST_THREADS"))) {
    ++refused;
    return EAGAIN;
  }
  ++made;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  open_to_signals += !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGPROF);
  return create(thread, how, run, with);
}
__attribute__((destructor)) static void tell(void) {
  fprintf(stderr, "made %d, refused %d, open to signals %d\n", made, refused, open_to_signals);
}
"""


def run_counted(folder: Path, groups: int, most: int, threads: str) -> Sequence[str]:
    """The lines that the program prints, and the last one of what its threads were."""
    counter = compile_c_library(COUNTER, folder / "counter.so")
    settings = {"KTRACE_TEST_THREADS": str(most), "LD_PRELOAD": str(counter)}
    arguments = [str(library_path()), str(code_object_of(TIMED.format(body=WORK))), str(groups)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=os.environ | settings | {"KTRACE_SOFT_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [*done.stdout.splitlines(), done.stderr.splitlines()[-1]]


def test_threads_are_made_for_a_dispatch_and_again_in_a_child(tmp_path: Path) -> None:
    lines = run_counted(tmp_path, GROUPS, 99, "3")

    # The child's count goes with its _exit.
    assert lines == ["True 1", "True 1", "made 2, refused 0, open to signals 0"]


@pytest.mark.parametrize("most", [0, 1])
def test_where_the_system_has_no_thread_left_fewer_do_the_work(tmp_path: Path, most: int) -> None:
    lines = run_counted(tmp_path, GROUPS, most, "3")

    assert lines == ["True 1", "True 1", f"made {most}, refused 1, open to signals 0"]


@pytest.mark.parametrize(("groups", "threads"), [(1, "8"), (8, "8"), (GROUPS, "1")])
def test_little_work_and_one_thread_make_none(tmp_path: Path, groups: int, threads: str) -> None:
    lines = run_counted(tmp_path, groups, 99, threads)

    assert lines == ["True 1", "True 1", "made 0, refused 0, open to signals 0"]
