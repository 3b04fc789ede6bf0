"""What `run` was asked for: the options of the command line, or one job of an input file.

All values are texts, as they were written; `plan` gives them their meaning. The fields are the keys
of a job, and the long options with `-` for `_`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ktrace_cli.errors import UsageError


@dataclass(frozen=True)
class RunOptions:
    """Options as given; None, or no element, where one was not."""

    output_file: str | None = None
    output_directory: str | None = None
    output_format: tuple[str, ...] = ()
    force: str | None = None
    device: str | None = None
    arch: str | None = None
    soft_devices: str | None = None
    soft_check: str | None = None
    kernel: tuple[str, ...] = ()
    kernel_include_regex: tuple[str, ...] = ()
    kernel_exclude_regex: tuple[str, ...] = ()
    kernel_iteration_range: tuple[str, ...] = ()
    collection_period: tuple[str, ...] = ()
    collection_period_unit: str | None = None
    blocks: str | None = None
    waves: str | None = None
    xcc: str | None = None
    memory: str | None = None
    words: str | None = None
    mode: str | None = None
    full: str | None = None
    on_full: str | None = None
    on_full_ms: str | None = None
    hang: str | None = None
    log_level: str | None = None


def option_of(key: str) -> str:
    """Write a key of a job as the option that it is: `--kernel-include-regex`."""
    return f"--{key.replace('_', '-')}"


def combined(command_line: RunOptions, job: RunOptions) -> RunOptions:
    """Take every option from where it was given.

    Raises:
        UsageError: one was given in both places, with different values.
    """
    chosen = {}
    for field in fields(RunOptions):
        ours, theirs = getattr(command_line, field.name), getattr(job, field.name)
        if ours and theirs and ours != theirs:
            option = option_of(field.name)
            raise UsageError(
                f"`{option}` has two values",
                why=f"{_shown(ours)} on the command line and {_shown(theirs)} in the input file",
                fix=f"leave out `{option}`, or `{field.name}` in the file",
            )
        if ours:
            chosen[field.name] = ours
    return replace(job, **chosen)


def _shown(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else " ".join(value)
