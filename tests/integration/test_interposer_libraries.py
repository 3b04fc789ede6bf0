"""Kernels that come from library handles, host symbols and fat binaries in memory."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.bundles import compress_bundle, hip_entry, make_bundle
from support.preloaded import SAXPY, SAXPY_UNTRACED, Outcome, run_script

# The host's own module goes first: what is traced below is not of it.
HOST = (
    "host = Host(open_hip(), SAXPY)\nhip = host.hip\n"
    "assert hip.hipModuleUnload(host.module) == 0\n"
    "library, function = ctypes.c_void_p(), ctypes.byref(host.function)\n"
)
RIGHT = "print('right' if host.is_right() else host.result(), flush=True)\n"
NO_OPTIONS = "*[None, None, 0] * 2"
LOAD_DATA = f"assert hip.hipLibraryLoadData(ctypes.byref(library), host.image, {NO_OPTIONS}) == 0\n"
LOAD_FILE = (
    "assert hip.hipLibraryLoadFromFile(\n"
    f"    ctypes.byref(library), str(SAXPY).encode(), {NO_OPTIONS}) == 0\n"
)
GET = "assert hip.hipLibraryGetKernel(function, library, b'saxpy') == 0\n"
GET_FUNCTION = (
    "kernel = ctypes.c_void_p()\n"
    "assert hip.hipLibraryGetKernel(ctypes.byref(kernel), library, b'saxpy') == 0\n"
    "assert hip.hipKernelGetFunction(function, kernel) == 0\n"
)
ENUMERATE = (
    "kernels = (ctypes.c_void_p * 9)()\n"
    "assert hip.hipLibraryEnumerateKernels(kernels, 9, library) == 0\n"
    "host.function = ctypes.c_void_p(kernels[0])\n"
)
FAT = (
    "class Wrapper(ctypes.Structure):\n"
    "    _fields_ = (('magic', ctypes.c_uint), ('version', ctypes.c_uint),\n"
    "        ('binary', ctypes.c_void_p), ('unused', ctypes.c_void_p))\n"
    "def fat_binary(path):\n"
    "    image = ctypes.create_string_buffer(Path(path).read_bytes())\n"
    "    return Wrapper(0x48495046, 1, ctypes.addressof(image), None), image\n"
    "hip = open_hip()\n"
    "begin, end = (getattr(hip, f'__hip{name}') for name in\n"
    "    ('RegisterFatBinary', 'UnregisterFatBinary'))\n"
    "begin.restype, end.argtypes = ctypes.c_void_p, [ctypes.c_void_p]\n"
    "def register(path):\n"
    "    global wrapper\n"
    "    wrapper = fat_binary(path)\n"
    "    return begin(ctypes.byref(wrapper[0]))\n"
)


def assert_traced(outcome: Outcome, dispatches: int = 1) -> None:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert [len(d.headers) for d in outcome.recording.dispatches] == [16] * dispatches
    assert outcome.status.annotated_launches == dispatches
    assert (outcome.status.unseen_launches, outcome.status.losses) == (0, {})


@pytest.mark.parametrize("get", [GET, GET_FUNCTION, ENUMERATE], ids=["get", "function", "list"])
@pytest.mark.parametrize("load", [LOAD_DATA, LOAD_FILE], ids=["data", "file"])
def test_a_kernel_of_a_library_is_traced(load: str, get: str, tmp_path: Path) -> None:
    assert_traced(run_script(f"{HOST}{load}{get}host.launch()\n{RIGHT}", tmp_path))


def test_a_library_is_known_before_hip_loads_it(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}{LOAD_DATA}", tmp_path, environment={"KTRACE_KERNELS": "none"})

    assert outcome.returncode == 0
    assert (outcome.status.code_objects, outcome.status.annotated_kernels) == (1, 1)


def test_unloading_a_library_forgets_its_kernels(tmp_path: Path) -> None:
    # HIP reuses handles: the second library's kernel must not be taken for the first one's.
    outcome = run_script(
        f"{HOST}{LOAD_DATA}{GET}host.launch()\n{RIGHT}"
        "assert hip.hipLibraryUnload(library) == 0\n"
        f"host.image = Path({str(SAXPY_UNTRACED)!r}).read_bytes()\n"
        f"{LOAD_DATA}{GET}assert host.launch() == 0\nassert host.is_right()\n",
        tmp_path,
    )

    assert_traced(outcome)
    assert outcome.status.launches == 2


def test_a_module_from_a_fat_binary_is_traced(tmp_path: Path) -> None:
    path = tmp_path / "fat.hipfb"
    path.write_bytes(make_bundle([hip_entry("gfx942", SAXPY.read_bytes())]))
    outcome = run_script(
        f"{FAT}{HOST}wrapper, image = fat_binary({str(path)!r})\n"
        "if not hasattr(hip, 'hipModuleLoadFatBinary'): raise SystemExit(77)\n"
        "assert hip.hipModuleLoadFatBinary(\n"
        "    ctypes.byref(host.module), ctypes.byref(wrapper)) == 0\n"
        "assert hip.hipModuleGetFunction(function, host.module, b'saxpy') == 0\n"
        f"host.launch()\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome)


def test_the_function_of_a_host_symbol_is_traced(tmp_path: Path) -> None:
    path = tmp_path / "fat.hipfb"
    path.write_bytes(
        compress_bundle(make_bundle([hip_entry("gfx942", SAXPY.read_bytes())]), version=2)
    )
    outcome = run_script(
        f"{FAT}{HOST}handle, symbol = register({str(path)!r}), ctypes.c_char()\n"
        "hip['__hipRegisterFunction'](ctypes.c_void_p(handle), ctypes.byref(symbol), b'saxpy',\n"
        "    b'saxpy', ctypes.c_uint(0xffffffff), *[None] * 5)\n"
        "assert hip.hipGetFuncBySymbol(function, ctypes.byref(symbol)) == 0\n"
        f"host.launch()\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome)
    assert outcome.status.unread_fat_binaries == 0


def write_fat(folder: Path, kind: str) -> Path:
    """Write an annotated fat binary of a kind that is not read when it is registered."""
    path = folder / "fat.hipfb"
    content = SAXPY.read_bytes()
    if kind == "large":
        path.write_bytes(make_bundle([hip_entry("gfx942", content + bytes(5 << 20))]))
        return path
    compressed = bytearray(compress_bundle(make_bundle([hip_entry("gfx942", content)]), version=3))
    if kind == "huge":
        compressed[16:24] = (257 << 20).to_bytes(8, "little")
    path.write_bytes(compressed)
    return path


@pytest.mark.parametrize("kind", ["compressed", "large"])
def test_a_fat_binary_that_was_never_launched_is_read_when_it_is_unregistered(
    kind: str, tmp_path: Path
) -> None:
    path = write_fat(tmp_path, kind)

    assert_read(run_script(f"{FAT}end(register({str(path)!r}))\nos._exit(0)\n", tmp_path))


@pytest.mark.parametrize("kind", ["compressed", "large"])
def test_a_fat_binary_that_was_never_launched_is_read_at_the_programs_end(
    kind: str, tmp_path: Path
) -> None:
    # As part of a library, which nobody can free: so it is read although it stays registered.
    library = object_with(write_fat(tmp_path, kind), tmp_path)
    outcome = run_script(
        f"{FAT}image = ctypes.c_char.in_dll(ctypes.CDLL({str(library)!r}), 'fat')\n"
        "wrapper = Wrapper(0x48495046, 1, ctypes.addressof(image), None)\n"
        "begin(ctypes.byref(wrapper))\n",
        tmp_path,
    )

    assert_read(outcome)


def assert_read(outcome: Outcome) -> None:
    status = outcome.status
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert (status.code_objects, status.annotated_code_objects) == (1, 1)
    assert (status.annotated_kernels, status.launches) == (1, 0)
    assert (status.unread_fat_binaries, status.losses) == (0, {})


def object_with(data: Path, folder: Path) -> Path:
    """Build a library that holds `data` under the name `fat`."""
    compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("clang-19")
    if not compiler:
        pytest.skip("no C compiler")
    source, library = folder / "fat.s", folder / "fat.so"
    source.write_text(
        f'.section .hip_fatbin,"a"\n.p2align 12\n.global fat\nfat:\n.incbin "{data}"\n'
        '.section .note.GNU-stack,"",@progbits\n'
    )
    subprocess.run([compiler, "-shared", "-nostdlib", source, "-o", library], check=True)
    return library


@pytest.mark.parametrize(
    ("kind", "end"),
    [("huge", ""), ("huge", "end(handle)\n"), ("compressed", "")],
    ids=["huge-registered", "huge-unregistered", "memory-of-the-program"],
)
def test_a_fat_binary_that_cannot_be_read_in_the_end_is_counted(
    kind: str, end: str, tmp_path: Path
) -> None:
    outcome = run_script(
        f"{FAT}handle = register({str(write_fat(tmp_path, kind))!r})\n{end}", tmp_path
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert (outcome.status.code_objects, outcome.status.unread_fat_binaries) == (0, 1)
    assert outcome.status.losses == {}


def test_a_killed_process_tells_what_was_not_read(tmp_path: Path) -> None:
    outcome = run_script(
        f"{FAT}register({str(write_fat(tmp_path, 'compressed'))!r})\nos._exit(0)\n", tmp_path
    )

    assert (outcome.status.code_objects, outcome.status.unread_fat_binaries) == (0, 1)


def test_a_process_that_recorded_something_reads_nothing_in_the_end(tmp_path: Path) -> None:
    outcome = run_script(
        f"{FAT}register({str(write_fat(tmp_path, 'compressed'))!r})\n"
        f"host = Host(hip, SAXPY)\nhost.launch()\n{RIGHT}",
        tmp_path,
    )

    assert_traced(outcome)
    assert outcome.status.unread_fat_binaries == 1
