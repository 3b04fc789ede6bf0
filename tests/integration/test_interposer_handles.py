"""Handles and addresses that HIP and the loader use again, never taken for what they were."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from support.bundles import hip_entry, make_bundle
from support.preloaded import ROOT, SAXPY, SAXPY_UNTRACED, run_script

UNTRACED = f"UNTRACED = Path({str(SAXPY_UNTRACED)!r})\n"


def test_modules_that_come_and_go_are_told_apart(tmp_path: Path) -> None:
    outcome = run_script(
        f"{UNTRACED}hip, handles, functions = open_hip(), set(), set()\n"
        "for i in range(60):\n"
        "    host = Host(hip, UNTRACED if i % 3 else SAXPY)\n"
        "    handles.add(host.module.value), functions.add(host.function.value)\n"
        "    assert host.launch() == 0 and host.is_right()\n"
        "    assert hip.hipModuleUnload(host.module) == 0\n"
        "print(len(handles) < 60 or len(functions) < 60)\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "True\n", "")
    status = outcome.status
    assert (status.launches, status.annotated_launches, status.unseen_launches) == (60, 20, 0)
    assert (status.code_objects, status.annotated_code_objects, status.losses) == (2, 1, {})
    assert len(outcome.recording.dispatches) == 20


def test_threads_that_load_launch_and_unload_do_not_confuse_each_other(tmp_path: Path) -> None:
    outcome = run_script(
        f"{UNTRACED}from threading import Thread\nhip, wrong = open_hip(), []\n"
        "def work(number):\n"
        "    for i in range(25):\n"
        "        host = Host(hip, UNTRACED if (i + number) % 2 else SAXPY)\n"
        "        if host.launch() or not host.is_right(): wrong.append((number, i))\n"
        "        if hip.hipModuleUnload(host.module): wrong.append((number, i))\n"
        "threads = [Thread(target=work, args=(number,)) for number in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "print(wrong)\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "[]\n", "")
    status = outcome.status
    assert (status.launches, status.annotated_launches, status.unseen_launches) == (100, 50, 0)
    assert len(outcome.recording.dispatches) == 50


def test_one_image_that_is_loaded_a_thousand_times_is_one_code_object(tmp_path: Path) -> None:
    outcome = run_script(
        "host = Host(open_hip(), SAXPY)\nmodule = ctypes.c_void_p()\n"
        "for i in range(1000):\n"
        "    assert host.hip.hipModuleLoadData(ctypes.byref(module), host.image) == 0\n"
        "    assert host.hip.hipModuleUnload(module) == 0\n"
        "assert host.launch() == 0\nprint('right' if host.is_right() else 'wrong')\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert (outcome.status.code_objects, outcome.status.annotated_code_objects) == (1, 1)
    assert len(outcome.recording.code_objects) == 1


def test_an_extension_at_the_address_of_an_earlier_one_is_not_taken_for_it(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    library = tmp_path / "extension.so"
    source = ROOT / "tests" / "support" / "fat_binary_host.cpp"
    device = native_library(SOFTWARE_DEVICE)
    options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-DLIBRARY"]
    subprocess.run([compiler, *options, source, device, "-o", library], check=True)
    for name, image in (("annotated", SAXPY), ("plain", SAXPY_UNTRACED)):
        bundle = make_bundle([hip_entry("gfx942", image.read_bytes())])
        (tmp_path / name).write_bytes(bundle)

    # By the loader's own calls: ctypes never closes what it opened.
    outcome = run_script(
        "own, places = ctypes.CDLL(None), set()\n"
        "own.dlopen.restype = own.dlsym.restype = ctypes.c_void_p\n"
        "own.dlsym.argtypes, own.dlclose.argtypes = [ctypes.c_void_p, ctypes.c_char_p], [\n"
        "    ctypes.c_void_p]\n"
        "for name in ('annotated', 'plain', 'plain', 'annotated'):\n"
        f"    os.environ['FAT_BINARY'] = str(Path({str(tmp_path)!r}) / name)\n"
        f"    handle = own.dlopen({str(library)!r}.encode(), os.RTLD_NOW)\n"
        "    run = own.dlsym(handle, b'run')\n"
        "    places.add(run)\n"
        "    assert ctypes.CFUNCTYPE(ctypes.c_int)(run)() == 0\n"
        "    assert own.dlclose(handle) == 0\n"
        "print(len(places) < 4)\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines() == ["right"] * 4 + ["True"]
    status = outcome.status
    assert (status.launches, status.annotated_launches, status.unseen_launches) == (4, 2, 0)
    assert len(outcome.recording.dispatches) == 2
