"""Fill a process with memory of each kind, and print what both ways of asking say of it.

`process_map_probe.py LIBRARY`, which is made of process_map_answers.cpp: one line for each kind of
memory, then the addresses at the ends of any mapping where the answers differ.
"""

import ctypes
import mmap
import os
import re
import sys
import tempfile
import threading
from pathlib import Path

PAGE = mmap.PAGESIZE
FAR_AWAY = 1 << 45  # from everything that the system finds a place for
LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
LOOKED_AT: list[ctypes.c_char] = []
ANSWERS = ctypes.CDLL(sys.argv[1])
for name in ("answer_by_query", "answer_by_map"):
    getattr(ANSWERS, name).argtypes = [ctypes.c_uint64]
ANSWERS.address_on_stack.restype = ctypes.c_uint64


def address_of(memory: mmap.mmap) -> int:
    """Where it is; it stays mapped."""
    LOOKED_AT.append(ctypes.c_char.from_buffer(memory))
    return ctypes.addressof(LOOKED_AT[-1])


def mapped(protection: int) -> int:
    """Private memory that nobody holds."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = LIBC.mmap(None, ctypes.c_size_t(PAGE), protection, flags, -1, 0)
    assert address
    return int(address)


def say(kind: str, address: int) -> None:
    """Both answers."""
    answers = ANSWERS.answer_by_query(address), ANSWERS.answer_by_map(address)
    sys.stdout.write(f"{kind} {answers[0]} {answers[1]}\n")


def say_all_kinds() -> None:
    """One of each; a name may look like another kind's."""
    heap = ctypes.create_string_buffer(64)
    in_memory = os.memfd_create("kernels")
    os.truncate(in_memory, PAGE)
    on_disk, path = tempfile.mkstemp(suffix="[heap]")
    Path(path).unlink()
    os.truncate(on_disk, PAGE)
    say("null", 0)
    say("heap", ctypes.addressof(heap))
    say("private", address_of(mmap.mmap(-1, PAGE, mmap.MAP_PRIVATE)))
    say("shared", address_of(mmap.mmap(-1, PAGE)))
    say("memfd", address_of(mmap.mmap(in_memory, PAGE)))
    say("file", address_of(mmap.mmap(on_disk, PAGE)))
    say("read_only", mapped(mmap.PROT_READ))
    say("closed", mapped(0))
    say("hole", FAR_AWAY)
    say("variable", ctypes.addressof(ctypes.c_int.in_dll(LIBC, "optind")))
    say("stack", ANSWERS.address_on_stack())
    thread = threading.Thread(target=lambda: say("thread's_stack", ANSWERS.address_on_stack()))
    thread.start()
    thread.join()


def say_differences() -> None:
    """The first and last byte of every mapping, and what is next to it."""
    ranges = re.findall(r"^(\w+)-(\w+) ", Path("/proc/self/maps").read_text(), re.MULTILINE)
    bounds = {int(bound, 16) for both in ranges for bound in both}
    addresses = sorted(bound + step for bound in bounds for step in (-1, 0) if bound < 1 << 63)
    by_query, by_map = ANSWERS.answer_by_query, ANSWERS.answer_by_map
    differing = [hex(address) for address in addresses if by_query(address) != by_map(address)]
    sys.stdout.write(f"{len(addresses)} addresses, different:{''.join(differing)}\n")


say_all_kinds()
say_differences()
