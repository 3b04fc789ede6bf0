"""Programs that `ktrace run` starts: found, started and left as they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ktrace_cli.launch.native import INTERPOSER, SOFTWARE_DEVICE
from ktrace_cli.launch.preloadable import why_not_preloadable
from ktrace_cli.libraries import native_library
from ktrace_cli.trace_file.reader import read_recording
from support.ktrace_command import Ktrace, said, saxpy

SHOW_PRELOAD = """
#include <stdio.h>
#include <stdlib.h>
int main(void) { puts(getenv("LD_PRELOAD") ? "preloaded" : "nothing"); return 3; }
"""


def make_script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def build(folder: Path, source: str, *options: str) -> None:
    """Compile a C program named `program`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "program.c").write_text(source)
    command = [compiler, *options, "program.c", "-o", "program"]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        pytest.skip("no static C library")


SHOW_ARGUMENTS = (
    "import os, sys; sys.stdout.buffer.write(b'|'.join(map(os.fsencode, sys.argv[1:])))"
)


@pytest.mark.parametrize("dashes", [["--"], []])
def test_arguments_arrive_byte_for_byte(ktrace: Ktrace, dashes: list[str]) -> None:
    arguments = ["2 2 1", "", "*", "--", "--x=a\nb", "$HOME", "\\", "é"]

    result = ktrace("run", *dashes, sys.executable, "-c", SHOW_ARGUMENTS, *arguments)

    assert result.stdout == "2 2 1||*|--|--x=a\nb|$HOME|\\|é"


@pytest.mark.parametrize("dashes", [["--"], []])
def test_the_programs_options_are_its_own(ktrace: Ktrace, dashes: list[str]) -> None:
    code = "import sys; print(sys.argv[1:])"

    result = ktrace("run", *dashes, sys.executable, "-c", code, "--version", "-o", "x", "--", "-h")

    assert result.stdout == "['--version', '-o', 'x', '--', '-h']\n"


@pytest.mark.parametrize(
    ("how", "status"),
    [("exit 0", 0), ("exit 1", 1), ("exit 3", 3), ("exit 255", 255), ("kill -ABRT $$", 134),
     ("kill -SEGV $$", 139), ("kill -KILL $$", 137)],
)  # fmt: skip
def test_the_programs_status_is_returned(ktrace: Ktrace, how: str, status: int) -> None:
    assert ktrace("run", "--", "sh", "-c", f"ulimit -c 0; {how}").returncode == status


def test_what_a_program_recorded_before_it_crashed_is_kept(ktrace: Ktrace, tmp_path: Path) -> None:
    code = (
        "import os, runpy, sys; sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__'); os.abort()"
    )

    result = ktrace(
        "run", "-o", "a.bin", "--", sys.executable, "-u", "-c", code, *saxpy(count=2)[1:]
    )

    assert (result.returncode, result.stdout) == (134, "ok\n")
    assert said(result)[-1].startswith("recorded 2 dispatches in a.bin")
    assert len(read_recording(tmp_path / "a.bin").dispatches) == 2


@pytest.mark.parametrize(
    ("name", "status", "why", "fix"),
    [
        ("no-such-program", 127, "there is no such program", "check the spelling and PATH"),
        ("./missing", 127, "there is no such program", "check the path"),
        ("./folder", 126, "it is a folder", "name a program in it"),
        ("./script", 126, "it is not executable",
         "run it through its interpreter, or `chmod +x ./script`"),
    ],
)  # fmt: skip
def test_what_cannot_be_started_is_said_in_words(
    ktrace: Ktrace, tmp_path: Path, name: str, status: int, why: str, fix: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "script").write_text("#!/bin/sh\n")

    result = ktrace("run", "-o", "a.bin", "--device", "soft", "--", name)

    assert (result.returncode, result.stdout) == (status, "")
    assert said(result) == [f"error: cannot run {name}", f"  why: {why}", f"  try: {fix}"]
    assert not (tmp_path / "a.bin").exists()


def test_a_chain_of_scripts_leads_to_a_traced_program(ktrace: Ktrace, tmp_path: Path) -> None:
    """A script whose interpreter is a script, in a folder with a space and a colon."""
    folder = tmp_path / "a b:c"
    folder.mkdir()
    make_script(tmp_path / "interpreter", f'#!/bin/sh\nshift\nexec "{sys.executable}" "$@"\n')
    make_script(folder / "my program", f"#!{tmp_path}/interpreter\n")

    result = ktrace("run", "-o", "a.bin", "--", "./a b:c/my program", *saxpy()[1:])

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert said(result)[-1].startswith("recorded 1 dispatch in a.bin")


def test_libraries_in_a_folder_that_the_loader_cannot_name(ktrace: Ktrace, tmp_path: Path) -> None:
    folder = tmp_path / "a b:c"
    folder.mkdir()
    for name in (INTERPOSER, SOFTWARE_DEVICE):
        shutil.copy(native_library(name), folder)

    result = ktrace("run", "-o", "a.bin", "--", *saxpy(), KTRACE_NATIVE_DIR=str(folder))

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert said(result)[0].startswith("recorded 1 dispatch in a.bin")


def test_the_users_libraries_stay_in_order_behind_ours(ktrace: Ktrace) -> None:
    code = "import os; print(os.environ['LD_PRELOAD'], os.environ['LD_LIBRARY_PATH'])"

    result = ktrace(
        "run", "--device", "soft", "--", sys.executable, "-c", code,
        LD_PRELOAD="libm.so.6:libc.so.6", LD_LIBRARY_PATH="/u/b:/u/a",
    )  # fmt: skip

    session = r"/\S+/ktrace-\w+"
    assert re.fullmatch(
        rf"{session}/libktrace_preload\.so:{session}/rocm/lib/libamdhip64\.so\.7:"
        rf"libm\.so\.6:libc\.so\.6 {session}/rocm/lib:/u/b:/u/a\n",
        result.stdout,
    )


def test_a_static_program_runs_and_is_said_to_be_untraced(ktrace: Ktrace, tmp_path: Path) -> None:
    build(tmp_path, "int main(void) { return 3; }", "-static")

    result = ktrace("run", "--", "./program")

    assert result.returncode == 3
    assert said(result) == [
        "warning: the interposer cannot be loaded into ./program: it is statically linked; it "
        "runs untraced",
        "nothing was recorded: no process called HIP through a library that ktrace can see",
    ]


def test_what_a_static_program_starts_is_traced(ktrace: Ktrace, tmp_path: Path) -> None:
    build(
        tmp_path,
        "#include <unistd.h>\nint main(int n, char** v) { return execv(v[1], v + 1); }",
        "-static",
    )

    result = ktrace("run", "-o", "a.bin", "--", "./program", *saxpy())

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert said(result)[1].startswith("recorded 1 dispatch in a.bin")


def test_a_setuid_program_runs_and_is_said_to_be_untraced(ktrace: Ktrace, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a program of another user's")
    build(tmp_path, SHOW_PRELOAD)
    os.chown(tmp_path / "program", 65534, 65534)
    (tmp_path / "program").chmod(0o4755)
    if why_not_preloadable(tmp_path / "program") == "":
        pytest.skip("setuid means nothing here")

    result = ktrace("run", "--device", "soft", "--", "./program")

    assert (result.returncode, result.stdout) == (3, "nothing\n")
    assert said(result)[0] == (
        "warning: the interposer cannot be loaded into ./program: it is setuid; it runs untraced"
    )


def test_ktraces_own_temporary_folder_is_gone_however_the_run_ends(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    for command in (saxpy(), ["sh", "-c", "kill -KILL $$"], ["no-such-program"], ["/"]):
        ktrace("run", "-o", "a.bin", "--force", "--", *command, TMPDIR=str(temporary))
        assert list(temporary.iterdir()) == [], command


def test_a_helper_that_ends_with_the_program_keeps_no_folder(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    # It ends because the program does, and so a little later.
    helper = (
        "import os, subprocess, sys\n"
        "end, held = os.pipe()\n"
        "command = ['sh', '-c', 'read -r line; exec true']\n"
        "no = subprocess.DEVNULL\n"
        "subprocess.Popen(command, stdin=end, stdout=no, stderr=no)\n"
        "os._exit(0)"
    )

    result = ktrace("run", "--", sys.executable, "-c", helper, TMPDIR=str(temporary))

    assert said(result) == [
        "nothing was recorded: no process called HIP through a library that ktrace can see"
    ]
    assert list(temporary.iterdir()) == []


def test_a_program_that_is_started_after_the_run_is_recorded(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for name in ("go", "done"):
        os.mkfifo(tmp_path / name)
    late = 'read -r line < go; "$@" > out 2>&1; echo > done'
    start = (
        "import subprocess, sys; from subprocess import DEVNULL as no\n"
        "subprocess.Popen(sys.argv[1:], stdin=no, stdout=no, stderr=no)"
    )

    result = ktrace(
        "run", "-o", "a.bin", "--", sys.executable, "-c", start, "sh", "-c", late, "sh", *saxpy(),
        TMPDIR=str(temporary),
    )  # fmt: skip
    (tmp_path / "go").write_text("\n")
    (tmp_path / "done").read_text()

    (folder,) = temporary.iterdir()
    assert said(result)[0] == (
        f"processes of the run outlive it, and what they start needs {folder}: remove it when "
        "they have ended"
    )
    assert (tmp_path / "out").read_text() == "ok\n"
    assert (tmp_path / "a.bin").read_bytes()[:8] == b"KTRACE\x1a\n"


def test_a_temporary_folder_that_the_loader_cannot_name_is_not_used(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    for name in ("a b", "a:b", "a;b", "$LIB"):
        (tmp_path / name).mkdir()

        result = ktrace("run", "--", *saxpy(), TMPDIR=str(tmp_path / name))

        assert said(result)[0].startswith("recorded 1 dispatch in "), name
