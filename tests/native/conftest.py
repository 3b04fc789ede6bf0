"""The program that calls parts of the interposer on files and numbers."""

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest

from support.preloaded import ROOT

INTERPOSER = ROOT / "preload" / "interposer"
SOURCES = (
    "annotations",
    "arguments",
    "bundle",
    "bus_address",
    "clocks",
    "code_object",
    "code_object_tap",
    "config",
    "content_hash",
    "config_values",
    "copy_back",
    "crc32",
    "decompress",
    "device",
    "elf_image",
    "fat_binary",
    "flydsl_kernel",
    "hip_library",
    "image_memory",
    "image_store",
    "kernel_code",
    "kernel_name",
    "kfd",
    "loader",
    "losses",
    "metadata",
    "msgpack",
    "name_patterns",
    "notes",
    "own_thread",
    "placeholders",
    "program",
    "registry",
    "registry_fat_binaries",
    "script",
    "selection",
    "sha256",
    "sizing",
    "status",
    "target",
)


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run the probe with arguments; return what it prints. Any report of a sanitizer fails."""
    compiler = shutil.which("clang++-19") or shutil.which("clang++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler")
    path = tmp_path_factory.mktemp("probe") / "probe"
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O0",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            '-DKTRACE_PRELOAD_VERSION="0"',
            f"-I{INTERPOSER}",
            f"-I{ROOT / 'preload' / 'include'}",
            *(ROOT / "tests" / "native").glob("interposer_probe*.cpp"),
            *(INTERPOSER / f"{name}.cpp" for name in SOURCES),
            "-ldl",
            "-lpthread",
            "-o",
            path,
        ],
        check=True,
    )

    def run(*arguments: object, **environment: str) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("KTRACE_")}
        done = subprocess.run(
            [path, *map(str, arguments)],
            env={**own, "KTRACE_SESSION_DIR": "/tmp", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run
