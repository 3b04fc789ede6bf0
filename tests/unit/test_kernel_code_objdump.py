"""What llvm-objdump prints becomes instructions, and what it cannot do becomes words."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import CodeObjectError
from ktrace_cli.kernel_code.disassembler import disassemble
from ktrace_cli.kernel_code.llvm_library import disassemble_with_library
from ktrace_cli.kernel_code.machine_code import Instruction
from ktrace_cli.kernel_code.objdump import (
    VARIABLE,
    UnusableDisassemblerError,
    objdumps,
    parse_objdump,
    run_objdump,
)
from support.disassembling import (
    LISTED_OBJDUMP,
    SAMPLES,
    listing,
    real_library,
    real_objdump,
    use_listings,
    use_no_disassembler,
)

LISTING = """
k.co:\tfile format elf64-amdgpu

Disassembly of section .text:

0000000000001c00 <kernel>:
; kernel():
; /src/k.hip:7
\ts_load_dwordx2 s[22:23], s[0:1], 0x20                      // 000000001C00: C0060580 00000020
; /src/k.hip:9 (discriminator 2)
\ts_cbranch_scc0 120                                // 000000001C08: BF840078 <kernel+0x208>
\tv_mfma_f32_32x32x8_f16 v[16:31], v[46:47], v[54:55], v[16:31]// 000000001C0C: D3CC0010 04426D2E

0000000000001d00 <other>:
\ts_endpgm                                                   // 000000001D00: BF810000
\t\t...
"""
GEMM = SAMPLES / "gemm" / "gemm.gfx942.co"


def stand_in(folder: Path, script: str) -> Path:
    path = folder / "llvm-objdump"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_listing_becomes_instructions_with_source_lines():
    code = parse_objdump(LISTING.splitlines(), "llvm-objdump")

    assert code.instructions == (
        Instruction(
            0x1C00, 8, "s_load_dwordx2 s[22:23], s[0:1], 0x20", "/src/k.hip", 7, "kernel"
        ),
        Instruction(0x1C08, 4, "s_cbranch_scc0 120", "/src/k.hip", 9, "kernel"),
        Instruction(
            0x1C0C, 8, "v_mfma_f32_32x32x8_f16 v[16:31], v[46:47], v[54:55], v[16:31]",
            "/src/k.hip", 9, "kernel",
        ),
        Instruction(0x1D00, 4, "s_endpgm"),
    )  # fmt: skip
    assert code.notices == ()
    assert code.has_lines


def test_lines_that_are_no_listing_are_counted():
    code = parse_objdump(["what is this", *LISTING.splitlines(), "and this"], "llvm-objdump")

    assert len(code.instructions) == 4
    assert code.notices == ("2 lines of llvm-objdump could not be read",)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80)))
def test_any_lines_are_read_without_an_exception(lines):
    code = parse_objdump(lines, "llvm-objdump")

    addresses = [one.address for one in code.instructions]
    assert addresses == sorted(set(addresses))


@given(st.data())
def test_a_damaged_listing_is_read_without_an_exception(data):
    position = data.draw(st.integers(0, len(LISTING)))
    end = data.draw(st.integers(position, len(LISTING)))
    damaged = LISTING[:position] + data.draw(st.text(max_size=5)) + LISTING[end:]

    code = parse_objdump(damaged.splitlines(), "llvm-objdump")

    assert len(code.instructions) <= 4 + damaged.count("//")


def test_a_disassembler_that_is_asked_for_is_the_only_one(monkeypatch):
    use_listings(monkeypatch)

    assert list(objdumps()) == [LISTED_OBJDUMP]
    assert disassemble(GEMM.read_bytes(), "gfx942", "gemm").tool == "llvm-objdump"


def test_rocms_disassembler_comes_before_others(monkeypatch, tmp_path):
    rocm = tmp_path / "rocm"
    (rocm / "llvm" / "bin").mkdir(parents=True)
    own = stand_in(rocm / "llvm" / "bin", "true")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("llvm-objdump-19", "llvm-objdump-20", "llvm-objdump"):
        stand_in(folder, f"echo {name}").rename(folder / name)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("ROCM_PATH", str(rocm))
    monkeypatch.setenv("PATH", str(folder))

    found = [path for path in objdumps() if path.is_relative_to(tmp_path)]

    names = ["llvm-objdump-20", "llvm-objdump-19", "llvm-objdump"]
    assert found == [own, *(folder / name for name in names)]


def test_without_any_disassembler_it_says_what_to_install(monkeypatch):
    use_no_disassembler(monkeypatch)

    with pytest.raises(CodeObjectError) as problem:
        disassemble(GEMM.read_bytes(), "gfx942:xnack-", "gemm.co")

    assert problem.value.what == "cannot disassemble gemm.co"
    assert "llvm-objdump: " in problem.value.why
    assert problem.value.fix == (
        "`pip install rocm-llvm-python`, or install an LLVM that knows gfx942, or name an "
        "llvm-objdump in KTRACE_OBJDUMP"
    )


def test_an_llvm_that_is_too_old_for_the_target_is_named(monkeypatch, tmp_path):
    words = "echo \"'r600' is not a recognized processor\" >&2; "
    words += "echo 'LLVM ERROR: Disassembly not yet supported for subtarget' >&2; kill -ABRT $$"
    monkeypatch.setenv(VARIABLE, str(stand_in(tmp_path, words)))

    with pytest.raises(CodeObjectError) as problem:
        disassemble(b"", "gfx950", "gemm.co")

    assert problem.value.why == (
        "no disassembler here reads gfx950: llvm-objdump: Disassembly not yet supported for "
        "subtarget"
    )


def test_a_disassembler_that_prints_nothing_is_unusable(tmp_path):
    with pytest.raises(UnusableDisassemblerError, match="prints no AMDGPU instruction"):
        run_objdump(stand_in(tmp_path, "true"), b"")


def test_a_real_objdump_prints_what_is_stored():
    code = run_objdump(real_objdump(), GEMM.read_bytes())

    stored = parse_objdump(listing("gemm.gfx942.co"), "stored")
    own = [(one.address, one.size, one.text) for one in code.instructions]
    assert own == [(one.address, one.size, one.text) for one in stored.instructions]


def test_the_library_of_the_package_disassembles_as_objdump_does():
    library = real_library()

    code = disassemble_with_library(library, GEMM.read_bytes(), "gfx942")

    stored = parse_objdump(listing("gemm.gfx942.co"), "stored")
    own = [(one.address, one.size, one.text) for one in code.instructions]
    assert own == [(one.address, one.size, one.text) for one in stored.instructions]
    newer = (SAMPLES / "gemm" / "gemm.gfx950.co").read_bytes()
    assert len(disassemble_with_library(library, newer, "gfx950").instructions) > 1000


def test_a_processor_that_the_library_does_not_know_ends_no_process():
    library = real_library()

    with pytest.raises(UnusableDisassemblerError, match="does not know gfx999"):
        disassemble_with_library(library, GEMM.read_bytes(), "gfx999")


def test_a_library_that_cannot_be_loaded_is_unusable(tmp_path):
    broken = tmp_path / "librocmllvm.so"
    broken.write_bytes(os.urandom(64))

    with pytest.raises(UnusableDisassemblerError, match=r"librocmllvm\.so: it cannot be loaded"):
        disassemble_with_library(broken, GEMM.read_bytes(), "gfx942")
