"""`pytest --ktrace`: the same pytest, traced, and a section for each test."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ktrace_cli.trace_file.sections import read_sections
from support.ktrace_command import ktrace_command, run_ktrace
from support.pytest_ktrace import ending, recordings, run_pytest, write_tests

TWO_TESTS = """
@pytest.fixture(scope="module")
def warm():
    launch(1)

def test_two(warm):
    launch(2)

def test_none():
    pass

def test_three():
    launch(3)
"""
_NOTHING_SAID = ("-q", "--ktrace", "--ktrace-device", "soft")


def test_each_phase_of_each_test_is_a_section(tmp_path: Path) -> None:
    write_tests(tmp_path, TWO_TESTS)

    done = run_pytest(tmp_path, *_NOTHING_SAID)

    (recording,) = recordings(tmp_path)
    found = [
        (s.test, s.phase, s.outcome, s.first, s.launches)
        for s in read_sections(recording)
        if s.launches
    ]
    assert done.returncode == 0
    assert found == [
        ("test_it.py::test_two", "setup", "passed", 1, 1),
        ("test_it.py::test_two", "call", "passed", 2, 2),
        ("test_it.py::test_three", "call", "passed", 4, 3),
    ]


def test_the_end_says_what_each_test_launched_and_what_to_do_next(tmp_path: Path) -> None:
    write_tests(tmp_path, TWO_TESTS)

    done = run_pytest(tmp_path, *_NOTHING_SAID)

    assert ending(done) == [
        "ktrace_out/PYTHON.bin: 6 dispatches, SIZE",
        "test_it.py::test_two: 3 dispatches of saxpy, longest phase `round`: 32.9 % of wave time",
        "test_it.py::test_three: 3 dispatches of saxpy, longest phase `round`: 32.9 % of wave time",
        "next: `ktrace summary ktrace_out/PYTHON.bin --section test_it.py::test_two`",
    ]


def test_a_section_is_selected_by_its_test_and_phase(tmp_path: Path) -> None:
    write_tests(tmp_path, TWO_TESTS)
    run_pytest(tmp_path, *_NOTHING_SAID)
    (recording,) = recordings(tmp_path)

    def dispatches(*sections: str) -> int:
        options = [word for each in sections for word in ("--section", each)]
        done = run_ktrace(tmp_path, "summary", "--json", recording, *options)
        return int(json.loads(done.stdout)["kernels"][0]["dispatches"])

    assert dispatches("test_two") == 3
    assert dispatches("test_it.py::test_two::call") == 2
    assert dispatches("test_two::setup", "test_th*") == 4
    assert dispatches("*") == 6


def test_a_section_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    write_tests(tmp_path, TWO_TESTS)
    run_pytest(tmp_path, *_NOTHING_SAID)
    (recording,) = recordings(tmp_path)

    done = run_ktrace(tmp_path, "decode", "-f", "text", recording, "--section", "test_four")
    empty = run_ktrace(tmp_path, "decode", "-f", "text", recording, "--section", "test_none")

    assert (done.returncode, done.stdout, empty.returncode) == (2, "", 2)
    assert done.stderr.splitlines() == [
        "ktrace: error: `--section test_four` selects nothing",
        f"  why: tests with launches in {recording}: test_it.py::test_two, test_it.py::test_three",
        "  try: name one of these, or a shell pattern",
    ]
    assert "why: 1 test of that name launched nothing in the process of" in empty.stderr


def test_pytest_gets_the_arguments_that_were_given(tmp_path: Path) -> None:
    write_tests(
        tmp_path, "def test_arguments():\n    print('ARGUMENTS', sys.orig_argv[1:], sys.argv[1:])\n"
    )
    odd = os.fsdecode(b"$HOME\n '*' \xef")
    given = ["-q", "-s", "--ktrace", "--ktrace-out", odd, "-k", "arguments  or no"]

    done = run_pytest(tmp_path, *given)

    seen = ["-p", "no:cacheprovider", *given]
    assert f"ARGUMENTS {['-m', 'pytest', *seen]} {seen}" in done.stdout


def test_stdout_and_the_exit_status_are_pytests_own(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_failing():\n    print('printed')\n    assert 1 == 2\n")

    plain = run_pytest(tmp_path, "-p", "no:terminal", "-s")
    traced = run_pytest(tmp_path, "-p", "no:terminal", "-s", "--ktrace")
    nothing = run_pytest(tmp_path, "-q", "--ktrace", "-k", "no_such_test")

    assert (plain.returncode, traced.returncode, nothing.returncode) == (1, 1, 5)
    assert traced.stdout == plain.stdout == "printed\n"


def test_it_runs_once_under_a_ktrace_that_is_there_already(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_one():\n    launch(1)\n")
    run = ktrace_command("run", "--device", "soft", "-o", "run.bin", "--")

    done = run_pytest(tmp_path, "-q", "--ktrace", before=tuple(run))

    assert done.returncode == 0
    assert done.stderr.count("recorded 1 dispatch in run.bin") == 1
    assert [s.launches for s in read_sections(tmp_path / "run.bin")] == [0, 1, 0]


def test_options_that_the_ktrace_around_it_contradicts_are_refused(tmp_path: Path) -> None:
    run = ktrace_command("run", "--device", "soft", "-d", "here", "--")

    folder = run_pytest(tmp_path, "--ktrace", "--ktrace-out", "there", before=tuple(run))
    device = run_pytest(tmp_path, "--ktrace", "--ktrace-device", "hardware", before=tuple(run))

    assert (folder.returncode, device.returncode) == (4, 4)
    assert "`--ktrace-out there` has no meaning here" in folder.stderr
    assert "`--ktrace-device hardware` has no meaning here" in device.stderr


def test_recordings_go_where_they_are_asked_for(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_one():\n    launch(1)\n")

    done = run_pytest(tmp_path, "-q", "--ktrace", "--ktrace-out", "out/of it")

    assert done.returncode == 0
    assert len(list((tmp_path / "out/of it").glob("*.bin"))) == 1
    assert len(list((tmp_path / "out/of it").glob("*.bin.sections.jsonl"))) == 1


def test_a_program_that_calls_pytest_is_not_started_again(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_one():\n    launch(1)\n")
    program = tmp_path / "program.py"
    program.write_text("import pytest, sys\nprint('once')\nsys.exit(pytest.main(['--ktrace']))\n")

    done = run_pytest(tmp_path, before=(sys.executable, program))

    assert done.returncode == 4
    assert done.stdout.count("once") == 1
    assert f"why: it was called by a program, {program}" in done.stderr


def test_without_the_option_the_plugin_loads_nothing_of_ktrace(tmp_path: Path) -> None:
    write_tests(
        tmp_path,
        """
def test_modules():
    loaded = {name for name in sys.modules if name.startswith("ktrace_cli")}
    assert loaded == {
        "ktrace_cli", "ktrace_cli.pytest_plugin", "ktrace_cli.pytest_plugin.names"
    }

@pytest.mark.ktrace(max={"round": "1ns"})
def test_marked():
    pass

@pytest.mark.ktrace(max={"round": "1ns"}, require=True)
def test_required():
    pass
""",
    )

    done = run_pytest(tmp_path, "-q", "-rs", "--strict-markers")

    assert (done.returncode, done.stderr) == (0, "")
    assert "2 passed, 1 skipped" in done.stdout
    assert "needs `pytest --ktrace`" in done.stdout
    assert not (tmp_path / "ktrace_out").exists()


def test_a_request_for_help_or_for_the_list_of_tests_is_not_traced(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_one():\n    launch(1)\n")

    shown = run_pytest(tmp_path, "--ktrace", "--help")
    listed = run_pytest(tmp_path, "--ktrace", "--collect-only", "-q")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "--ktrace-device" in shown.stdout
    assert "test_it.py::test_one" in listed.stdout
