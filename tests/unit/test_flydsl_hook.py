"""The hook that each Python of a run loads: it waits for FlyDSL's names, and disturbs nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ktrace_cli.flydsl_live.switches import HOOK, flydsl_environment, put_hook

STAND_IN = Path(__file__).parents[1] / "support/flydsl_stand_in"
MERGE = "from flydsl.expr.ktrace_common import merge_names; merge_names({'load': 1})\n"


def run(folder: Path, program: str, *more: Path, **environment: str) -> str:
    """Run a program with the hook; return what it wrote, errors included."""
    session = folder / "session"
    session.mkdir()
    hook = put_hook(session)
    path = os.pathsep.join(map(str, (hook, *more, STAND_IN)))
    variables = {"PYTHONPATH": path, "KTRACE_SESSION_DIR": str(session), **environment}
    done = subprocess.run(
        [sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def names(folder: Path) -> list[dict[str, object]]:
    files = sorted((folder / "session").glob("flydsl.*.json"))
    return [json.loads(file.read_text()) for file in files]


def test_names_are_written_down_whenever_they_change(tmp_path: Path) -> None:
    said = run(tmp_path, MERGE + "merge_names({'mma': 2})")

    assert said == ""
    assert names(tmp_path) == [
        {"tool": "flydsl", "version": "0.5.0", "names": {"load": 1, "mma": 2}}
    ]


def test_a_child_of_fork_has_names_of_its_own(tmp_path: Path) -> None:
    run(tmp_path, MERGE + "import os\nif os.fork() == 0: os._exit(0)\nos.wait()")

    assert [each["names"] for each in names(tmp_path)] == [{"load": 1}, {"load": 1}]


def test_a_module_that_is_only_looked_for_is_still_watched_later(tmp_path: Path) -> None:
    look = "import importlib.util\nimportlib.util.find_spec('flydsl.expr.ktrace_common')\n"
    run(tmp_path, look + MERGE)

    assert len(names(tmp_path)) == 1


def test_another_sitecustomize_runs_as_if_ours_was_not_there(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys; sys.stdout.write('other ')")

    program = "import sys, sitecustomize; print(sitecustomize.__file__, *sys.path)"
    said = run(tmp_path, program, other)

    assert said.startswith(f"other {other}/sitecustomize.py ")
    assert str(tmp_path / "session/python") not in said


def test_a_program_without_flydsl_imports_nothing_more(tmp_path: Path) -> None:
    program = "import sys; print(sorted(sys.modules)); print(len(sys.meta_path))"
    without = subprocess.run(
        [sys.executable, "-c", program], env={}, capture_output=True, text=True, check=True
    ).stdout

    modules, finders = run(tmp_path, program).splitlines()

    loaded, before = (set(text.strip("[]").split(", ")) for text in (modules, without))
    assert loaded - before <= {"'sitecustomize'", "'zipimport'"}
    assert int(finders) == int(without.splitlines()[-1]) + 1
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("version", "words"),
    [("0.4.2", ""), ("0.5.7", ""), ("0.6.0", "FlyDSL 0.6.0 is not one that ktrace knows")],
)
def test_other_versions_are_said_and_tried(version: str, words: str, tmp_path: Path) -> None:
    said = run(tmp_path, MERGE, STAND_IN_VERSION=version)

    assert (said == "") == (words == "")
    assert words in said
    assert names(tmp_path)[0]["version"] == version


def test_a_version_that_keeps_names_elsewhere_is_said(tmp_path: Path) -> None:
    package = tmp_path / "newer/flydsl/expr"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("__version__ = '0.9'")
    (package / "ktrace_common.py").write_text("TABLE = {}")

    said = run(tmp_path, "import flydsl.expr.ktrace_common", tmp_path / "newer")

    assert said.startswith("ktrace: warning: FlyDSL 0.9 keeps its names elsewhere: ")
    assert names(tmp_path) == []


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    usual = flydsl_environment({}, tmp_path)

    assert usual == {
        "FLYDSL_KTRACE_ENABLE": "1",
        "FLYDSL_KTRACE_BUFFER_BYTES": "268435456",
        "PYTHONPATH": str(tmp_path),
    }
    told = {"FLYDSL_KTRACE_BUFFER_BYTES": "4096", "PYTHONPATH": "/theirs"}
    assert flydsl_environment(told, tmp_path) == {
        "FLYDSL_KTRACE_ENABLE": "1",
        "FLYDSL_KTRACE_BUFFER_BYTES": "4096",
        "PYTHONPATH": f"{tmp_path}:/theirs",
    }
    assert flydsl_environment({"FLYDSL_KTRACE_ENABLE": "0"}, tmp_path) == {}


def test_a_run_within_a_run_has_two_hooks_that_do_not_ask_each_other_forever(
    tmp_path: Path,
) -> None:
    (tmp_path / "outer").mkdir()
    said = run(tmp_path, MERGE, put_hook(tmp_path / "outer"))

    assert said == ""
    assert names(tmp_path)[0]["names"] == {"load": 1}


def test_a_python_2_imports_as_before() -> None:
    found = shutil.which("python2.7")
    # A version manager's stub of that name may stand for no Python at all.
    if found is None or subprocess.run([found, "-c", ""], env={}, check=False).returncode:
        pytest.skip("no Python 2 here")
    python = found
    hook = str(HOOK.parent)
    variables = {"PYTHONPATH": hook, "KTRACE_SESSION_DIR": hook, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, "-c", "import json; print(1)"], env=variables, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("1\n", "")
