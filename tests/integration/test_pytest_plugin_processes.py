"""`pytest --ktrace` where tests run in several processes, or end theirs."""

from __future__ import annotations

import sys
from pathlib import Path

from ktrace_cli.trace_file.sections import read_sections
from support.ktrace_command import run_ktrace
from support.pytest_ktrace import ending, recordings, run_pytest, write_tests

CRASH = """
def test_crash():
    launch(2)
    os.kill(os.getpid(), signal.SIGKILL)
"""
FORK_EACH = """
import os, pytest
from _pytest import runner

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    child = os.fork()
    if child == 0:
        reports = runner.runtestprotocol(item, log=False)
        os._exit(0 if all(report.passed for report in reports) else 1)
    assert os.waitpid(child, 0)[1] == 0
    return True
"""


def launched(folder: Path) -> dict[str, int | None]:
    """Return how often each test launched, over all recordings."""
    sections = [s for path in recordings(folder) for s in read_sections(path)]
    return {s.test: s.launches for s in sections if s.launches != 0}


def test_workers_have_recordings_and_sections_of_their_own(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_one():\n    launch(1)\n", "test_a.py")
    write_tests(tmp_path, "def test_two():\n    launch(2)\n", "test_b.py")

    done = run_pytest(tmp_path, "-q", "-n", "2", "--dist", "each", "--ktrace")

    # Each of the two workers runs both tests; the process that hands them out records nothing.
    assert done.returncode == 0
    assert len(recordings(tmp_path)) == 2
    for recording in recordings(tmp_path):
        sections = [(s.test, s.launches) for s in read_sections(recording) if s.launches]
        assert sections == [("test_a.py::test_one", 1), ("test_b.py::test_two", 2)]
    assert len(ending(done)) == 7


def test_a_worker_that_crashes_leaves_the_section_that_it_crashed_in(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_before():\n    launch(1)\n" + CRASH)

    done = run_pytest(tmp_path, "-q", "-n", "1", "--ktrace")

    (recording,) = recordings(tmp_path)
    summary = run_ktrace(tmp_path, "summary", recording, "--section", "test_crash")
    assert done.returncode == 1
    assert launched(tmp_path) == {"test_it.py::test_before": 1, "test_it.py::test_crash": None}
    assert "saxpy: 2 dispatches" in summary.stdout


def test_a_worker_that_crashes_in_its_first_test_leaves_a_section_too(tmp_path: Path) -> None:
    write_tests(tmp_path, CRASH)

    done = run_pytest(tmp_path, "-q", "-n", "1", "--ktrace")

    assert launched(tmp_path) == {"test_it.py::test_crash": None}
    assert ending(done)[1:] == [
        "test_it.py::test_crash: 2 dispatches of saxpy, longest phase `round`: 32.9 % of wave time",
        "next: `ktrace summary ktrace_out/PYTHON.bin --section test_it.py::test_crash`",
    ]


def test_a_pytest_that_crashes_leaves_the_sections_before(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_before():\n    launch(1)\n" + CRASH)

    done = run_pytest(tmp_path, "-q", "--ktrace")

    assert done.returncode == 137
    assert launched(tmp_path) == {"test_it.py::test_before": 1, "test_it.py::test_crash": None}


def test_tests_that_run_in_a_child_each_have_a_recording_with_their_section(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(FORK_EACH)
    write_tests(
        tmp_path,
        """
def test_one():
    launch(1)

@pytest.mark.ktrace(max={"round": "1us"}, min_count={"round": 32})
def test_two():
    launch(2)
""",
    )

    done = run_pytest(tmp_path, "-q", "--ktrace")

    assert done.returncode == 0
    assert len(recordings(tmp_path)) == 2
    assert launched(tmp_path) == {"test_it.py::test_one": 1, "test_it.py::test_two": 2}


def test_what_a_test_starts_has_a_recording_of_its_own_and_no_section(tmp_path: Path) -> None:
    write_tests(
        tmp_path,
        """
def test_forking():
    child = os.fork()
    if child == 0:
        launch(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    launch(2)
""",
    )

    done = run_pytest(tmp_path, "-q", "--ktrace")

    lines = ending(done)
    assert sorted(lines[:2]) == [
        "ktrace_out/PYTHON.bin: 1 dispatch, SIZE; of a program that a test started: in no section",
        "ktrace_out/PYTHON.bin: 2 dispatches, SIZE",
    ]


def test_a_run_without_launches_leaves_no_file(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_nothing():\n    pass\n")

    done = run_pytest(tmp_path, "-q", "-n", "1", "--ktrace")

    assert done.returncode == 0
    assert ending(done) == []
    assert not (tmp_path / "ktrace_out").exists()


def test_a_worker_that_does_not_run_under_ktrace_refuses(tmp_path: Path) -> None:
    write_tests(tmp_path, "def test_one():\n    launch(1)\n")
    worker = (
        "import os, pytest; os.environ['PYTEST_XDIST_WORKER'] = 'gw0'; pytest.main(['--ktrace'])"
    )

    done = run_pytest(tmp_path, before=(sys.executable, "-c", worker))

    assert "--ktrace: this process does not run under ktrace" in done.stderr
    assert not (tmp_path / "ktrace_out").exists()


def test_sections_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    write_tests(
        tmp_path,
        """
def test_one():
    launch(1)
    (recording,) = Path("ktrace_out").glob("*.bin")
    recording.with_name(recording.name + ".sections.jsonl").mkdir()
""",
    )

    done = run_pytest(tmp_path, "-q", "--ktrace")

    assert done.returncode == 0
    assert ending(done)[0] == (
        "ktrace_out/PYTHON.bin: 1 dispatch, SIZE; its sections could not be written: Is a directory"
    )
