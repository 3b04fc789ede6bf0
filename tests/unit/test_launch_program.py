"""Finding and running the user's program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.program import find_program, held_signals, run_program


def run(*command: str) -> int:
    with held_signals() as mask:
        return run_program(find_program(command), os.environ, mask)


def python(code: str, *arguments: str) -> int:
    return run(sys.executable, "-c", code, *arguments)


def refused(*command: str) -> KtraceError:
    with pytest.raises(KtraceError) as problem:
        run(*command)
    return problem.value


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


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


def test_the_programs_own_name_is_its_first_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a shell: what was typed, or where a bare name was found."""
    (tmp_path / "bin").mkdir()
    found = script(tmp_path / "bin" / "show", '#!/bin/sh\nprintf "%s\\n" "$0" >> seen\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    for name in (str(found), "./bin/show", "bin/show", "show"):
        run(name)

    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen == [str(found), "./bin/show", "bin/show", str(found)]


def test_a_script_without_a_first_line_runs_in_the_shell(tmp_path: Path) -> None:
    program = script(tmp_path / "plain", 'echo "$0 $#" > "$1"\nexit 4\n')

    status = run(str(program), str(tmp_path / "seen"), "b c")

    assert status == 4
    assert (tmp_path / "seen").read_text() == f"{program} 2\n"


def test_a_script_in_a_folder_with_spaces_and_colons_runs(tmp_path: Path) -> None:
    folder = tmp_path / "a b:c"
    folder.mkdir()

    assert run(str(script(folder / "my program", "#!/bin/sh\nexit 6\n"))) == 6


def test_an_interpreter_that_is_a_script_is_followed(tmp_path: Path) -> None:
    outer = script(tmp_path / "outer", '#!/bin/sh\nshift\nexit "$1"\n')
    inner = script(tmp_path / "inner", f"#!{outer}\n")

    assert run(str(inner), "9") == 9


@pytest.mark.parametrize(
    ("name", "status", "why", "fix"),
    [
        ("no-such-program-anywhere", 127, "there is no such program",
         "check the spelling and PATH"),
        ("./no-such-program", 127, "there is no such program", "check the path"),
        ("./", 126, "it is a folder", "name a program in it"),
        ("./script.sh", 126, "it is not executable",
         "run it through its interpreter, or `chmod +x ./script.sh`"),
        ("./foreign", 126, "Exec format error",
         "check that it is built for this machine, or name its interpreter"),
        ("./lost", 126, "its interpreter /no/such/python3 does not exist",
         "install it, or name another interpreter before the program"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_in_words(
    name: str, status: int, why: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.sh").write_text("#!/bin/sh\n")
    script(tmp_path / "foreign", "").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    script(tmp_path / "lost", "#!/no/such/python3 -u\n")

    problem = refused(name)

    assert (problem.what, problem.status) == (f"cannot run {name}", status)
    assert (problem.why, problem.fix) == (why, fix)


def test_the_child_neither_holds_nor_ignores_what_we_do(tmp_path: Path) -> None:
    """Python ignores SIGPIPE and SIGXFSZ, which would change how the program ends."""
    seen = tmp_path / "status"

    run("sh", "-c", f"grep -E 'Sig(Blk|Ign)' /proc/self/status > {seen}")

    _, blocked, _, ignored = seen.read_text().split()
    assert blocked == "0" * 16
    assert int(ignored, 16) >> (signal.SIGPIPE - 1) & 1 == 0
    assert int(ignored, 16) >> (signal.SIGXFSZ - 1) & 1 == 0


def test_signals_that_only_we_get_are_handed_on(tmp_path: Path) -> None:
    """In a process of its own: pytest's other threads would take the signals."""
    code = (
        "import os, sys\n"
        "from ktrace_cli.launch.program import find_program, held_signals, run_program\n"
        "with held_signals() as mask:\n"
        "    print(run_program(find_program(sys.argv[1:]), os.environ, mask))"
    )
    child = "trap 'exit 5' {0}; kill -s {0} $PPID; while :; do read -r _ < fifo; done"
    os.mkfifo(tmp_path / "fifo")

    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
        done = subprocess.run(
            [sys.executable, "-c", code, "bash", "-c", child.format(name)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (name, done.returncode, done.stdout, done.stderr) == (name, 0, "5\n", "")


def test_a_parent_that_ignores_ended_children_changes_nothing() -> None:
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "os.execv(sys.executable, [sys.executable, '-c', sys.argv[1], 'sh', '-c', 'exit 3'])"
    )
    runner = (
        "import os, sys\n"
        "from ktrace_cli.launch.program import find_program, held_signals, run_program\n"
        "with held_signals() as mask:\n"
        "    print(run_program(find_program(sys.argv[1:]), os.environ, mask))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, runner], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "3\n"
