"""What jobs of every CI have: a checkout, variables, bash, artifacts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.ktrace_command import ROOT
from support.pytest_ktrace import WITHOUT_HYPOTHESIS

_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")


@dataclass(frozen=True)
class Machine:
    """What a job runs on, and why."""

    folder: Path
    """For everything that the job leaves; must not exist."""
    install: bool = False
    """False: what installs is left out, and the installation at hand is used."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Stand in for those of the job."""
    is_main: bool = False
    """What starts the job: a push to main, else a pull or merge request."""
    kept: Path | None = None
    """Where a job of main keeps what those of requests read."""
    commit: str = "0123456789abcdef0123456789abcdef01234567"
    """What its name is, as the CI says."""

    @property
    def work(self) -> Path:
        """The checkout."""
        return self.folder / "work"

    @property
    def artifacts(self) -> Path:
        """What is kept of the job."""
        return self.folder / "artifacts"


@dataclass(frozen=True)
class Done:
    """What became of a job."""

    failed: str
    """The step or line of the script that failed; empty: none."""
    status: int
    """Of that."""
    output: str
    artifacts: Path
    summary: str
    """What GitHub shows of GITHUB_STEP_SUMMARY, and GitLab's artifact of the same."""


def environment(machine: Machine) -> dict[str, str]:
    """Return the variables that every CI has, and a PATH on which there is ktrace."""
    ours = ("PYTEST", "PYTHONPATH", "KTRACE") if machine.install else ("PYTEST",)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    programs = Path(sys.executable).parent
    if machine.install:
        subprocess.run([sys.executable, "-m", "venv", machine.folder / "python"], check=True)
        programs = machine.folder / "python" / "bin"
    elif not (programs / "ktrace").exists():
        programs = _commands_of_a_source_tree(machine.folder / "commands")
    path = {"PATH": f"{programs}:{kept['PATH']}"}
    return {**kept, **WITHOUT_HYPOTHESIS, **path, "CI": "true", "COLUMNS": "120"}


def _commands_of_a_source_tree(folder: Path) -> Path:
    # Where tests run on a source tree, nothing installed a command, or headers that it would name.
    folder.mkdir()
    include = ROOT / "preload" / "include"
    python = f'exec "{sys.executable}"'
    for name, line in {
        "python": f'{python} "$@"',
        "python3": f'{python} "$@"',
        "pytest": f'{python} -m pytest "$@"',
        "ktrace": f'[ "$1 $2" = "config --cflags" ] && exec echo -I{include} -DKTRACE_ENABLE\n'
        f'{python} -m ktrace_cli "$@"',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return folder


def check_out(repository: Path, machine: Machine, depth: int) -> None:
    """Clone the last `depth` commits, or all if it is 0."""
    option = [f"--depth={depth}"] if depth else []
    git(machine.folder, "clone", "--quiet", *option, repository.as_uri(), str(machine.work))


def keep(paths: Sequence[str], machine: Machine) -> None:
    """Make artifacts of what there is of `paths`."""
    for path in paths:
        if (machine.work / path).exists():
            shutil.copytree(machine.work / path, machine.artifacts / path)


def bash(
    script: str, machine: Machine, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a script in the checkout, until a command fails."""
    return subprocess.run(
        [*_BASH, script],
        cwd=machine.work,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    """Return what git says."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
