"""`@pytest.mark.ktrace`: a test whose kernels are too slow fails, and so does one not measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ktrace_command import ROOT, Done, ktrace_command
from support.pytest_ktrace import failure, run_pytest, write_tests

_GEMM = f"""
sys.path.insert(0, {str(ROOT / "samples/gemm")!r})
import run

@pytest.fixture
def gemm(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py", "--size", "128", "--launches", "1"])
    return run.main

"""
_LOSSY = """
def test_lossy(gemm):
    gemm()
"""
_MARKED = """

def test_others_before():
    launch(3)

@pytest.mark.ktrace(max={"round": "450ns"}, p50={"saxpy:round": "0.5us"}, min_count={"done": 1})
def test_fast():
    launch(1)

@pytest.mark.ktrace(max={"round": "400ns"})
@pytest.mark.ktrace(mean={"round": 1}, unit="ns")
def test_slow():
    launch(1)

@pytest.mark.ktrace(max={"round": 100}, unit="cycles")
def test_cycles():
    launch(1)

@pytest.mark.ktrace(min_count={"round": 1000})
def test_few():
    launch(1)

@pytest.mark.ktrace(max={"rund": "1s"})
def test_misspelt():
    launch(1)

@pytest.mark.ktrace(max={"round": "1s"}, kernel="gemm")
def test_other_kernel():
    launch(1)

@pytest.mark.ktrace(max={"done": "1s"})
def test_mark():
    launch(1)

@pytest.mark.ktrace(max={"round": "1s"})
def test_nothing():
    pass

@pytest.mark.ktrace(max={"round": "1s"})
def test_elsewhere():
    child = os.fork()
    if child == 0:
        launch(1)
        os._exit(0)
    os.waitpid(child, 0)

@pytest.mark.ktrace(maximum={"round": "1s"})
def test_unknown_argument():
    launch(1)

@pytest.mark.ktrace(max={"round": "1ns"})
def test_wrong_anyway():
    launch(1)
    assert "its own" == "failure"

@pytest.mark.xfail(strict=True)
@pytest.mark.ktrace(max={"round": "1ns"})
def test_known_to_be_slow():
    launch(1)
"""


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("marked")
    write_tests(folder, _MARKED)
    return run_pytest(folder, "-q", "--ktrace", "--ktrace-device", "soft")


def test_tests_that_keep_their_limits_pass(marked: Done) -> None:
    assert marked.returncode == 1
    assert "10 failed, 2 passed, 1 xfailed" in marked.stdout
    assert failure(marked, "test_fast") == ""


def test_each_limit_that_is_not_kept_is_said_with_the_longest_occurrence(marked: Done) -> None:
    assert failure(marked, "test_slow") == (
        "ktrace: limits are not met (times are modelled: software device)\n"
        "  saxpy: `round`: mean 412 ns, limit 1 ns (16 times: p50 411 ns, max 412 ns);"
        " the longest in dispatch 5 (launch 5), workgroup 0,0,0, wave 1\n"
        "  saxpy: `round`: max 412 ns, limit 400 ns (16 times: p50 411 ns);"
        " the longest in dispatch 5 (launch 5), workgroup 0,0,0, wave 1"
    )


def test_limits_in_cycles_are_compared_in_cycles(marked: Done) -> None:
    assert "saxpy: `round`: max 864 cy, limit 100 cy" in failure(marked, "test_cycles")


def test_a_phase_that_is_there_too_seldom_fails_the_test(marked: Done) -> None:
    assert failure(marked, "test_few").endswith(
        "  saxpy: `round` occurred 16 times, wanted 1,000 or more"
    )


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (
            "test_misspelt",
            "`rund` never occurred in saxpy: did you mean `round`? phases there: done, round",
        ),
        ("test_other_kernel", "no launch of a kernel 'gemm'; launched: saxpy"),
        ("test_mark", "saxpy: `done` is a mark and takes no time: it can only have a min_count"),
        ("test_nothing", "no annotated kernel was recorded: 0 launches in this process;"),
        ("test_elsewhere", "programs that it starts have recordings of their own"),
        ("test_unknown_argument", "cannot read `@pytest.mark.ktrace(maximum=…)`"),
    ],
)
def test_what_was_not_measured_fails_with_the_reason(marked: Done, test: str, said: str) -> None:
    assert said in failure(marked, test)


def test_a_test_that_fails_by_itself_says_only_that(marked: Done) -> None:
    assert "ktrace: " not in failure(marked, "test_wrong_anyway")
    assert "its own" in failure(marked, "test_wrong_anyway")


def test_losses_fail_the_test(tmp_path: Path) -> None:
    write_tests(tmp_path, _GEMM + '@pytest.mark.ktrace(max={"round": "1s"})' + _LOSSY)
    run = ktrace_command("run", "--device", "soft", "--words", "32", "-o", "run.bin", "--")

    done = run_pytest(tmp_path, "-q", "--ktrace", before=tuple(run))

    assert done.returncode == 1
    assert failure(done, "test_lossy").startswith("ktrace: limits could not be checked\n")
    assert "did not fit their wave's region" in failure(done, "test_lossy")


def test_launches_that_options_left_out_fail_the_test(tmp_path: Path) -> None:
    write_tests(
        tmp_path, '@pytest.mark.ktrace(max={"round": "1s"})\ndef test_filtered():\n    launch(2)\n'
    )
    run = ktrace_command("run", "--device", "soft", "--kernel", "gemm", "--")

    done = run_pytest(tmp_path, "-q", "--ktrace", before=tuple(run))

    assert failure(done, "test_filtered") == (
        "ktrace: limits could not be checked\n"
        "  no annotated kernel was recorded: 2 launches,"
        " of which the options of `ktrace run` left out 2"
    )


def test_kernels_are_told_apart_by_name(tmp_path: Path) -> None:
    write_tests(
        tmp_path,
        _GEMM
        + """
@pytest.mark.ktrace(max={"gemm:round": "1ns", "saxpy:round": "1us", "gemm<64, 32>:mma": "1us"})
def test_both(gemm):
    gemm()
    launch(1)
""",
    )

    done = run_pytest(tmp_path, "-q", "--ktrace")

    lines = failure(done, "test_both").splitlines()
    assert len(lines) == 2, done.stdout + done.stderr
    assert lines[1].startswith("  gemm<64, 32>: `round`: max ")
