"""Build annotated sources the way the tests do: every warning is an error."""

from dataclasses import dataclass
from pathlib import Path

from device_api.notes import KERNEL, event_names, read_notes
from support.compile_kernel import Compiler

INCLUDE = Path(__file__).parents[2] / "preload" / "include"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
ENABLE = "-DKTRACE_ENABLE"
HEADERS = "#include <mini_hip.hpp>\n#include <ktrace/ktrace.hpp>\n"


@dataclass(frozen=True)
class Built:
    """A code object and what its notes say."""

    path: Path
    names: dict[tuple[int, int], str]  # by low half of the unit key, and event id
    unit: int  # low half of the kernels' unit key


def build(compiler: Compiler, source: str, *options: str) -> Built:
    """Compile annotated source to a code object whose kernels are all of one unit."""
    path = compiler.hip(source, "-O3", ENABLE, *WARNINGS, *options, includes=[INCLUDE])
    units = {note.unit_key & 0xFFFFFFFF for note in read_notes(path) if note.type == KERNEL}
    (unit,) = units
    return Built(path, event_names(path), unit)
