"""Code objects that cannot be loaded: one sentence says why, and nothing crashes."""

import ctypes
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernel, library_path
from support.hip_calls import load_hip

TARGET = "gfx942"
BODY = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 42
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[4:5]
"""


def image(version: int = 5, target: str = TARGET) -> bytes:
    source = AsmKernel(BODY, version=version).source(target)
    return any_compiler(target).assemble(source).read_bytes()


# Loads every image of a pickled list, from a file and from memory; a status per image to stdout.
LOADER = """
import ctypes, pathlib, pickle, sys, tempfile
hip = ctypes.CDLL(sys.argv[1])
statuses = []
file = pathlib.Path(tempfile.mkdtemp(), "image.co")
for image in pickle.load(sys.stdin.buffer):
    module = ctypes.c_void_p()
    if hip.hipModuleLoadData(ctypes.byref(module), image) == 0:
        hip.hipModuleUnload(module)
    file.write_bytes(image)
    statuses.append(hip.hipModuleLoad(ctypes.byref(module), str(file).encode()))
    if statuses[-1] == 0:
        hip.hipModuleUnload(module)
file.unlink()
file.parent.rmdir()
sys.stdout.buffer.write(pickle.dumps(statuses))
"""


def load(images: list[bytes]) -> tuple[list[int], str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADER, str(library_path())],
        input=pickle.dumps(images),
        capture_output=True,
        check=False,
    )
    errors = done.stderr.decode(errors="replace")
    assert done.returncode == 0, errors[-2000:]
    statuses: list[int] = pickle.loads(done.stdout)
    return statuses, errors


@pytest.mark.parametrize("version", [4, 5, 6])
def test_code_object_versions_4_to_6_run(version: int) -> None:
    source = AsmKernel(BODY, version=version).source(TARGET)
    code_object = any_compiler(TARGET).assemble(source)

    (out,) = launch_kernel(Launch(code_object, "test_kernel", [np.zeros(1, np.uint32)]), TARGET)

    assert out.tolist() == [42]


def test_arguments_can_be_preloaded_into_registers() -> None:
    # The code for firmware that cannot preload would store 1; the real one stores the arguments.
    body = """
  v_mov_b32 v2, 1
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v1, 0
  global_store_dword v1, v2, s[8:9]
  s_endpgm
  .p2align 8
  v_mov_b32 v1, 0
  v_mov_b32 v2, s4
  v_mov_b32 v3, s5
  global_store_dwordx2 v1, v[2:3], s[2:3]
"""
    directives = ".amdhsa_user_sgpr_kernarg_preload_length 4\n"
    kernel = AsmKernel(body, arguments=2, directives=directives)
    code_object = any_compiler(TARGET).assemble(kernel.source(TARGET))
    arguments = [np.zeros(2, np.uint32), np.uint64(0x1122334455667788)]

    (out,) = launch_kernel(Launch(code_object, "test_kernel", arguments), TARGET)

    assert out.tolist() == [0x55667788, 0x11223344]


def patched(data: bytes, offset: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, offset, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("offset", "layout", "value", "words"),
    [
        (8, "B", 1, "code object version 3"),
        (18, "<H", 62, "machine 62, not for an AMD GPU"),
        (48, "<I", 0x41, "for gfx1100; the software device runs gfx90a, gfx942 and gfx950"),
        (16, "<H", 1, "not linked (ELF type 1): link it with `ld.lld -shared`"),
        (32, "<Q", 1 << 40, "the program headers reach to byte"),
        (54, "<H", 55, "the program headers have entries of 55 bytes, not 56"),
    ],
)
def test_a_wrong_header_is_explained(offset: int, layout: str, value: int, words: str) -> None:
    statuses, errors = load([patched(image(), offset, layout, value)])

    assert statuses[0] != 0
    assert words in errors


def test_every_truncation_is_an_error_or_a_whole_kernel() -> None:
    whole = image()

    statuses, _ = load([whole[:length] for length in range(64, len(whole), 37)] + [whole])

    assert statuses[-1] == 0
    assert all(statuses[:-1])  # the section headers come last


def test_flipped_bytes_never_crash_the_loader() -> None:
    whole, generator = image(), random.Random(7)
    damaged = []
    for _ in range(1500):
        copy = bytearray(whole)
        for _ in range(generator.choice([1, 1, 2, 8])):
            copy[generator.randrange(len(copy))] = generator.randrange(256)
        damaged.append(bytes(copy))

    statuses, _ = load(damaged)

    assert len(statuses) == 1500
    assert any(statuses)


def test_a_dynamic_section_of_terabytes_is_explained_before_memory_is_asked_for() -> None:
    damaged = bytearray(image())
    offset, count = (
        struct.unpack_from("<Q", damaged, 32)[0],
        struct.unpack_from("<H", damaged, 56)[0],
    )
    headers = [offset + 56 * i for i in range(count)]
    (dynamic,) = [
        at for at in headers if struct.unpack_from("<I", damaged, at)[0] == 2
    ]  # PT_DYNAMIC
    struct.pack_into("<Q", damaged, dynamic + 32, 1 << 44)

    statuses, errors = load([bytes(damaged)])

    assert statuses == [200]  # hipErrorInvalidImage, and not hipErrorOutOfMemory
    assert f"of a file of {len(damaged)} bytes" in errors


def test_damaged_metadata_is_explained() -> None:
    whole = image()
    at = whole.index(b"\xaeamdhsa.kernels") + 15  # the array of kernels

    statuses, errors = load([patched(whole, at, "B", 0xC1), patched(whole, at, "B", 0x9F)])

    assert all(statuses)
    assert "the kernel metadata is damaged at offset" in errors
    assert "an array was expected" in errors


def test_a_code_object_for_another_target_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.co"
    other.write_bytes(image(target="gfx90a"))
    module = ctypes.c_void_p()

    status = load_hip().hipModuleLoad(ctypes.byref(module), str(other).encode())

    assert status == 209  # hipErrorNoBinaryForGpu
