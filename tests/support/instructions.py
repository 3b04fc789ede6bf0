"""The list of the instructions of gfx942 and gfx950, and which of them real programs contain.

`instructions.json` has an entry for every mnemonic that LLVM knows for one of these targets: one
encoding of it, the targets that have it, whether the software device executes it, and the programs
that it was seen in. Run this file to bring the list up to date:

    python tests/support/instructions.py --objdump llvm-objdump bitsandbytes=bitsandbytes-….whl …

looks for mnemonics in wheels, libraries and code objects. `--all LLVM_MC` first makes the list anew
from the whole space of encodings (instruction_space.py), keeping what was seen. LLVM 20 and later
know gfx950.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ktrace_cli.code_object.containers import Image, find_images
from ktrace_cli.errors import CodeObjectError

TARGETS = ("gfx942", "gfx950")
LIST = Path(__file__).with_name("instructions.json")
SUFFIX = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp)$")
_LINE = re.compile(r"\s+(\S+).*//\s*([0-9A-F]+):((?: [0-9A-F]{8})+)")
_HOLDS_CODE = (".so", ".hsaco", ".co", ".bin")


@dataclass(frozen=True)
class Instruction:
    """One mnemonic with one encoding of it; if targets encode it differently, there are several."""

    mnemonic: str
    words: tuple[str, ...]
    """Dwords, hexadecimal."""
    targets: tuple[str, ...]
    executed: bool
    """By the software device."""
    seen: tuple[str, ...] = ()
    """The programs that contain it."""


@dataclass(frozen=True)
class Line:
    """One instruction in a disassembly."""

    mnemonic: str
    address: int
    words: tuple[int, ...]


def read_list(path: Path = LIST) -> list[Instruction]:
    """Read the list, in its order."""
    entries = json.loads(path.read_text())
    return [
        Instruction(
            **{
                key: tuple(value) if isinstance(value, list) else value
                for key, value in one.items()
            }
        )
        for one in entries
    ]


def write_list(instructions: Iterable[Instruction], path: Path = LIST) -> None:
    """Write the list, a line for each entry."""
    lines = [json.dumps(asdict(one)) for one in sorted(instructions, key=lambda one: one.mnemonic)]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def disassemble(code_object: Path, target: str, objdump: str) -> list[Line]:
    """Disassemble all code of a code object."""
    command = [objdump, "-d", f"--mcpu={target}", str(code_object)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = (_LINE.match(line) for line in text.splitlines())
    return [
        Line(SUFFIX.sub("", m[1]), int(m[2], 16), tuple(int(word, 16) for word in m[3].split()))
        for m in found
        if m
    ]


def code_objects(path: Path) -> Iterator[tuple[str, bytes]]:
    """Give target and content of every code object for our targets in a wheel, library or file."""
    for name, content in _files(path):
        for image in _images(name, content):
            target = image.target.split(":")[0] or _target_of_elf(image.data)
            if target in TARGETS:
                yield target, bytes(image.data)


def _images(name: str, content: bytes) -> list[Image]:
    try:
        return find_images(content, name).images
    except CodeObjectError:
        return []  # a library without GPU code


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    if not zipfile.is_zipfile(path):
        yield path.name, path.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            if entry.endswith(_HOLDS_CODE) or ".so." in entry:
                yield entry, archive.read(entry)


def _target_of_elf(data: memoryview) -> str:
    """Read EF_AMDGPU_MACH of a bare code object."""
    machines = {0x4C: "gfx942", 0x4F: "gfx950"}
    return machines.get(data[48], "") if len(data) > 48 else ""


def mnemonics(path: Path, objdump: str) -> dict[str, set[str]]:
    """Collect the mnemonics of all code objects in a file, by target."""
    found: dict[str, set[str]] = {target: set() for target in TARGETS}
    with tempfile.TemporaryDirectory() as folder:
        for target, content in code_objects(path):
            file = Path(folder) / "code_object"
            file.write_bytes(content)
            found[target].update(line.mnemonic for line in disassemble(file, target, objdump))
    return found


def with_seen(
    instructions: Sequence[Instruction], program: str, found: Mapping[str, set[str]]
) -> list[Instruction]:
    """Note which instructions a program contains."""
    result = []
    for one in instructions:
        there = any(one.mnemonic in found[target] for target in one.targets)
        others = tuple(name for name in one.seen if name != program)
        result.append(replace(one, seen=tuple(sorted((*others, program))) if there else others))
    return result


def unlisted(instructions: Sequence[Instruction], found: Mapping[str, set[str]]) -> list[str]:
    """Name what a program contains and the list lacks."""
    listed = {(one.mnemonic, target) for one in instructions for target in one.targets}
    return sorted(
        f"{name} ({target})"
        for target, names in found.items()
        for name in names
        if (name, target) not in listed
    )


def main(arguments: Sequence[str]) -> int:
    """Bring the list up to date; 1 if a program contains what the list lacks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objdump", default="llvm-objdump", help="which llvm-objdump")
    parser.add_argument("--all", metavar="LLVM_MC", help="make the list anew with this llvm-mc")
    parser.add_argument("programs", nargs="*", metavar="NAME=FILE")
    options = parser.parse_args(arguments)
    instructions = read_list() if LIST.exists() else []
    if options.all:
        from support.instruction_space import list_anew

        instructions = list_anew(instructions, options.all)
    missing = []
    by_program: dict[str, dict[str, set[str]]] = {}
    for given in options.programs:
        program, file = given.split("=", 1)
        found = mnemonics(Path(file), options.objdump)
        total = by_program.setdefault(program, {target: set() for target in TARGETS})
        for target in TARGETS:
            total[target] |= found[target]
    for program, found in by_program.items():
        missing += unlisted(instructions, found)
        instructions = with_seen(instructions, program, found)
        counts = ", ".join(f"{len(found[target])} for {target}" for target in TARGETS)
        sys.stderr.write(f"{program}: {counts}\n")
    write_list(instructions)
    for name in missing:
        sys.stderr.write(f"not in the list: {name}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main(sys.argv[1:]))
