"""Programs that call parts of the interposer, under sanitizers: the parts are compiled once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.built_once import ROOT, built_once, compile_once, version_of

INTERPOSER = ROOT / "preload" / "interposer"
_PARTS = (
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
_OPTIONS = (
    *("-std=c++17", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    *(f"-I{INTERPOSER}", f"-I{ROOT / 'preload' / 'include'}", '-DKTRACE_PRELOAD_VERSION="0"'),
)


def build_probe(output: Path, *sources: Path) -> Path:
    """Link `sources` with the parts; any report of a sanitizer will end the program."""
    compiler = shutil.which("clang++-19") or shutil.which("clang++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler")
    options = (*_OPTIONS, str(_parts(compiler)), "-ldl", "-lpthread")
    return compile_once(sources, output, *options, compiler=compiler)


def _parts(compiler: str) -> Path:
    """Return an archive of the parts; its name says what is in it."""
    sources = [INTERPOSER / f"{name}.cpp" for name in _PARTS]
    command = [compiler, *_OPTIONS, "-c", *map(str, sources)]

    def build(made: Path) -> None:
        subprocess.run(command, cwd=made.parent, check=True)
        objects = sorted(made.parent.glob("*.o"))
        subprocess.run(["ar", "rcs", made, *objects], check=True)

    return built_once([version_of(compiler), *command], sources, build)
