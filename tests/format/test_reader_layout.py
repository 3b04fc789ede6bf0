"""preload/reader/reader.h and what Python has of it agree: the C compiler's offsets are compared.

The list of names is parsed from the header, so a struct, field or enumerator that only one of the
two knows fails here.
"""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from ktrace_cli.libraries import native_library
from ktrace_cli.model import INSTANT, SLICE, VALUE, SliceFlag, WaveFlag
from ktrace_cli.timeline import native
from support.compile_c import compile_c

ROOT = Path(__file__).parents[2] / "preload"
TEXT = re.sub(
    r"/\*.*?\*/", "", (ROOT / "reader/reader.h").read_text(encoding="utf-8"), flags=re.DOTALL
)
STRUCTS = {
    name: re.findall(r"(\w+);", body)
    for name, body in re.findall(r"^struct ktrace_reader_(\w+) \{(.*?)^\};", TEXT, re.S | re.M)
}
ENUMS = {
    name: re.findall(r"KTRACE_READER_(\w+) *=", body)
    for name, body in re.findall(r"^enum ktrace_reader_(\w+) \{(.*?)\};", TEXT, re.S | re.M)
}
OF_MODEL = {"slice": SLICE, "instant": INSTANT, "value": VALUE}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What the compiled program prints, by label."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "reader.h"', "int main(void) {"]
    values = {name: f"KTRACE_READER_{name}" for names in ENUMS.values() for name in names}
    values |= {name: f"KTRACE_READER_{name}" for name in ("ABI", "OVERLAP", "OTHER_ID")}
    for struct, fields in STRUCTS.items():
        values[struct] = f"sizeof(struct ktrace_reader_{struct})"
        for name in fields:
            place = f"(((struct ktrace_reader_{struct}*)0)->{name})"
            values[f"{struct}.{name}"] = f"offsetof(struct ktrace_reader_{struct}, {name})"
            values[f"{struct}.{name}.size"] = f"sizeof{place}"
    for label, value in values.items():
        lines.append(f'  printf("{label} %llu\\n", (unsigned long long)({value}));')
    include = (f"-I{ROOT / 'include'}", f"-I{ROOT / 'reader'}")
    program = compile_c(
        "\n".join([*lines, "  return 0;", "}", ""]), tmp_path_factory.mktemp("r") / "p", *include
    )
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {label: int(value) for label, value in map(str.split, output.splitlines())}


def dtype_of(struct: str) -> np.dtype:
    return OF_MODEL.get(struct) or getattr(native, struct.upper())


def test_every_struct_has_the_compilers_offsets_and_sizes(printed: dict[str, int]) -> None:
    assert set(STRUCTS) == {
        *("event", "lane", "wave", "scanned", "anchor", "losses", "clock"),
        *("slice", "instant", "value", "rows"),
    }
    for struct, fields in STRUCTS.items():
        dtype = dtype_of(struct)
        assert list(dtype.names) == fields, struct
        assert dtype.itemsize == printed[struct], struct
        for name in fields:
            field, offset = dtype.fields[name][:2]
            assert (offset, field.itemsize) == (
                printed[f"{struct}.{name}"],
                printed[f"{struct}.{name}.size"],
            ), f"{struct}.{name}"


def test_structs_have_no_padding(printed: dict[str, int]) -> None:
    for struct, fields in STRUCTS.items():
        assert sum(printed[f"{struct}.{name}.size"] for name in fields) == printed[struct], struct


def test_every_enumerator_has_the_compilers_value(printed: dict[str, int]) -> None:
    wave_flags = {member.name: int(member) for member in (*WaveFlag, *native.ReaderFlag)}
    slice_flags = {f"SLICE_{member.name}": int(member) for member in SliceFlag}
    event_flags = {f"EVENT_{member.name}": int(member) for member in native.EventFlag}
    statuses = {member.name: int(member) for member in native.Status}

    for enum, known in (
        ("wave_flag", wave_flags),
        ("slice_flag", slice_flags),
        ("event_flag", event_flags),
        ("status", statuses),
    ):
        assert {name: printed[name] for name in ENUMS[enum]}.items() <= known.items(), enum
    assert set(ENUMS) == {"wave_flag", "slice_flag", "event_flag", "status"}
    assert set(ENUMS["status"]) == set(statuses)
    assert set(ENUMS["event_flag"]) == set(event_flags)


def test_every_constant_has_the_compilers_value(printed: dict[str, int]) -> None:
    for name in ("ABI", "OVERLAP", "OTHER_ID"):
        assert printed[name] == getattr(native, name), name


def test_the_library_shows_its_calls_and_needs_no_c_plus_plus_runtime() -> None:
    with native_library(native.LIBRARY).open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym").iter_symbols()
        shown = {s.name for s in symbols if s.name and s["st_shndx"] != "SHN_UNDEF"}
        dynamic = next(s for s in elf.iter_sections() if isinstance(s, DynamicSection))
        needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}

    assert {f"ktrace_reader_{call}" for call in native._CALLS} <= shown
    assert all(re.match(r"ktrace_(reader|encoder)_\w+$", name) for name in shown)
    assert not [name for name in needed if "c++" in name or "gcc" in name]
