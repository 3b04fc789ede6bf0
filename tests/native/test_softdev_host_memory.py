"""What kernels may do with memory of the process that HIP did not give out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import library_path
from support.old_linux import old_linux

TARGET = "gfx942"
STORE_42 = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 42
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[4:5]
"""
LOAD = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
"""
# For ever; tells that it has begun.
STORE_FOR_EVER = STORE_42 + "loop:\n  global_store_dword v1, v2, s[4:5]\n  s_branch loop\n"
INTO_PACKET = """
  v_mov_b32 v1, 0
  v_mov_b32 v2, 42
  global_store_dword v1, v2, s[0:1] offset:{}
"""

# `run` launches the kernel with one address: what the wait for it gave, and what it stored.
BEGIN = """
import ctypes, mmap, re, sys, tempfile, threading
from ctypes import byref, c_void_p
hip, code_object = ctypes.CDLL(sys.argv[1]), sys.argv[2]
def run(address):
    module, function, value = c_void_p(), c_void_p(), c_void_p(address)
    assert hip.hipModuleLoad(byref(module), code_object.encode()) == 0
    assert hip.hipModuleGetFunction(byref(function), module, b"test_kernel") == 0
    places = (c_void_p * 1)(ctypes.addressof(value))
    assert hip.hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, places, None) == 0
    status = hip.hipDeviceSynchronize()
    stored = ctypes.c_int.from_address(address).value if address and not status else 0
    hip.hipDeviceReset()
    return f"{status} {stored}"
def address_of(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
"""
ANY_MEMORY = """
heap = ctypes.create_string_buffer(4096)
private, shared = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE), mmap.mmap(-1, 4096)
print(run(ctypes.addressof(heap)))
print(run(address_of(private)))
print(run(address_of(shared)))
"""
OTHERS_MEMORY = """
file = tempfile.TemporaryFile()
file.truncate(4096)
mapped = mmap.mmap(file.fileno(), 4096)
(stack,) = re.findall(r"^(\\w+)-.*\\[stack\\]$", open("/proc/self/maps").read(), re.MULTILINE)
variable = ctypes.c_int.in_dll(ctypes.CDLL(None), "optind")
print(run(address_of(mapped)))
print(run(int(stack, 16)))
print(run(ctypes.addressof(variable)))
thread = threading.Thread(target=lambda: print(run(ctypes.addressof(variable))))
thread.start()
thread.join()
"""
HIPS_MEMORY = """
heap, registered = ctypes.create_string_buffer(4096), mmap.mmap(-1, 4096)
pinned, device = c_void_p(), c_void_p()
assert hip.hipHostRegister(c_void_p(address_of(registered)), ctypes.c_size_t(4096), 0) == 0
print(run(address_of(registered)))
assert hip.hipHostMalloc(byref(pinned), ctypes.c_size_t(4096), 0) == 0
print(run(pinned.value))
assert hip.hipMalloc(byref(device), ctypes.c_size_t(4096)) == 0
print(run(device.value))
print(run(ctypes.addressof(heap)))
"""
# Three pages: one that can be written, one that can only be read, and nothing.
NEIGHBOURS = """
libc = ctypes.CDLL(None)
libc.mmap.restype = c_void_p
begin = libc.mmap(None, ctypes.c_size_t(3 * 4096), 3, 0x22, -1, ctypes.c_size_t(0))
ctypes.memset(begin, 1, 3 * 4096)
assert libc.mprotect(c_void_p(begin + 4096), ctypes.c_size_t(4096), 1) == 0
assert libc.munmap(c_void_p(begin + 2 * 4096), ctypes.c_size_t(4096)) == 0
print(run(begin + 4096 - 2))
print(run(begin + 2 * 4096 - 2))
"""
VANISHING_MEMORY = """
libc = ctypes.CDLL(None)
libc.mmap.restype = c_void_p
address = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_size_t(0))
statuses = []
thread = threading.Thread(target=lambda: statuses.append(run(address)))
thread.start()
while ctypes.c_int.from_address(address).value != 42:
    pass
assert libc.munmap(c_void_p(address), ctypes.c_size_t(4096)) == 0
thread.join()
print(*statuses)
"""


def assembled(body: str, **options: object) -> Path:
    source = AsmKernel(body, **options).source(TARGET)  # type: ignore[arg-type]
    return any_compiler(TARGET).assemble(source)


def run_program(
    program: str, code_object: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(library_path()), str(code_object)],
        env={**os.environ, "KTRACE_SOFT_ARCH": TARGET, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_kernels_write_to_plain_memory_of_the_process() -> None:
    done = run_program(ANY_MEMORY, assembled(STORE_42))

    assert done.stdout == "0 42\n0 42\n0 42\n", done.stderr


def test_kernels_cannot_write_to_stacks_files_and_variables_of_libraries() -> None:
    done = run_program(OTHERS_MEMORY, assembled(STORE_42))

    assert done.stdout == "700 0\n" * 4, done.stderr  # hipErrorIllegalAddress
    words = "this is a stack, a mapped file, or data of the program or a library"
    assert done.stderr.count(f"{words}: kernels may only read it") == 4


def test_an_older_linux_gives_kernels_the_same_memory(tmp_path: Path) -> None:
    program = ANY_MEMORY + OTHERS_MEMORY

    done = run_program(program, assembled(STORE_42), LD_PRELOAD=str(old_linux(tmp_path)))

    assert done.stdout == "0 42\n" * 3 + "700 0\n" * 4, done.stderr
    assert "queries refused: 7" in done.stderr


def test_host_memory_can_be_out_of_reach_as_without_xnack() -> None:
    done = run_program(HIPS_MEMORY, assembled(STORE_42), KTRACE_SOFT_HOST_MEMORY="0")

    assert done.stdout == "0 42\n0 42\n0 42\n700 0\n", done.stderr
    assert "this memory is neither allocated by HIP nor registered" in done.stderr


def test_a_read_may_go_on_where_something_else_is_allowed_but_not_where_nothing_is() -> None:
    done = run_program(NEIGHBOURS, assembled(LOAD))

    assert done.stdout == f"0 {0x01010101}\n700 0\n", done.stderr
    assert "lane 0: the access runs over the end of what is mapped" in done.stderr


def test_a_write_does_not_go_on_where_only_reading_is_allowed() -> None:
    done = run_program(NEIGHBOURS, assembled(STORE_42))

    assert done.stdout == "700 0\n" * 2, done.stderr
    assert "lane 0: the access runs over the end of what kernels may write" in done.stderr
    assert "lane 0: this memory is read-only" in done.stderr


def test_memory_that_is_unmapped_while_a_kernel_runs_is_a_fault() -> None:
    done = run_program(VANISHING_MEMORY, assembled(STORE_FOR_EVER))

    assert (done.returncode, done.stdout) == (0, "700 0\n"), done.stderr
    assert "global_store_dword]: memory access fault: the memory at 0x" in done.stderr
    assert "was unmapped while the kernel ran" in done.stderr


@pytest.mark.parametrize(("offset", "status"), [(56, 0), (64, 700)])
def test_the_packet_of_a_dispatch_is_all_that_kernels_can_write_of_it(
    offset: int, status: int
) -> None:
    # Its address comes first then, that of the arguments second.
    directives = "  .amdhsa_user_sgpr_dispatch_ptr 1"
    code_object = assembled(INTO_PACKET.format(offset), directives=directives)

    done = run_program("print(run(0))", code_object)

    assert done.stdout == f"{status} 0\n", done.stderr
