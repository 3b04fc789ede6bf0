"""Runs a job as GitHub Actions would, step by step.

A step is a shell of its own. After one that failed only those run that say so. Of actions and
conditions only what the samples use is known: anything else fails the test.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.ci_machine import Done, Machine, bash, check_out, environment, keep

INSTALL = "Install"
Step = Mapping[str, Any]


def run_workflow(workflow: Mapping[Any, Any], repository: Path, machine: Machine) -> Done:
    """Run the only job of a workflow on the last commit."""
    (job,) = workflow["jobs"].values()
    assert job["defaults"] == {"run": {"shell": "bash"}}
    variables = _variables(workflow["env"], machine)
    failed, status, output = "", 0, ""
    for step in job["steps"]:
        if not _is_due(step, machine, has_failed=bool(failed)):
            continue
        if "uses" in step:
            _act(step, repository, machine)
            continue
        ran = bash(step["run"], machine, _with_added_paths(variables))
        output += ran.stdout
        if ran.returncode and not failed:
            failed, status = step["name"], ran.returncode
    summary = Path(variables["GITHUB_STEP_SUMMARY"]).read_text()
    return Done(failed, status, output, machine.artifacts, summary)


def _variables(own: Mapping[str, Any], machine: Machine) -> dict[str, str]:
    files = {name: machine.folder / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
    for path in files.values():
        path.touch()
    return {
        **environment(machine),
        **{name: str(value) for name, value in own.items()},
        **{name: str(path) for name, path in files.items()},
        "RUNNER_TEMP": str(machine.folder),
        "GITHUB_REPOSITORY": "team/kernels",
        "GITHUB_SHA": machine.commit,
        **machine.variables,
    }


def _with_added_paths(variables: Mapping[str, str]) -> dict[str, str]:
    added = Path(variables["GITHUB_PATH"]).read_text().split()
    return {**variables, "PATH": ":".join([*reversed(added), variables["PATH"]])}


def _is_due(step: Step, machine: Machine, *, has_failed: bool) -> bool:
    if step.get("name") == INSTALL and not machine.install:
        return False
    condition = step.get("if", "success()")
    return {
        "success()": not has_failed,
        "${{ !cancelled() }}": True,
        "github.event_name == 'push'": machine.is_main and not has_failed,
        "github.event_name == 'pull_request'": not machine.is_main and not has_failed,
    }[condition]


def _act(step: Step, repository: Path, machine: Machine) -> None:
    options = step.get("with", {})
    match step["uses"]:
        case "actions/checkout@v4":
            check_out(repository, machine, options.get("fetch-depth", 1))
        case "actions/setup-python@v5":
            assert options == {"python-version": "3.12"}  # the one at hand will do
        case "actions/upload-artifact@v4":
            keep(options["path"].split(), machine)
        case "actions/cache/save@v4":
            assert machine.kept
            assert options["key"].startswith("ktrace-main-")
            shutil.copy(machine.work / options["path"], machine.kept)
        case "actions/cache/restore@v4":
            assert machine.kept
            assert options["restore-keys"] == "ktrace-main-"
            assert options["fail-on-cache-miss"]
            shutil.copy(machine.kept / Path(options["path"]).name, machine.work / options["path"])
        case other:
            raise AssertionError(other)
