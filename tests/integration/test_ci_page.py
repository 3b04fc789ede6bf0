"""docs/ci.md and the jobs that it shows."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.ci_jobs import CI, make_repository
from support.ci_machine import Machine, bash, check_out, environment
from support.ktrace_command import ROOT

PAGE = ROOT / "docs" / "ci.md"


def blocks(language: str) -> list[str]:
    """Return what the page shows of a language, in order."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [str(block) for block in found]


def test_the_page_shows_parts_of_the_jobs_as_they_are() -> None:
    jobs = [path.read_text() for path in sorted(CI.glob("git*/*.yml"))]

    missing = [block for block in blocks("yaml") if not any(block in job for job in jobs)]

    assert (len(jobs), len(blocks("yaml"))) == (6, 5)
    assert missing == []


def test_every_job_and_page_that_the_page_names_exists_and_every_job_is_named() -> None:
    named = [path.partition("#")[0] for path in re.findall(r"\]\(([^)]+)\)", PAGE.read_text())]

    assert [path for path in named if path and not (PAGE.parent / path).exists()] == []
    jobs = {f"../samples/ci/{path.relative_to(CI)}" for path in CI.glob("git*/*.yml")}
    assert jobs - set(named) == set()


def test_the_commands_of_the_page_work_one_after_the_other(tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    machine = Machine(tmp_path / "machine")
    machine.folder.mkdir()
    check_out(make_repository(tmp_path / "repository"), machine, depth=1)

    variables = environment(machine)

    for block in blocks("sh"):
        done = bash(block, machine, variables)
        assert done.returncode == 0, f"{textwrap.indent(block, '  ')}\n{done.stdout}"

    assert len(blocks("sh")) == 3
    assert "mainloop" in (machine.work / "new.html").read_text()


@pytest.mark.parametrize(
    ("schema", "folder"), [("vendor.github-workflows", "github"), ("vendor.gitlab-ci", "gitlab")]
)
def test_jobs_are_what_the_schema_of_their_ci_allows(schema: str, folder: str) -> None:
    if not importlib.util.find_spec("check_jsonschema"):
        pytest.skip("check-jsonschema is not installed")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]

    done = subprocess.run(
        [*command, *sorted((CI / folder).glob("*.yml"))],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.strip()) == (0, "ok -- validation done"), done.stderr
