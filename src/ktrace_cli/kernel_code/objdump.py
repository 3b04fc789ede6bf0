"""Runs `llvm-objdump` on a code object and reads what it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode

VARIABLE: Final = "KTRACE_OBJDUMP"
_NAME: Final = "llvm-objdump"
_NEWEST: Final = 40
_OLDEST: Final = 12
_TIMEOUT_S: Final = 300

# `	s_nop 0      // 000000001EB4: BF800000 <where a branch goes>`
_CODE: Final = re.compile(
    r"^\s+(\S.*?)\s*// ([0-9A-Fa-f]{8,16}):((?: [0-9A-Fa-f]{8})+)(?: +<.*>)?\s*$"
)
_LABEL: Final = re.compile(r"^[0-9a-f]{8,16} <(.*)>:$")
_LINE: Final = re.compile(r"^; (.+?):(\d+)(?::\d+)?(?: \(discriminator \d+\))?$")
_FUNCTION: Final = re.compile(r"^; (.+)\(\):$")
_IGNORED: Final = re.compile(r"^\s*$|^.*:\s+file format |^Disassembly of section |^\s*\.\.\.$|^; ")


class UnusableDisassemblerError(Exception):
    """A disassembler cannot read a code object; the message says why."""


def objdumps() -> Iterator[Path]:
    """Yield the llvm-objdumps at hand: the one that was asked for alone, else ROCm's first."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted:
        yield Path(shutil.which(wanted) or wanted)
        return
    seen = set()
    for path in _candidates():
        if path.is_file() and path.resolve() not in seen:
            seen.add(path.resolve())
            yield path


def _candidates() -> Iterator[Path]:
    for root in (os.environ.get("ROCM_PATH", ""), os.environ.get("HIP_PATH", ""), "/opt/rocm"):
        if root:
            yield Path(root) / "llvm" / "bin" / _NAME
            yield Path(root) / "lib" / "llvm" / "bin" / _NAME
    for name in (*(f"{_NAME}-{version}" for version in range(_NEWEST, _OLDEST, -1)), _NAME):
        found = shutil.which(name)
        if found:
            yield Path(found)


def run_objdump(objdump: Path, image: bytes | memoryview) -> MachineCode:
    """Disassemble all of a code object.

    Raises:
        UnusableDisassemblerError: it cannot be run, or does not know the target.
    """
    with tempfile.TemporaryDirectory(prefix="ktrace-") as folder:
        path = Path(folder) / "code.co"
        path.write_bytes(image)
        command = [str(objdump), "--disassemble", "--line-numbers", str(path)]
        try:
            done = subprocess.run(
                command, capture_output=True, check=False, timeout=_TIMEOUT_S,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise UnusableDisassemblerError(f"{objdump.name}: {problem}") from problem
    if done.returncode != 0:
        words = _reason(done.stderr.decode("utf-8", "replace"), str(path))
        raise UnusableDisassemblerError(f"{objdump.name}: {words or 'it failed'}")
    code = parse_objdump(done.stdout.decode("utf-8", "replace").splitlines(), objdump.name)
    if not code.instructions:
        raise UnusableDisassemblerError(f"{objdump.name}: it prints no AMDGPU instruction")
    return code


def _reason(words: str, path: str) -> str:
    """Return the line that says why; LLVM adds a stack dump after it."""
    for line in words.splitlines():
        if "error" in line.lower():
            return line.replace(path, "the code object").split("error: ")[-1].split("ERROR: ")[-1]
    return words.strip().partition("\n")[0]


def parse_objdump(lines: Iterable[str], tool: str) -> MachineCode:
    """Read a listing, as `llvm-objdump --disassemble --line-numbers` prints it."""
    by_address: dict[int, Instruction] = {}
    function = file = ""
    line_number = unread = 0
    for line in lines:
        code = _CODE.match(line)
        if code:
            text, address, words = code.groups()
            place = int(address, 16)
            found = Instruction(place, 4 * len(words.split()), text, file, line_number, function)
            by_address.setdefault(place, found)
        elif _LABEL.match(line):
            function, file, line_number = "", "", 0
        elif named := _FUNCTION.match(line):
            function = named[1]
        elif source := _LINE.match(line):
            file, line_number = source[1], int(source[2])
        elif not _IGNORED.match(line):
            unread += 1
    notices = (f"{unread} lines of {tool} could not be read",) if unread else ()
    ordered = tuple(by_address[address] for address in sorted(by_address))
    return MachineCode(tool, ordered, notices)
