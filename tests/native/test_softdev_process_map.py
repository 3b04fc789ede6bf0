"""What a process has mapped: one question after one mapping and the whole map say the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.old_linux import build_library, old_linux
from support.preloaded import ROOT

SUPPORT = ROOT / "tests" / "support"
SOFTDEV = ROOT / "preload" / "softdev"
NONE, READABLE, WRITABLE, WITHHELD = range(4)
KINDS = {
    "null": NONE,
    "heap": WRITABLE,
    "private": WRITABLE,
    "shared": WRITABLE,
    "memfd": WRITABLE,
    "file": WITHHELD,
    "read_only": READABLE,
    "closed": NONE,
    "hole": NONE,
    "variable": WITHHELD,
    "stack": WITHHELD,
    "thread's_stack": WITHHELD,
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = (SUPPORT / "process_map_answers.cpp", SOFTDEV / "core" / "process_map.cpp")
    path = tmp_path_factory.mktemp("answers") / "answers.so"
    return build_library(path, *sources, f"-I{SOFTDEV}")


def probed(answers: Path, **environment: str) -> tuple[list[str], str]:
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "process_map_probe.py"), str(answers)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines(), done.stderr


def test_one_mapping_and_the_whole_map_have_the_same_answers(answers: Path) -> None:
    *kinds, differences = probed(answers)[0]

    if kinds[1] == f"heap {NONE} {WRITABLE}":
        pytest.skip("Linux before 6.11 has no questions after one mapping")
    assert kinds == [f"{kind} {answer} {answer}" for kind, answer in KINDS.items()]
    count, different = differences.split(" addresses, different:")
    assert (int(count) > 100, different) == (True, "")


def test_an_older_linux_has_no_answer_for_one_mapping(answers: Path, tmp_path: Path) -> None:
    (*kinds, _), errors = probed(answers, LD_PRELOAD=str(old_linux(tmp_path)))

    assert kinds == [f"{kind} {NONE} {answer}" for kind, answer in KINDS.items()]
    assert "queries refused: " in errors
    assert "queries refused: 0" not in errors
