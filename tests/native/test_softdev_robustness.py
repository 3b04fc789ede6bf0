"""What damage and odd programs do to the software device: one sentence, and the process goes on."""

import ctypes
import mmap
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.bundles import compress_bundle, hip_entry, make_bundle
from support.compile_kernel import any_compiler
from support.hip import Launch, fault_of, library_path
from support.hip_calls import INVALID_VALUE, load_hip

TARGET = "gfx942"
INVALID_IMAGE = 200
PT_LOAD, PT_DYNAMIC = 1, 2


def assembled(body: str = "", target: str = TARGET, **options: object) -> Path:
    return any_compiler(target).assemble(AsmKernel(body, **options).source(target))  # type: ignore[arg-type]


def load(image: bytes) -> int:
    module = ctypes.c_void_p()
    return int(load_hip().hipModuleLoadData(ctypes.byref(module), image))


def segments_of(image: bytes, kind: int) -> list[int]:
    """Where the headers of the segments of a kind are."""
    (table,) = struct.unpack_from("<Q", image, 32)
    (count,) = struct.unpack_from("<H", image, 56)
    places = [table + 56 * k for k in range(count)]
    return [place for place in places if struct.unpack_from("<I", image, place)[0] == kind]


def with_segment_twice(kind: int) -> bytes:
    """One header of the kind has taken the place of the last header of all."""
    image = bytearray(assembled().read_bytes())
    source = segments_of(image, kind)[-1]
    (table,) = struct.unpack_from("<Q", image, 32)
    (count,) = struct.unpack_from("<H", image, 56)
    last = table + 56 * (count - 1)
    assert last != source
    image[last : last + 56] = image[source : source + 56]
    return bytes(image)


def test_a_number_that_only_the_long_form_has_is_no_short_instruction() -> None:
    # v_min3_u32's number where v_mov_b32 has its own, with SDWA: it has no second source to select.
    word = 0x7E000000 | (0x1D2 - 0x140) << 9 | 0xF9

    message = fault_of(
        Launch(assembled(f"  .long {word:#x}, 0x84060000\n"), "test_kernel", [np.zeros(1)]), TARGET
    )

    assert "unknown instruction" in message
    assert "pc +0x0 [" in message


def test_a_wide_source_that_is_a_constant_is_refused() -> None:
    # v_cvt_scalef32_pk32_f32_fp6 v[0:31], s4, v1: six registers' worth of one scalar.
    image = assembled("  .long 0xd2560000, 0x00020204\n", "gfx950", vgprs=64)

    message = fault_of(Launch(image, "test_kernel", [np.zeros(1)]), "gfx950")

    assert "v_cvt_scalef32_pk32_f32_fp6]: a source of 192 bits is no register of a lane" in message


def descriptor_of(image: bytes, scratch: int) -> int:
    """Where the kernel's descriptor is: aligned, without LDS, with an entry."""
    begin = struct.pack("<II", 0, scratch)
    (place,) = [
        at
        for at in range(0, len(image) - 64, 64)
        if image[at : at + 8] == begin and any(image[at + 16 : at + 24])
    ]
    return place


@pytest.mark.parametrize("size", [131072, 0xFFFFFFF0])
def test_more_scratch_than_a_wave_can_have_is_refused(size: int, tmp_path: Path) -> None:
    image = bytearray(assembled("  v_mov_b32 v1, 0\n", scratch=4112).read_bytes())
    struct.pack_into("<I", image, descriptor_of(image, 4112) + 4, size)
    path = tmp_path / "greedy.co"
    path.write_bytes(image)

    message = fault_of(Launch(path, "test_kernel", [np.zeros(1)]), TARGET)

    assert f"it needs {size} bytes of scratch per lane and 131056 are possible" in message


def test_a_fault_of_a_kernel_with_a_long_name_is_told_whole() -> None:
    name = "k" * 3000
    launch = Launch(assembled("  s_trap 2\n", name=name), name, [np.zeros(1)])

    message = fault_of(launch, TARGET)

    assert f"kernel `{name}`, workgroup (0, 0, 0), wave 0, pc +0x0 [bf920002 s_trap]" in message
    assert "trap 2: the kernel stopped itself (abort, assert or __builtin_trap)" in message


def test_names_that_no_line_can_show_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    image = assembled(name="some_kernel").read_bytes()
    at = image.index(b"\xabsome_kernel")

    status = load(image[: at + 5] + b"\n" + image[at + 6 :])

    assert status == INVALID_IMAGE
    assert "names a kernel with a control character" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (PT_LOAD, "the segments overlap: together they have more bytes than the file"),
        (PT_DYNAMIC, "this code object has two dynamic sections"),
    ],
)
def test_tables_that_come_twice_are_refused(
    kind: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    image = with_segment_twice(kind)
    if kind == PT_LOAD:  # the whole file, twice
        changed = bytearray(image)
        for place in segments_of(image, PT_LOAD):
            struct.pack_into("<Q", changed, place + 8, 0)
            struct.pack_into("<QQ", changed, place + 32, len(image), max(len(image), 1 << 16))
        image = bytes(changed)

    status = load(image)

    assert status == INVALID_IMAGE
    assert words in capfd.readouterr().err


def test_a_file_is_no_wrapper_of_addresses(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrapper.hipfb"
    file.write_bytes(struct.pack("<IIQQ", 0x48495046, 1, 0x4000, 0) + bytes(64))
    module = ctypes.c_void_p()

    status = load_hip().hipModuleLoad(ctypes.byref(module), str(file).encode())

    assert status == INVALID_IMAGE
    assert "a file cannot be a fat binary's wrapper" in capfd.readouterr().err


def test_a_wrapper_of_itself_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    wrapper = ctypes.create_string_buffer(64)
    struct.pack_into("<IIQQ", wrapper, 0, 0x48495046, 1, ctypes.addressof(wrapper), 0)

    status = load_hip().hipModuleLoadData(ctypes.byref(ctypes.c_void_p()), wrapper)

    assert status == INVALID_IMAGE
    assert "the image is neither an ELF nor an offload bundle" in capfd.readouterr().err


def test_a_bundle_whose_table_leads_out_of_memory_is_refused() -> None:
    bundle = bytearray(make_bundle([hip_entry("gfx942", b"x" * 64)]))
    struct.pack_into("<Q", bundle, 32 + 16, 1 << 44)  # the length of the first name

    assert load(bytes(bundle)) == INVALID_IMAGE


def test_a_bundle_of_gigabytes_out_of_nothing_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packed = bytearray(compress_bundle(b"x" * 100, version=2))
    struct.pack_into("<I", packed, 12, 0xFFFFFFFF)
    file = tmp_path / "packed.hipfb"
    file.write_bytes(packed)

    status = load_hip().hipModuleLoad(ctypes.byref(ctypes.c_void_p()), str(file).encode())

    assert status == INVALID_IMAGE
    assert f"claims 4294967295 bytes out of {len(packed) - 24}" in capfd.readouterr().err


def unmapped_address() -> int:
    """An address that was memory a moment ago."""
    area = mmap.mmap(-1, 1 << 16)
    view = ctypes.c_char.from_buffer(area)
    address = ctypes.addressof(view)
    del view
    area.close()
    return address


def test_memory_that_is_not_there_is_an_error_and_no_crash() -> None:
    hip = load_hip()
    memory = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0
    nowhere = unmapped_address()

    statuses = [
        hip.hipMemcpy(memory, nowhere, 4096, 1),
        hip.hipMemcpy(nowhere, memory, 4096, 2),
        hip.hipMemcpy(nowhere, nowhere, 1 << 62, 0),
        hip.hipHostRegister(nowhere, 4096, 0),
        hip.hipMemcpy2D(memory, 1 << 63, memory, 1 << 63, 16, 1 << 40, 3),
        hip.hipMemset2D(memory, 1 << 60, 0, 16, 1 << 20),
    ]
    assert hip.hipFree(memory) == 0

    assert statuses == [INVALID_VALUE] * 6


# Launches every kernel once, each on a device that was reset if the one before has failed; prints
# what the launch and the wait for it gave, and what the kernel stored.
LAUNCHER = """
import ctypes, sys
from ctypes import byref, c_void_p
hip = ctypes.CDLL(sys.argv[1])
for code_object in sys.argv[2:]:
    module, function, memory, stored = c_void_p(), c_void_p(), c_void_p(), ctypes.c_uint()
    path, name = code_object.encode(), code_object.split("/")[-1].split(".")[0].encode()
    hip.hipModuleLoad(byref(module), path)
    hip.hipModuleGetFunction(byref(function), module, name)
    hip.hipMalloc(byref(memory), ctypes.c_size_t(256))
    arguments = (c_void_p * 1)(ctypes.addressof(memory))
    launched = hip.hipModuleLaunchKernel(function, 3, 1, 1, 256, 1, 1, 0, None, arguments, None)
    waited = hip.hipDeviceSynchronize()
    if launched or waited:
        hip.hipDeviceReset()
    else:
        hip.hipMemcpy(byref(stored), memory, ctypes.c_size_t(4), 2)
    print(launched, waited, stored.value)
"""
STORE_42 = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 42
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[4:5]
"""
DOOMED = {
    "trap": "  s_trap 2\n",
    "lds": "  v_mov_b32 v1, 0x1000\n  ds_read_b32 v2, v1\n",
    "asleep": "loop:\n  s_barrier\n  s_sleep 127\n  s_branch loop\n",
    "wild": "  v_mov_b32 v1, 0x8000\n  global_load_dword v2, v[0:1], off\n",
}


def test_a_device_works_again_after_each_kind_of_fault(tmp_path: Path) -> None:
    good = tmp_path / "good.co"
    good.write_bytes(assembled(STORE_42, name="good").read_bytes())
    paths = []
    for name, body in DOOMED.items():
        paths += [tmp_path / f"{name}.co", good]
        paths[-2].write_bytes(assembled(body, name=name, lds=64).read_bytes())

    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, str(library_path()), *map(str, paths)],
        env={**os.environ, "KTRACE_SOFT_ARCH": TARGET, "KTRACE_SOFT_BUDGET": "5000"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    fine = "0 0 42"
    failed, illegal = "0 719 0", "0 700 0"  # hipErrorLaunchFailure, hipErrorIllegalAddress
    assert done.stdout.splitlines() == [failed, fine, failed, fine, failed, fine, illegal, fine]
    assert "kernel `asleep`, workgroup (" in done.stderr
    assert "5000 instructions were executed, which is the limit" in done.stderr


class PitchedPointer(ctypes.Structure):
    _fields_ = (
        ("pointer", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class Extent(ctypes.Structure):
    _fields_ = (
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
    )


class Dim3(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


def test_sizes_without_end_are_refused_at_once() -> None:
    hip = load_hip()
    memory = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0
    block = PitchedPointer(memory, 16, 16, 1)
    one, nothing = Dim3(1, 1, 1), ctypes.c_void_p()
    hip.hipConfigureCall(one, one, ctypes.c_size_t(0), nothing)

    statuses = [
        hip.hipMemset3D(block, 0, Extent(16, 1, 1 << 60)),
        hip.hipMemset3D(block, 0, Extent(16, 2, 2)),
        hip.hipMemset3D(block, 0, Extent(0, 1, 1 << 60)),  # no bytes are no work
        hip.hipSetupArgument(memory, ctypes.c_size_t(1 << 62), ctypes.c_size_t(0)),
        hip.hipSetupArgument(memory, ctypes.c_size_t(8), ctypes.c_size_t(2**64 - 4)),
    ]
    assert hip.hipFree(memory) == 0

    assert statuses == [INVALID_VALUE, INVALID_VALUE, 0, INVALID_VALUE, INVALID_VALUE]


def test_a_folder_is_no_library() -> None:
    library, none = ctypes.c_void_p(), ctypes.c_void_p()

    status = load_hip().hipLibraryLoadFromFile(
        ctypes.byref(library), b"/", none, none, 0, none, none, 0
    )

    assert status == 301  # hipErrorFileNotFound


def test_damaged_bundles_never_crash(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    generator = random.Random(11)
    bundle = make_bundle([hip_entry("gfx942", assembled().read_bytes())], align=64)
    wholes = [bundle, *(compress_bundle(bundle, version=version) for version in (1, 2, 3))]
    file = tmp_path / "damaged.hipfb"
    statuses = []
    for _ in range(400):
        damaged = bytearray(generator.choice(wholes))
        for _ in range(generator.choice([1, 2, 8])):
            damaged[generator.randrange(96)] = generator.randrange(256)
        file.write_bytes(damaged[: generator.choice([None, None, generator.randrange(200)])])
        module = ctypes.c_void_p()
        statuses.append(load_hip().hipModuleLoad(ctypes.byref(module), str(file).encode()))

    told = capfd.readouterr().err.count("ktrace softdev: hipModuleLoad")
    assert len([status for status in statuses if status]) > 200
    assert told >= len([status for status in statuses if status]) - statuses.count(301)


def test_an_argument_that_is_not_there_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    hip = load_hip()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    image = assembled(STORE_42, name="good").read_bytes()
    assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"good") == 0
    places = (ctypes.c_void_p * 1)(unmapped_address())

    status = hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, places, None)

    assert status == INVALID_VALUE
    assert "kernel `good`: its argument 0 points to no memory" in capfd.readouterr().err


def test_gigabytes_of_arguments_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    image = bytearray(assembled(scratch=4112).read_bytes())
    struct.pack_into("<I", image, descriptor_of(image, 4112) + 8, 0xFFFFFFF0)

    status = load(bytes(image))

    assert status == INVALID_IMAGE
    assert "kernel `test_kernel` claims 4294967280 bytes of arguments" in capfd.readouterr().err
