"""What a marker in a Python kernel costs, in instructions: docs/annotating-python.md has them."""

from __future__ import annotations

import re
import subprocess

import pytest

from ktrace_cli.annotate import instructions
from ktrace_cli.annotate.instructions import Payload
from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.disassembling import real_objdump


def disassembled(statement: str) -> list[str]:
    """The instructions of a statement between two s_nop, without what lies behind them."""
    body = f"s_nop 7\n{statement.replace('${:uid}', '0')}s_nop 7\n"
    code_object = any_compiler("gfx942").assemble(AsmKernel(body).source("gfx942"))
    command = [str(real_objdump()), "-d", "--mcpu=gfx942", "--no-show-raw-insn", str(code_object)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.strip() for line in re.findall(r"^\t(\w.*?)\s*//", text, re.MULTILINE)]
    first, last = (index for index, line in enumerate(lines) if line == "s_nop 7")
    return lines[first + 1 : last]


@pytest.mark.parametrize(("values", "count", "waits"), [(0, 14, 2), (1, 22, 4), (2, 29, 5)])
def test_an_event_costs_what_the_page_says(values: int, count: int, waits: int) -> None:
    payload = [Payload(f"v{value}", 1) for value in range(values)]

    found = disassembled(instructions.event("s11", "s[8:9]", "s10", 0x10000001, payload))

    assert len(found) == count
    assert sum(line.startswith("s_waitcnt") for line in found) == waits
    assert sum(line.startswith("v_") for line in found) == values
