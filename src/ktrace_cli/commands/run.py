"""`ktrace run`: launch a program under the interposer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer

from ktrace_cli import console
from ktrace_cli.commands import run_options as options
from ktrace_cli.errors import ExitStatus
from ktrace_cli.launch.device import DeviceChoice, is_software
from ktrace_cli.launch.environment import changes
from ktrace_cli.launch.options import RunOptions, combined
from ktrace_cli.launch.plan import RunPlan, check_device, make_plan, numbered
from ktrace_cli.launch.program import Program, find_program
from ktrace_cli.launch.report import notes, recordings, result_line, warnings
from ktrace_cli.launch.run import RunResult, refuse_places, run_traced


def run(
    command: options.Command,
    output_file: options.OutputFile = None,
    output_directory: options.OutputDirectory = None,
    force: options.Force = False,
    output_format: options.OutputFormat = None,
    kernel: options.Kernel = None,
    kernel_include_regex: options.KernelIncludeRegex = None,
    kernel_exclude_regex: options.KernelExcludeRegex = None,
    kernel_iteration_range: options.KernelIterationRange = None,
    collection_period: options.CollectionPeriod = None,
    collection_period_unit: options.CollectionPeriodUnit = None,
    blocks: options.Blocks = None,
    waves: options.Waves = None,
    xcc: options.Xcc = None,
    memory: options.Memory = None,
    words: options.Words = None,
    mode: options.Mode = None,
    full: options.Full = None,
    on_full: options.OnFull = None,
    on_full_ms: options.OnFullMs = None,
    hang: options.Hang = None,
    device: options.Device = None,
    arch: options.Arch = None,
    soft_devices: options.SoftDevices = None,
    soft_check: options.SoftCheck = False,
    input_file: options.InputFile = None,
    log_level: options.LogLevel = None,
) -> None:
    """Run PROGRAM and record its annotated kernels.

    Options of ktrace come before PROGRAM; all that follows is its own, byte for byte.

    Exits with its status; with 125 if ktrace failed, 126 or 127 if it could not be started.
    """
    given = _given(locals())
    jobs = [given] if input_file is None else _jobs_of(input_file, given)
    raise typer.Exit(_run_jobs(jobs, command))


def _given(arguments: Mapping[str, Any]) -> RunOptions:
    """Take each option from the parameter of its name; a flag is the text that stands in a job."""
    values: dict[str, Any] = {}
    for field in fields(RunOptions):
        if (value := arguments[field.name]) is not None:
            values[field.name] = tuple(value) if isinstance(value, list) else value
    for flag in ("force", "soft_check"):
        values[flag] = "yes" if values[flag] else None
    return RunOptions(**values)


def _jobs_of(file: Path, given: RunOptions) -> list[RunOptions]:
    from ktrace_cli.launch.jobs import read_jobs  # noqa: PLC0415 - most runs need no YAML

    return [combined(given, job) for job in read_jobs(file)]


def _run_jobs(jobs: Sequence[RunOptions], command: Sequence[str]) -> int:
    """Check everything, then run one job after the other until a program fails."""
    plans = [make_plan(job, command) for job in jobs]
    if len(plans) > 1:
        plans = [numbered(plan, number) for number, plan in enumerate(plans, 1)]
    software = [is_software(plan.device) for plan in plans]
    for job, plan, is_soft in zip(jobs, plans, software, strict=True):
        check_device(job, software=is_soft)
        refuse_places(plan.trace, may_replace=plan.may_replace)
    program = find_program(command)
    if any(
        is_soft and plan.device is DeviceChoice.AUTO
        for plan, is_soft in zip(plans, software, strict=True)
    ):
        console.say("no AMD GPU here: using the software device, whose times are modelled")
    if program.not_preloadable:
        console.warn(
            f"the interposer cannot be loaded into {program.path}: {program.not_preloadable}; "
            "it runs untraced"
        )
    status = 0
    for number, (plan, is_soft) in enumerate(zip(plans, software, strict=True), 1):
        if len(plans) > 1:
            console.say(f"job {number} of {len(plans)}")
        status = _run_job(plan, program, software_device=is_soft)
        if status and number < len(plans):
            console.warn(f"job {number} returned {status}: {len(plans) - number} more not run")
        if status:
            break
    return status


def _run_job(plan: RunPlan, program: Program, *, software_device: bool) -> int:
    result = run_traced(
        program,
        plan.trace,
        version("ktrace"),
        software_device=software_device,
        replace_output=plan.may_replace,
        before_start=_show_environment if plan.shows_environment else None,
    )
    for line in warnings(result):
        console.warn(line)
    for line in notes(result):
        console.say(line)
    console.say(result_line(result, names_next=not plan.decodes))
    if plan.decodes:
        _decode(result)
    if result.status == 0 and any(process.output_failed for process in result.processes):
        return ExitStatus.RUN_FAILED
    return result.status


def _show_environment(environment: Mapping[str, str]) -> None:
    for name, value in changes(environment):
        console.say(f"{name}={value}")


def _decode(result: RunResult) -> None:
    from ktrace_cli.commands.decode import decode_recording  # noqa: PLC0415 - slow to load

    for recording in recordings(result):
        decode_recording(recording)
