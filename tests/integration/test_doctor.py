"""`ktrace doctor` on this machine, and on programs that are given to it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from ktrace_cli.launch.native import INTERPOSER, SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from ktrace_cli.timeline.native import LIBRARY
from support.compile_c import compile_c
from support.instructions import read_list
from support.ktrace_command import Done, Ktrace, saxpy

SUBJECTS = ["interposer", "software device"]
# 64 bytes that say: an ELF program of 64 bits, little-endian, without any segment.
STATIC = bytes([0x7F, *b"ELF", 2, 1]) + bytes(58)


def about(done: Done, subject: str) -> list[str]:
    """Return the lines on one subject, with the line below that says what to do."""
    lines = done.stdout.replace("\n           try", " / try").splitlines()
    return [line for line in lines if line[9:].startswith(f"{subject}: ")]


def executable(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o755)
    return path


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A program that is linked to HIP."""
    hip = tmp_path / SOFTWARE_DEVICE
    shutil.copy(native_library(SOFTWARE_DEVICE), hip)
    source = "int hipInit(unsigned);\nint main(void) { return hipInit(0); }\n"
    return compile_c(source, tmp_path / "linked", str(hip))


def test_the_libraries_of_this_installation_load(ktrace: Ktrace) -> None:
    done = ktrace("doctor")

    assert done.stdout.splitlines()[:3] == [
        "ok       interposer: it can be loaded into a child process",
        "ok       software device: it can be loaded",
        "ok       reader: recordings can be decoded",
    ]


def test_json_has_every_finding(ktrace: Ktrace) -> None:
    shown = json.loads(ktrace("doctor", "--json").stdout)

    assert sorted(shown) == ["can_trace", "findings", "version"]
    assert [one["subject"] for one in shown["findings"]][:2] == SUBJECTS
    assert shown["findings"][1]["facts"] == {"devices": 1}


def test_the_instructions_that_are_not_executed_are_named(ktrace: Ktrace) -> None:
    shown = json.loads(ktrace("doctor", "--device", "soft", "--json").stdout)

    facts = {one["facts"].get("target"): one["facts"] for one in shown["findings"][3:6]}
    assert list(facts) == ["gfx90a", "gfx942", "gfx950"]
    by_list = {one.mnemonic for one in read_list() if "gfx942" in one.targets and not one.executed}
    # AMD's manuals have one more, which LLVM does not know.
    assert set(facts["gfx942"]["missing"].split()) == by_list | {"s_set_valu_coexec_mode"}
    assert (facts["gfx942"]["executed"], facts["gfx942"]["instructions"]) == (1128, 1152)
    assert (facts["gfx950"]["executed"], facts["gfx950"]["instructions"]) == (1224, 1248)


def test_one_line_says_what_stops_a_kernel(ktrace: Ktrace) -> None:
    line = next(one for one in about(ktrace("doctor", "--device", "soft"), "software device")
                if "gfx942" in one)  # fmt: skip

    assert line.startswith(
        "note     software device: it executes 1128 of the 1152 instructions of gfx942; "
        "a kernel stops at s_rfe_b64, "
    )


def test_a_program_that_takes_the_interposer_is_not_run(ktrace: Ktrace, tmp_path: Path) -> None:
    touch = shutil.which("touch")

    done = ktrace("doctor", "--", "touch", "made")

    assert about(done, "program") == [
        f"ok       program: the interposer can be loaded into {touch}"
    ]
    assert not (tmp_path / "made").exists()


def test_of_a_script_the_interpreter_is_examined(ktrace: Ktrace, tmp_path: Path) -> None:
    script = executable(tmp_path / "script", f"#!{sys.executable}\nraise SystemExit\n".encode())

    done = ktrace("doctor", script, "--json")

    assert about(done, "program") == [
        f"ok       program: the interposer can be loaded into {script}"
    ]


def test_a_static_program_is_a_problem(ktrace: Ktrace, tmp_path: Path) -> None:
    static = executable(tmp_path / "static", STATIC)

    done = ktrace("doctor", "--", static)

    assert about(done, "program") == [
        f"problem  program: the interposer cannot be loaded into {static}: it is statically linked"
        " / try: link it dynamically to glibc"
    ]
    assert done.stderr == "ktrace: 1 problem in the way of tracing\n"
    assert done.returncode == 1


def test_the_hip_that_a_program_is_linked_to_is_named(ktrace: Ktrace, linked: Path) -> None:
    hip = linked.parent / SOFTWARE_DEVICE

    done = ktrace("doctor", "--", linked, LD_LIBRARY_PATH=str(linked.parent))

    assert about(done, "program") == [
        f"ok       program: the interposer can be loaded into {linked}",
        f"ok       program: it is linked to libamdhip64.so.7, {hip}",
    ]


def test_a_hip_that_is_not_found_is_noted(ktrace: Ktrace, linked: Path) -> None:
    done = ktrace("doctor", "--", linked, LD_LIBRARY_PATH="")

    assert about(done, "program")[1:] == [
        "note     program: it needs libamdhip64.so.7: not found / try: add ROCm's lib folder to "
        "LD_LIBRARY_PATH; the software device stands in for it"
    ]


def test_a_program_that_is_not_there_is_an_error(ktrace: Ktrace) -> None:
    done = ktrace("doctor", "--", "no-such-program")

    assert done.returncode == 127
    assert done.stderr.startswith("ktrace: error: cannot run no-such-program\n")


def test_an_interposer_that_does_not_load_is_a_problem_in_the_loaders_words(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    folder = tmp_path / "native"
    folder.mkdir()
    (folder / INTERPOSER).write_bytes(b"")
    shutil.copy(native_library(SOFTWARE_DEVICE), folder)

    done = ktrace("doctor", KTRACE_NATIVE_DIR=str(folder))

    (line,) = about(done, "interposer")
    assert line.startswith(f"problem  interposer: it was not loaded into {sys.executable}: ERROR")
    assert line.endswith(
        "file too short): ignored. / try: ktrace needs glibc 2.17 or newer on x86-64"
    )
    assert done.returncode == 1


def test_what_doctor_approves_is_traced(ktrace: Ktrace) -> None:
    program = saxpy()

    assert ktrace("doctor", "--", *program).returncode == 0
    assert ktrace("run", "--device", "soft", "--", *program).stdout == "ok\n"


def test_a_reader_that_cannot_be_loaded_is_a_problem(ktrace: Ktrace, tmp_path: Path) -> None:
    for name in (INTERPOSER, SOFTWARE_DEVICE):
        (tmp_path / name).symlink_to(native_library(name))
    reader = tmp_path / LIBRARY
    reader.write_bytes(b"")
    done = ktrace("doctor", KTRACE_NATIVE_DIR=str(tmp_path))

    (line,) = about(done, "reader")
    assert done.returncode == 1
    assert line.startswith(f"problem  reader: cannot load {reader}: {reader}: file too short / try")
