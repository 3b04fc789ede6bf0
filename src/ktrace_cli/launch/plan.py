"""What a run will do: its options, checked, with their meaning."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ktrace_cli.code_object.patterns import check_patterns
from ktrace_cli.errors import UsageError
from ktrace_cli.launch.device import Arch, DeviceChoice
from ktrace_cli.launch.environment import DEFAULT_FOLDER, TraceOptions
from ktrace_cli.launch.filters import (
    LARGEST_NUMBER,
    check_memory,
    check_output,
    check_words,
)
from ktrace_cli.launch.options import RunOptions
from ktrace_cli.launch.periods import NANOSECONDS_BY_UNIT, milliseconds, periods_in_ns
from ktrace_cli.launch.placeholders import facts_of_run, fill_in, unset_variable
from ktrace_cli.launch.selection import check_regexes, iterations
from ktrace_cli.places import parse_blocks, parse_numbers
from ktrace_cli.units import parse_size
from ktrace_cli.wording import listed, nearest

FORMATS = ("bin", "pftrace")
MODES = ("direct", "claim")
FULL = ("saturate", "ring")
ON_FULL = ("drop", "wait")
LEVELS = ("fatal", "error", "warning", "info", "trace")
SHOW_ENVIRONMENT = "env"
MOST_SOFT_DEVICES = 64
_OTHER_WORDS = {"debug": "trace", "verbose": "trace"}  # of other programs, for what is ours


@dataclass(frozen=True)
class RunPlan:
    """One run: what to trace, on what, and what to do besides."""

    trace: TraceOptions
    device: DeviceChoice
    decodes: bool
    """Whether the recordings are decoded at the end."""
    may_replace: bool
    shows_environment: bool


def make_plan(given: RunOptions, command: Sequence[str]) -> RunPlan:
    """Check all options, before anything starts.

    Raises:
        UsageError: one is not understood, or makes no sense with another.
    """
    _check_choices(given)
    _check_combinations(given)
    output, folder = _places(given, command)
    device = DeviceChoice(given.device or DeviceChoice.AUTO.value)
    level = given.log_level or ""
    return RunPlan(
        trace=replace(
            _what(given),
            output=output,
            output_dir=folder,
            log_level=level if level in LEVELS else "",
            soft_arch=given.arch or "",
            soft_devices=_device_count(given.soft_devices),
            soft_check="1" if given.soft_check else "",
        ),
        device=device,
        decodes="pftrace" in given.output_format,
        may_replace=given.force is not None,
        shows_environment=level == SHOW_ENVIRONMENT,
    )


def numbered(plan: RunPlan, number: int) -> RunPlan:
    """Give the run number `number` of several a folder of its own, as rocprofv3 does."""
    folder = f"pass_{number}"
    output, output_dir = plan.trace.output, plan.trace.output_dir
    trace = replace(
        plan.trace,
        output=output.parent / folder / output.name if output else None,
        output_dir=output_dir / folder,
    )
    return replace(plan, trace=trace)


def check_device(given: RunOptions, *, software: bool) -> None:
    """Refuse options of the software device in a run without it.

    Raises:
        UsageError: one was given.
    """
    for option, value in (
        ("--arch", given.arch and f"--arch {given.arch}"),
        ("--soft-devices", given.soft_devices and f"--soft-devices {given.soft_devices}"),
        ("--soft-check", given.soft_check and "--soft-check"),
    ):
        if value is not None and not software:
            raise UsageError(
                f"`{value}` has no meaning here",
                why="it is for the software device, and this run uses the machine's HIP",
                fix=f"leave out `{option}`, or run with `--device soft`",
            )


def _check_choices(given: RunOptions) -> None:
    single: tuple[tuple[str, str | None, Iterable[str]], ...] = (
        ("--device", given.device, (choice.value for choice in DeviceChoice)),
        ("--arch", given.arch, (arch.value for arch in Arch)),
        ("--mode", given.mode, MODES),
        ("--full", given.full, FULL),
        ("--on-full", given.on_full, ON_FULL),
        ("--log-level", given.log_level, (*LEVELS, SHOW_ENVIRONMENT)),
        ("--collection-period-unit", given.collection_period_unit, NANOSECONDS_BY_UNIT),
    )
    for option, value, known in single:
        if value is not None:
            _check_choice(option, value, tuple(known))
    for value in given.output_format:
        _check_choice("--output-format", value, FORMATS)


def _check_choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        meant = nearest(_OTHER_WORDS.get(value, value), known)
        raise UsageError(
            f"cannot read `{option} {value}`",
            why=f"wanted {listed(known)}",
            fix=f"did you mean `{option} {meant}`?" if meant else "write one of them",
        )


def _check_combinations(given: RunOptions) -> None:
    if given.on_full_ms is not None and given.on_full != "wait":
        raise _needs("--on-full-ms", "--on-full wait")
    if given.collection_period_unit is not None and not given.collection_period:
        raise _needs("--collection-period-unit", "--collection-period")
    if given.hang is not None and given.full == "ring":
        raise UsageError(
            "`--hang` and `--full ring` cannot both be",
            why="with --hang every word is written back at once, and a full region keeps the first",
            fix="leave one out; `--words` makes regions larger",
        )


def _needs(option: str, other: str) -> UsageError:
    return UsageError(
        f"`{option}` has no meaning here",
        why=f"it goes with `{other}`, which was not given",
        fix=f"add `{other}`, or leave out `{option}`",
    )


def _places(given: RunOptions, command: Sequence[str]) -> tuple[Path | None, Path]:
    """Return the recording's path, if it was named, and the folder for those that were not."""
    facts = facts_of_run(command, os.environ, time.localtime())
    folder = given.output_directory
    folder = DEFAULT_FOLDER if folder is None else _named("-d", folder, facts)
    if given.output_file is None:
        return None, Path(folder)
    output = Path(_named("-o", given.output_file, facts))
    check_output(output)
    if given.output_directory is None:
        return output, Path(folder)
    if output.is_absolute():
        raise UsageError(
            f"cannot record to {output} in {folder}",
            why="`-o` is a path from the root, so `-d` has no meaning",
            fix="leave out `-d`, or name only the file in `-o`",
        )
    return Path(folder) / output, Path(folder)


def _named(option: str, text: str, facts: Mapping[str, str]) -> str:
    if not text:
        raise UsageError(
            f"`{option}` names nothing",
            why="its value is empty",
            fix=f"write for example `{option} run.bin`" if option == "-o" else "name a folder",
        )
    if text.startswith("="):
        value = text.lstrip("=")
        raise UsageError(
            f"will not record to {text}",
            why=f"after `{option}` the value stands without `=`",
            fix=f"`{option} {value}`, or `{option} ./{text}` if that is its name",
        )
    filled = fill_in(option, text, facts)
    if variable := unset_variable(filled, os.environ):
        raise UsageError(
            f"cannot fill in `{option} {text}`",
            why=f"the variable {variable} is not set",
            fix=f"`export {variable}=…`, or leave `%env{{{variable}}}%` out",
        )
    return filled


def _device_count(text: str | None) -> str:
    if text is None:
        return ""
    if not (text.isdecimal() and 1 <= int(text) <= MOST_SOFT_DEVICES):
        raise UsageError(
            f"cannot read `--soft-devices {text}`",
            why=f"wanted a number from 1 to {MOST_SOFT_DEVICES}",
            fix="write for example `--soft-devices 2`",
        )
    return str(int(text))


def _what(given: RunOptions) -> TraceOptions:
    """Check and write what is recorded, without where."""
    check_patterns(given.kernel)
    check_regexes("--kernel-include-regex", given.kernel_include_regex)
    check_regexes("--kernel-exclude-regex", given.kernel_exclude_regex)
    if given.words is not None:
        check_words(given.words)
    if given.blocks is not None:
        parse_blocks(given.blocks)
    for option, text in (("--waves", given.waves), ("--xcc", given.xcc)):
        if text is not None:
            parse_numbers(option, text, LARGEST_NUMBER)
    return TraceOptions(
        memory=_memory(given.memory),
        words=given.words or "",
        kernels=given.kernel,
        kernel_include=given.kernel_include_regex,
        kernel_exclude=given.kernel_exclude_regex,
        kernel_iterations=iterations(given.kernel_iteration_range),
        periods=periods_in_ns(given.collection_period, given.collection_period_unit or "sec"),
        blocks=given.blocks or "",
        waves=given.waves or "",
        xcc=given.xcc or "",
        mode=given.mode or "",
        full=given.full or "",
        on_full=given.on_full or "",
        on_full_ms=_milliseconds("--on-full-ms", given.on_full_ms, 1, "milliseconds"),
        hang_ms=_milliseconds("--hang", given.hang, 1000, "seconds"),
    )


def _memory(text: str | None) -> str:
    if text is None:
        return ""
    size = parse_size(text)
    check_memory(size)
    return str(size)


def _milliseconds(option: str, text: str | None, per_unit: int, unit: str) -> str:
    return "" if text is None else str(milliseconds(option, text, per_unit=per_unit, unit=unit))
