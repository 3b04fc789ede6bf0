"""The jobs of samples/ci, and a repository to run them in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from support.ci_github import run_workflow
from support.ci_gitlab import run_pipeline
from support.ci_machine import Done, Machine, git
from support.ktrace_command import ROOT

CI = ROOT / "samples" / "ci"
IGNORED = "*.co\n*.o\n*.s\n__pycache__/\nktrace/\nsite/\n"


def load_job(job: str) -> dict[Any, Any]:
    """Read a file of samples/ci."""
    document: dict[Any, Any] = yaml.safe_load((CI / job).read_text())
    return document


def run_job(job: str, repository: Path, machine: Machine) -> Done:
    """Check the last commit out, and run the only job of a file of samples/ci."""
    machine.folder.mkdir()
    run = run_workflow if job.startswith("github/") else run_pipeline
    return run(load_job(job), repository, machine)


def make_repository(folder: Path) -> Path:
    """Make the repository of samples/ci/project, with one commit."""
    shutil.copytree(CI / "project", folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "samples" / "minimal_hip", folder / "minimal_hip")
    (folder / ".gitignore").write_text(IGNORED)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "config", "user.name", "A. Author")
    git(folder, "config", "user.email", "author@example.com")
    commit(folder, "Begin")
    return folder


def commit(repository: Path, message: str) -> None:
    """Commit everything."""
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", message)
