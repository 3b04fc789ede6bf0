"""format.h and layout.py agree: what the compiler prints for each name in the header is compared.

The list of names is parsed from the header, so a struct, field, enumerator or constant that only
one of the two knows fails here.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import EnumMeta
from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.trace_file import layout

HEADER = Path(__file__).parents[2] / "preload/include/ktrace/format.h"
COMPILERS = [
    pytest.param((("cc", "gcc", "clang", "clang-19"), "c", "c11"), id="c11"),
    pytest.param((("c++", "g++", "clang++", "clang++-19"), "c++", "c++17"), id="c++17"),
]
NUMPY_TYPES = {
    "ktrace_u8": "u1",
    "ktrace_u16": "u2",
    "ktrace_u32": "u4",
    "ktrace_u64": "u8",
    "ktrace_i64": "i8",
    "char": "S1",
}


@dataclass(frozen=True)
class Header:
    """The names that format.h defines."""

    fields_by_struct: dict[str, list[tuple[str, str]]]  # (type, name)
    members_by_enum: dict[str, list[str]]
    defines: dict[str, str]


def parse_header() -> Header:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    structs = {
        name: re.findall(r"(?:struct )?(\w+) (\w+)(?:\[\w+\])?;", body)
        for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.DOTALL | re.MULTILINE)
    }
    enums = {
        name: re.findall(r"(\w+)\s*=", body)
        for name, body in re.findall(r"^enum (\w+) \{(.*?)\};", text, re.DOTALL | re.MULTILINE)
    }
    defines = dict(re.findall(r"^#define (\w+) +(\S.*)$", text, re.MULTILINE))
    assert len(structs) == text.count("struct ktrace_") - len(re.findall(r"^  struct", text, re.M))
    assert len(enums) == text.count("enum ktrace_")
    return Header(structs, enums, defines)


def program(header: Header) -> str:
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <ktrace/format.h>"]
    lines.append("int main(void) {")

    def show(label: str, value: str) -> None:
        lines.append(f'  printf("{label} %llu\\n", (unsigned long long)({value}));')

    for struct, fields in header.fields_by_struct.items():
        show(struct, f"sizeof(struct {struct})")
        for _, name in fields:
            place = f"((struct {struct}*)0)->{name}"
            show(f"{struct}.{name}.offset", f"offsetof(struct {struct}, {name})")
            show(f"{struct}.{name}.size", f"sizeof({place})")
    for members in header.members_by_enum.values():
        for name in members:
            show(name, name)
    for name, value in header.defines.items():
        if value.startswith('"'):
            lines.append(f'  printf("{name} ");')
            lines.append(f"  for (size_t i = 0; i + 1 < sizeof({name}); ++i)")
            lines.append(f'    printf("%02x", (unsigned char){name}[i]);')
            lines.append('  puts("");')
        else:
            show(name, name)
    return "\n".join([*lines, "  return 0;", "}", ""])


@pytest.fixture(scope="module", params=COMPILERS)
def printed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Yield what the compiled program prints, by label."""
    candidates, language, standard = request.param
    compiler = next((found for name in candidates if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip(f"no compiler for {standard}: none of {', '.join(candidates)} is installed")
    folder = tmp_path_factory.mktemp("layout")
    source = folder / "print_layout.c"
    source.write_text(program(parse_header()))
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    include = ["-I", str(HEADER.parents[1])]
    command = [compiler, "-x", language, f"-std={standard}", *warnings, *include, str(source)]
    subprocess.run([*command, "-o", str(folder / "print_layout")], check=True)
    output = subprocess.run(
        [str(folder / "print_layout")], check=True, capture_output=True, text=True
    ).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


def dtype_name(struct: str) -> str:
    return struct.removeprefix("ktrace_").removesuffix("_record").upper()


def enum_name(enum: str) -> str:
    return "".join(word.capitalize() for word in enum.removeprefix("ktrace_").split("_"))


def member_prefix(enum: str) -> str:
    return f"KTRACE_{enum.removeprefix('ktrace_').split('_')[0].upper()}_"


def element(dtype: np.dtype) -> str:
    if dtype.kind == "S":
        return "S1"
    base = dtype.base
    return f"{base.kind}{base.itemsize}"


def test_every_struct_has_the_compilers_offsets_and_sizes(printed):
    header = parse_header()

    for struct, fields in header.fields_by_struct.items():
        dtype = getattr(layout, dtype_name(struct))
        assert dtype.itemsize == int(printed[struct]), struct
        assert list(dtype.names) == [name for _, name in fields], struct
        for type_name, name in fields:
            field_type, offset = dtype.fields[name][:2]
            where = f"{struct}.{name}"
            assert offset == int(printed[f"{where}.offset"]), where
            assert field_type.itemsize == int(printed[f"{where}.size"]), where
            if type_name in NUMPY_TYPES:
                assert element(field_type) == NUMPY_TYPES[type_name], where
            else:
                assert field_type == getattr(layout, dtype_name(type_name)), where


def test_structs_have_no_padding(printed):
    for struct, fields in parse_header().fields_by_struct.items():
        sizes = sum(int(printed[f"{struct}.{name}.size"]) for _, name in fields)
        assert sizes == int(printed[struct]), struct


def test_every_enumerator_has_the_compilers_value(printed):
    for enum, members in parse_header().members_by_enum.items():
        prefix = member_prefix(enum)
        expected = {name.removeprefix(prefix): int(printed[name]) for name in members}
        mirror = getattr(layout, enum_name(enum))
        assert {name: int(member) for name, member in mirror.__members__.items()} == expected, enum


def test_every_constant_has_the_compilers_value(printed):
    for name, text in parse_header().defines.items():
        mirror = getattr(layout, name.removeprefix("KTRACE_"))
        value = bytes.fromhex(printed[name]) if text.startswith('"') else int(printed[name])
        assert mirror == value, name


def test_layout_defines_nothing_that_the_header_does_not():
    header = parse_header()
    known = {dtype_name(name) for name in header.fields_by_struct}
    known |= {name.removeprefix("KTRACE_") for name in header.defines}
    enums = {enum_name(name) for name in header.members_by_enum}

    constants = {name for name in vars(layout) if name.isupper()}
    classes = {
        name
        for name, value in vars(layout).items()
        if isinstance(value, EnumMeta) and value.__module__ == layout.__name__
    }

    assert constants == known
    assert classes == enums


def test_numpy_structs_are_little_endian_everywhere():
    for struct in parse_header().fields_by_struct:
        dtype = getattr(layout, dtype_name(struct))
        for name in dtype.names:
            base = dtype.fields[name][0].base
            if base.names is None:
                assert base == base.newbyteorder("<"), f"{struct}.{name}"
