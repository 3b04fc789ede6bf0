"""`tests/fuzz/run.py`: what a driver counted and how long it took, also of one that failed."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "fuzz" / "run.py"


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("fuzz_run", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_run"] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("program", "trials"),
    [
        ("print('12 trials'); print('         3  answer 0')", 12),
        ("print('#7 DONE'); print('Done 40 runs in 2 second(s)')", 40),
        ("print('12 trials'); raise SystemExit(1)", None),
        ("print('         3  trials of an outcome')", None),
        ("import os; print('12 trials', flush=True); os.abort()", None),
    ],
)
def test_trials_are_those_of_a_driver_that_succeeded(
    runner: ModuleType, capfd: pytest.CaptureFixture[str], program: str, trials: int | None
) -> None:
    command = [sys.executable, "-c", program]
    assert runner.run_counted(command, dict(os.environ), None) == trials
    assert capfd.readouterr().out  # passed on


def test_the_table_has_seeds_trials_and_seconds_and_names_what_failed(
    runner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = runner.Outcome("fuzz_containers", 7, 1234, 40.06, True)
    stopped = runner.Outcome("fuzz_hip_calls", 7, None, 3.0, False)
    assert runner.tell([passed, stopped]) == 1
    assert [line.split() for line in capsys.readouterr().out.splitlines() if line] == [
        ["driver", "first", "seed", "trials", "seconds", "ended"],
        ["fuzz_containers", "7", "1234", "40.1", "as", "it", "should"],
        ["fuzz_hip_calls", "7", "-", "3.0", "failed"],
        ["failed:", "fuzz_hip_calls"],
    ]
    assert runner.tell([passed]) == 0
