"""encode.h and encoder_layout.py agree: sizes, places of fields and numbers are the compiler's."""

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np

from ktrace_cli.export import encoder_layout as encoder
from ktrace_cli.model import SliceFlag
from support.compile_c import compile_c

PRELOAD = Path(__file__).parents[2] / "preload"
HEADER = PRELOAD / "reader" / "encode.h"
PYTHON = {
    "ktrace_encoder_span": encoder.SPAN,
    "ktrace_encoder_column": encoder.COLUMN,
    "ktrace_encoder_flow": encoder.ARROW_END,
    "ktrace_encoder_setup": encoder.Setup,
    "ktrace_encoder_batch": encoder.Rows,
}
NUMBERS = {
    "KTRACE_ENCODER_DONE": encoder.Status.DONE,
    "KTRACE_ENCODER_MORE": encoder.Status.MORE,
    "KTRACE_ENCODER_NO_MEMORY": encoder.Status.NO_MEMORY,
    "KTRACE_ENCODER_BAD_ROWS": encoder.Status.BAD_ROWS,
    "KTRACE_ENCODER_OUT_OF_ORDER": encoder.Status.OUT_OF_ORDER,
    "KTRACE_ENCODER_NUMBER": encoder.NUMBER,
    "KTRACE_ENCODER_FLAG": encoder.FLAG,
    "KTRACE_ENCODER_FLOW_BEGINS": encoder.BEGINS,
    "KTRACE_ENCODER_FLOW_ENDS_AT_BEGIN": encoder.ENDS_AT_BEGIN,
    "KTRACE_ENCODER_FLOW_ENDS_AT_END": encoder.ENDS_AT_END,
    "KTRACE_ENCODER_SLICE_FLAGS": encoder.SLICE_FLAGS,
}


def fields_by_struct() -> dict[str, list[str]]:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.DOTALL | re.MULTILINE)
    return {name: re.findall(r"(\w+)(?:\[\w+\])?;", body) for name, body in found}


def python_layout(struct: str) -> dict[str, tuple[int, int]]:
    """Offset and size of each field, in order."""
    layout = PYTHON[struct]
    if isinstance(layout, np.dtype):
        fields = {name: layout.fields[name] for name in layout.names}
        return {name: (offset, dtype.itemsize) for name, (dtype, offset) in fields.items()}
    return {
        name: (getattr(layout, name).offset, getattr(layout, name).size)
        for name, _ in layout._fields_
    }


def test_both_know_the_same_structs_fields_and_numbers(tmp_path: Path) -> None:
    structs = fields_by_struct()
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "encode.h"', "int main(void) {"]
    for struct, fields in structs.items():
        lines.append(f'printf("{struct} %zu\\n", sizeof(struct {struct}));')
        for name in fields:
            place = f"((struct {struct}*)0)->{name}"
            lines.append(f'printf("{struct}.{name} %zu ", offsetof(struct {struct}, {name}));')
            lines.append(f'printf("%zu\\n", sizeof({place}));')
    lines += [f'printf("{name} %d\\n", (int){name});' for name in NUMBERS]
    lines.append("return 0; }")
    includes = [f"-I{PRELOAD / 'include'}", f"-I{PRELOAD / 'reader'}"]
    program = compile_c("\n".join(lines), tmp_path / "layout", *includes)
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()

    expected = []
    for struct in structs:
        layout = PYTHON[struct]
        size = layout.itemsize if isinstance(layout, np.dtype) else ctypes.sizeof(layout)
        expected.append(f"{struct} {size}")
        expected += [
            f"{struct}.{name} {offset} {length}"
            for name, (offset, length) in python_layout(struct).items()
        ]
    expected += [f"{name} {int(value)}" for name, value in NUMBERS.items()]
    assert told == expected
    assert set(structs) == set(PYTHON)


def test_every_number_of_the_header_is_compared() -> None:
    text = HEADER.read_text(encoding="utf-8")
    enums = re.findall(r"^enum \w+ \{(.*?)\};", text, re.DOTALL | re.MULTILINE)
    members = {name for body in enums for name in re.findall(r"(\w+)\s*=", body)}
    defined = {name for name, value in re.findall(r"^#define (\w+) +(\S+)$", text, re.MULTILINE)}

    assert members | defined == set(NUMBERS)


def test_every_flag_of_a_slice_has_a_place_for_its_name() -> None:
    assert max(SliceFlag) < 1 << encoder.SLICE_FLAGS
