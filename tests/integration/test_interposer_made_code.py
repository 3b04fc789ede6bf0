"""Kernels whose machine code HIP makes or fetches itself, seen on its way to the HSA runtime.

The stand-in HIP compiles whatever it is given into the file that MADE_CODE names.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from ktrace_cli.trace_file.layout import LossReason
from support.bundles import make_bundle
from support.preloaded import ROOT, SAXPY, SAXPY_UNTRACED, Outcome, run_script

SOURCE = ROOT / "tests" / "support" / "stand_in_hsa_loader.cpp"
DEVICE = "libdevice64.so.7"
SPIRV = make_bundle([("hip-spirv64-amd-amdhsa--amdgcnspirv", b"\x03\x02\x23\x07" + bytes(60))])
# A module of intermediate code, by hipModuleLoadData.
MODULE = "host = Host(hip, IMAGE)\n"
# The host's module is of something else; its function comes from where nobody looks.
HANDLE = MODULE + "assert hip.hipFunctionOfNobody(ctypes.byref(host.function)) == 0\n"
ARCHIVE = (
    MODULE + "magic = (ctypes.c_uint * 6)(0x4B504948, 1)\n"
    "begin = hip['__hipRegisterFatBinary']\n"
    "begin.restype = ctypes.c_void_p\n"
    "handle, symbol = ctypes.c_void_p(begin(magic)), ctypes.c_char()\n"
    "hip['__hipRegisterFunction'](handle, ctypes.byref(symbol), b'saxpy', b'saxpy',\n"
    "    ctypes.c_uint(0xffffffff), *[None] * 5)\n"
    "class Dim3(ctypes.Structure):\n"
    "    _fields_ = (('x', ctypes.c_uint), ('y', ctypes.c_uint), ('z', ctypes.c_uint))\n"
    "def launch():\n"
    "    host.launches += 1\n"
    "    return hip.hipLaunchKernel(ctypes.byref(symbol), Dim3(*GRID), Dim3(*BLOCK),\n"
    "        host.places(), ctypes.c_size_t(0), None)\n"
    "host.launch = launch\n"
)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stand-ins and of a software device that does not have HIP's name."""
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("stand-in")
    device = folder / DEVICE
    own = b"libamdhip64.so.7\0"
    image = native_library(SOFTWARE_DEVICE).read_bytes()
    assert own in image  # its SONAME, by which the stand-in would find itself
    device.write_bytes(image.replace(own, DEVICE.encode() + b"\0"))
    hsa, hip = folder / "libhsa-runtime64.so.1", folder / "libamdhip64.so.7"
    build = [compiler, "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", SOURCE]
    subprocess.run([*build, "-DHSA", "-Wl,-soname,libhsa-runtime64.so.1", "-o", hsa], check=True)
    subprocess.run(
        [*build, "-Wl,--no-as-needed", hsa, device, f"-Wl,-rpath,{folder}", "-ldl", "-o", hip],
        check=True,
    )
    return folder


def run(way: str, made: Path, libraries: Path, folder: Path, *, tapped: bool = True) -> Outcome:
    """Launch twice in a way, with the code that the stand-in makes."""
    image = folder / "image.hipfb"
    image.write_bytes(SPIRV)
    hip = libraries / "libamdhip64.so.7"
    text = (
        f"IMAGE = Path({str(image)!r})\nhip = ctypes.CDLL({str(hip)!r})\n{way}"
        "assert [host.launch(), host.launch()] == [0, 0]\n"
        "print('right' if host.is_right() else host.result())\n"
    )
    environment = {
        "MADE_CODE": str(made),
        "SOFTWARE_DEVICE": str(libraries / DEVICE),
        "LD_LIBRARY_PATH": str(libraries),
    }
    return run_script(text, folder, preload_device=False, environment=environment)


@pytest.mark.parametrize("way", [MODULE, HANDLE, ARCHIVE], ids=["module", "handle", "archive"])
def test_a_kernel_that_hip_compiled_itself_is_traced(
    way: str, libraries: Path, tmp_path: Path
) -> None:
    outcome = run(way, SAXPY, libraries, tmp_path)

    assert (outcome.returncode, outcome.stdout) == (0, "right\n"), outcome.stderr
    assert f"{SAXPY.stat().st_size} bytes to HSA" in outcome.stderr
    assert [len(d.headers) for d in outcome.recording.dispatches] == [16, 16]
    assert outcome.recording.code_objects[0].image == SAXPY.read_bytes()
    status = outcome.status
    assert (status.annotated_launches, status.unseen_launches, status.losses) == (2, 0, {})


def test_a_kernel_without_annotations_that_hip_compiled_itself_is_known(
    libraries: Path, tmp_path: Path
) -> None:
    outcome = run(HANDLE, SAXPY_UNTRACED, libraries, tmp_path)

    assert (outcome.returncode, outcome.stdout) == (0, "right\n"), outcome.stderr
    status = outcome.status
    assert (status.launches, status.annotated_launches, status.unseen_launches) == (2, 0, 0)
    assert not outcome.path.exists()


def test_a_module_that_hip_does_not_unload_stays_known(libraries: Path, tmp_path: Path) -> None:
    outcome = run(
        MODULE + "assert hip.hipModuleUnload(host.module) == 1\n", SAXPY, libraries, tmp_path
    )

    assert (outcome.returncode, outcome.stdout) == (0, "right\n"), outcome.stderr
    assert len(outcome.recording.dispatches) == 2
    assert outcome.status.unseen_launches == 0


def test_a_name_that_two_compiled_kernels_have_stands_for_neither(
    libraries: Path, tmp_path: Path
) -> None:
    # One is annotated and one is not: the other would take a buffer for what it does not have.
    way = (
        MODULE + f"os.environ['MADE_CODE'] = {str(SAXPY_UNTRACED)!r}\n"
        "assert hip.hipFunctionOfNobody(ctypes.byref(host.function)) == 0\n"
    )

    outcome = run(way, SAXPY, libraries, tmp_path)

    assert (outcome.returncode, outcome.stdout) == (0, "right\n"), outcome.stderr
    status = outcome.status
    assert (status.launches, status.annotated_launches, status.unseen_launches) == (2, 0, 2)
    assert not outcome.path.exists()


def test_an_archive_of_which_nothing_was_seen_is_counted_with_its_launches(tmp_path: Path) -> None:
    # The software device knows no archives: what is launched here is of nobody.
    outcome = run_script(
        "host = Host(open_hip(), SAXPY)\nhip = host.hip\n"
        "magic, symbol = (ctypes.c_uint * 6)(0x4B504948, 1), ctypes.c_char()\n"
        "begin = hip['__hipRegisterFatBinary']\nbegin.restype = ctypes.c_void_p\n"
        "handle = ctypes.c_void_p(begin(magic))\n"
        "hip['__hipRegisterFunction'](handle, ctypes.byref(symbol), b'saxpy', b'saxpy',\n"
        "    ctypes.c_uint(0xffffffff), *[None] * 5)\n"
        "class Dim3(ctypes.Structure):\n"
        "    _fields_ = (('x', ctypes.c_uint), ('y', ctypes.c_uint), ('z', ctypes.c_uint))\n"
        "print(hip.hipLaunchKernel(ctypes.byref(symbol), Dim3(*GRID), Dim3(*BLOCK),\n"
        "    host.places(), ctypes.c_size_t(0), None) != 0)\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout) == (0, "True\n")
    status = outcome.status
    assert status.unread_fat_binaries == 1
    assert status.losses == {LossReason.CODE_OBJECT: 1}
    assert status.message == (
        "a kpack archive: only HIP reads it, and what HIP took from it was not seen"
    )
