"""Runs a job as GitLab would: the lines of its script share a shell, up to the first that fails."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.ci_machine import Done, Machine, bash, check_out, environment, git, keep


def run_pipeline(pipeline: Mapping[str, Any], repository: Path, machine: Machine) -> Done:
    """Run the only job of a pipeline on the last commit."""
    ((name, job),) = pipeline.items()
    check_out(repository, machine, int(job["variables"].get("GIT_DEPTH", 20)))
    variables = {
        **environment(machine),
        **job["variables"],
        **_variables(name, repository, machine),
        **machine.variables,
    }
    before = job["before_script"] if machine.install else []
    ran = bash("\n".join(map(_announced, [*before, *job["script"]])), machine, variables)
    assert job["artifacts"]["when"] == "always"
    keep(job["artifacts"]["paths"], machine)
    if machine.is_main and machine.kept:
        _publish(machine, machine.kept)
    failed = ran.stdout.rpartition("\n$ ")[2].partition("\n")[0] if ran.returncode else ""
    summary = machine.artifacts / "ktrace" / "summary.md"
    text = summary.read_text() if summary.exists() else ""
    return Done(failed, ran.returncode, ran.stdout, machine.artifacts, text)


def _announced(line: str) -> str:
    first = line.strip().partition("\n")[0]
    return f"printf '\\n$ %s\\n' {shlex.quote(first)}\n{line}"


def _variables(name: str, repository: Path, machine: Machine) -> dict[str, str]:
    return {
        "CI_PIPELINE_SOURCE": "push" if machine.is_main else "merge_request_event",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(repository, "rev-parse", "HEAD~1").strip(),
        "CI_DEFAULT_BRANCH": "main",
        "CI_PROJECT_PATH": "team/kernels",
        "CI_COMMIT_SHA": machine.commit,
        "CI_JOB_NAME": name,
        "CI_JOB_TOKEN": "token",
        "CI_PROJECT_ID": "1",
        "CI_API_V4_URL": (machine.kept or machine.folder).as_uri(),  # curl reads files as well
    }


def _publish(machine: Machine, kept: Path) -> None:
    # Where GitLab's API has the artifacts of a branch's last job.
    raw = kept / "projects/1/jobs/artifacts/main/raw"
    shutil.copytree(machine.artifacts, raw, dirs_exist_ok=True)
