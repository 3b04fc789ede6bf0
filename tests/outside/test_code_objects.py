"""The decoder against llvm-objdump, for every code object of packages for ROCm."""

from __future__ import annotations

import ctypes
import importlib.metadata
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ktrace_cli.code_object.containers import find_images
from ktrace_cli.errors import KtraceError
from outside.running import need
from support.hip_calls import load_hip

LINE = re.compile(r"\s+(\S+).*//\s*([0-9A-F]+):((?: [0-9A-F]{8})+)")
SUFFIX = re.compile(r"(_e32|_e64|_sdwa|_dpp|_e64_dpp)$")
# llvm-objdump 19 does not know gfx950: it reads it as gfx942, and stumbles over what is new.
NEW_ON_GFX950 = ("v_bitop3_b16", "v_bitop3_b32", "v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32")
# Other encodings of the same, which gfx90a alone has.
OTHER_NAMES = {"v_mac_f32": "v_mad_f32", "v_madmk_f32": "v_mad_f32", "v_madak_f32": "v_mad_f32"}
MACHINES = {"gfx90a": "gfx90a", "gfx942": "gfx942", "gfx950": "gfx942"}
PACKAGES = {"bitsandbytes": "libbitsandbytes_rocm*.so", "jax-rocm7-plugin": "_*.so"}
S_NOP = 0xBF800000


def code_objects(package: str) -> Iterator[tuple[str, bytes]]:
    """The target of each, and itself."""
    for file in importlib.metadata.files(package) or []:
        if not file.match(PACKAGES[package]):
            continue
        path = Path(str(file.locate()))
        try:
            images = find_images(path.read_bytes(), path.name).images
        except KtraceError:
            continue  # a library without GPU code
        for image in images:
            target = image.target.split(":")[0]
            if target in MACHINES:
                yield target, bytes(image.data)


class Decoder:
    """The software device's, each distinct instruction once."""

    def __init__(self, target: str) -> None:
        self.library, self.target = load_hip(), target.encode()
        self.known: dict[tuple[int, ...], tuple[int, str]] = {}

    def decode(self, words: tuple[int, ...]) -> tuple[int, str]:
        """(bytes, mnemonic); negative if it cannot be executed"""
        if words not in self.known:
            text, array = ctypes.create_string_buffer(80), (ctypes.c_uint32 * len(words))(*words)
            count, room = ctypes.c_size_t(len(words)), ctypes.c_size_t(80)
            size = self.library.ktrace_softdev_decode(array, count, self.target, text, room)
            self.known[words] = size, text.value.decode()
        return self.known[words]


def disassemble(path: Path, machine: str) -> list[tuple[str, int, tuple[int, ...]]]:
    """(mnemonic, address, words) of every instruction, by llvm-objdump."""
    program = shutil.which("llvm-objdump-19") or shutil.which("llvm-objdump")
    if not program:
        pytest.skip("llvm-objdump is not installed")
    command = [program, "-d", f"--mcpu={machine}", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    matches = (LINE.match(line) for line in text.splitlines())
    return [
        (SUFFIX.sub("", m[1]), int(m[2], 16), tuple(int(word, 16) for word in m[3].split()))
        for m in matches
        if m
    ]


@dataclass
class Comparison:
    """What became of the instructions of code objects."""

    alike: int = 0
    new: int = 0
    wrong: list[str] = field(default_factory=list)
    not_executed: set[str] = field(default_factory=set)

    def add(self, listing: list[tuple[str, int, tuple[int, ...]]], decoder: Decoder) -> None:
        word_at = {at + 4 * k: word for _, at, words in listing for k, word in enumerate(words)}
        next_known = 0
        for name, at, words in listing:
            if at < next_known:
                continue  # llvm-objdump is inside of what it does not know
            ahead = tuple(word_at.get(at + 4 * k, S_NOP) for k in range(4))
            size, mnemonic = decoder.decode(ahead)
            if size <= 0:
                self.not_executed.add(mnemonic)
            if mnemonic in NEW_ON_GFX950:
                self.new += 1
                next_known = at + size
            elif abs(size) == 4 * len(words) and mnemonic == OTHER_NAMES.get(name, name):
                self.alike += 1
            else:
                self.wrong.append(f"{at:#x}: {name}, {len(words)} words; {mnemonic}, {size} bytes")


@pytest.mark.parametrize(
    ("package", "target", "instructions", "new"),
    [
        ("bitsandbytes", "gfx90a", 578_000, 0),
        ("bitsandbytes", "gfx942", 574_000, 0),
        ("bitsandbytes", "gfx950", 469_000, 1_500),
        ("jax-rocm7-plugin", "gfx90a", 10_000, 0),
        ("jax-rocm7-plugin", "gfx942", 9_000, 0),
        ("jax-rocm7-plugin", "gfx950", 9_000, 0),
    ],
)
def test_every_instruction_has_the_size_and_name_that_llvm_gives_it(
    package: str, target: str, instructions: int, new: int, tmp_path: Path
) -> None:
    need(package)
    path, compared, decoder = tmp_path / "object.co", Comparison(), Decoder(target)

    for of, data in code_objects(package):
        if of == target:
            path.write_bytes(data)
            compared.add(disassemble(path, MACHINES[target]), decoder)

    assert compared.wrong == []
    assert compared.not_executed <= {"ds_gws_barrier"}  # on gfx90a: a barrier of the whole grid
    assert compared.alike > instructions
    assert compared.new >= new
