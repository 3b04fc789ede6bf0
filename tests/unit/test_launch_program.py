"""Finding and running the user's program."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.program import find_program, run_program, why_not_preloadable

PYTHON = Path(sys.executable)


def python(code: str, *arguments: str) -> int:
    return run_program(PYTHON, [str(PYTHON), "-c", code, *arguments], os.environ)


@pytest.mark.parametrize("status", [0, 1, 3, 255])
def test_the_programs_status_is_returned(status: int) -> None:
    assert python(f"raise SystemExit({status})") == status


def test_abort_is_134_and_segfault_139() -> None:
    kill = "import os, signal, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); "

    assert python(kill + "os.kill(os.getpid(), signal.SIGABRT)") == 134
    assert python(kill + "os.kill(os.getpid(), signal.SIGSEGV)") == 139


def test_arguments_arrive_byte_for_byte(tmp_path: Path) -> None:
    arguments = ["2 2 1", "", "*", "--", "--x=$'a\nb'", os.fsdecode(b"\xff\xfe")]
    seen = tmp_path / "seen"
    code = (
        "import os, sys; open(sys.argv[1], 'wb').write(b'|'.join(map(os.fsencode, sys.argv[2:])))"
    )

    assert python(code, str(seen), *arguments) == 0
    assert seen.read_bytes() == b"2 2 1||*|--|--x=$'a\nb'|\xff\xfe"


def test_the_programs_own_name_is_its_first_argument(tmp_path: Path) -> None:
    program = tmp_path / "show"
    program.write_text('#!/bin/sh\nprintf %s "$0" > "$1"\n')
    program.chmod(0o755)

    run_program(find_program(str(program)), [str(program), str(tmp_path / "seen")], os.environ)

    assert (tmp_path / "seen").read_text() == str(program)


def test_a_missing_program_is_status_127() -> None:
    with pytest.raises(KtraceError) as problem:
        find_program("no-such-program-anywhere")

    assert problem.value.status == 127
    assert problem.value.what == "cannot run no-such-program-anywhere"
    assert problem.value.why == "there is no such program"


def test_a_folder_is_status_126(tmp_path: Path) -> None:
    with pytest.raises(KtraceError) as problem:
        find_program(str(tmp_path))

    assert (problem.value.status, problem.value.why) == (126, "it is a folder")


def test_a_script_that_is_not_executable_is_status_126(tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\n")

    with pytest.raises(KtraceError) as problem:
        find_program(str(script))

    assert (problem.value.status, problem.value.why) == (126, "it is not executable")


def test_an_executable_for_another_machine_is_status_126(tmp_path: Path) -> None:
    program = tmp_path / "foreign"
    program.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    program.chmod(0o755)

    with pytest.raises(KtraceError) as problem:
        run_program(program, [str(program)], os.environ)

    assert (problem.value.status, problem.value.why) == (126, "Exec format error")


def test_python_can_be_preloaded() -> None:
    assert why_not_preloadable(PYTHON) == ""


def test_a_static_program_is_named(tmp_path: Path) -> None:
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    header[32:40] = (64).to_bytes(8, "little")
    header[54:58] = (56).to_bytes(2, "little") + (1).to_bytes(2, "little")
    program = tmp_path / "static"
    program.write_bytes(bytes(header) + (1).to_bytes(4, "little") + bytes(52))

    assert why_not_preloadable(program) == "it is statically linked"


def test_a_setuid_program_is_named_unless_we_are_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "setuid"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755 | stat.S_ISUID)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert why_not_preloadable(program) == "it is setuid or setgid"
