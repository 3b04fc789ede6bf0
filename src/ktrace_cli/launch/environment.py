"""The environment of a traced program: mirrors preload/interposer/config.hpp."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ktrace_cli.flydsl_live.switches import flydsl_environment
from ktrace_cli.launch.native import Session

SESSION_DIR = "KTRACE_SESSION_DIR"
VERSION = "KTRACE_VERSION"
OUTPUT = "KTRACE_OUTPUT"
OUTPUT_DIR = "KTRACE_OUTPUT_DIR"
MEMORY = "KTRACE_MEMORY"
WORDS = "KTRACE_WORDS"
KERNELS = "KTRACE_KERNELS"
BLOCKS = "KTRACE_BLOCKS"
WAVES = "KTRACE_WAVES"
XCC = "KTRACE_XCC"
KERNEL_INCLUDE = "KTRACE_KERNEL_INCLUDE"
KERNEL_EXCLUDE = "KTRACE_KERNEL_EXCLUDE"
KERNEL_ITERATIONS = "KTRACE_KERNEL_ITERATIONS"
PERIODS = "KTRACE_PERIODS"
MODE = "KTRACE_MODE"
FULL = "KTRACE_FULL"
ON_FULL = "KTRACE_ON_FULL"
ON_FULL_MS = "KTRACE_ON_FULL_MS"
HANG_MS = "KTRACE_HANG_MS"
LOG_LEVEL = "KTRACE_LOG_LEVEL"
SOFT_ARCH = "KTRACE_SOFT_ARCH"
SOFT_DEVICES = "KTRACE_SOFT_DEVICES"
SOFT_CHECK = "KTRACE_SOFT_CHECK"

DEFAULT_FOLDER = "ktrace_out"


@dataclass(frozen=True)
class TraceOptions:
    """What a run records and where, as the interposer reads it; "" leaves its default."""

    output: Path | None = None
    output_dir: Path = Path(DEFAULT_FOLDER)
    memory: str = ""
    words: str = ""
    kernels: tuple[str, ...] = ()
    blocks: str = ""
    waves: str = ""
    xcc: str = ""
    kernel_include: tuple[str, ...] = ()
    kernel_exclude: tuple[str, ...] = ()
    kernel_iterations: str = ""
    periods: str = ""
    mode: str = ""
    full: str = ""
    on_full: str = ""
    on_full_ms: str = ""
    hang_ms: str = ""
    log_level: str = ""
    soft_arch: str = ""
    soft_devices: str = ""
    soft_check: str = ""
    inherited: Mapping[str, str] = field(default_factory=dict)


def traced_environment(
    options: TraceOptions, session: Session, version: str, *, software_device: bool
) -> dict[str, str]:
    """Build the program's environment: the user's, in order, behind ours.

    LD_PRELOAD, LD_LIBRARY_PATH and PYTHONPATH keep the user's entries after ktrace's own.
    """
    environment = dict(options.inherited)
    preloads = [session.interposer]
    if software_device:
        preloads.append(session.software_device)
        library_folder = session.software_device.parent
        _prepend(environment, "LD_LIBRARY_PATH", [library_folder])
        environment["ROCM_PATH"] = environment["HIP_PATH"] = str(session.rocm)
        if "PATH" in environment:
            _prepend(environment, "PATH", [session.rocm / "bin"])
    _prepend(environment, "LD_PRELOAD", preloads)
    environment |= flydsl_environment(environment, session.python)
    ours = _ours(options, session, version)
    return environment | {name: value for name, value in ours.items() if value}


def _ours(options: TraceOptions, session: Session, version: str) -> dict[str, str]:
    return {
        SESSION_DIR: str(session.folder),
        VERSION: version,
        OUTPUT: str(options.output.absolute()) if options.output else "",
        OUTPUT_DIR: str(options.output_dir.absolute()),
        MEMORY: options.memory,
        WORDS: options.words,
        KERNELS: "\n".join(options.kernels),
        BLOCKS: options.blocks,
        WAVES: options.waves,
        XCC: options.xcc,
        KERNEL_INCLUDE: "\n".join(options.kernel_include),
        KERNEL_EXCLUDE: "\n".join(options.kernel_exclude),
        KERNEL_ITERATIONS: options.kernel_iterations,
        PERIODS: options.periods,
        MODE: options.mode,
        FULL: options.full,
        ON_FULL: options.on_full,
        ON_FULL_MS: options.on_full_ms,
        HANG_MS: options.hang_ms,
        LOG_LEVEL: options.log_level,
        SOFT_ARCH: options.soft_arch,
        SOFT_DEVICES: options.soft_devices,
        SOFT_CHECK: options.soft_check,
    }


def changes(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """List what differs from our own environment, by name."""
    return sorted(
        (name, value) for name, value in environment.items() if os.environ.get(name) != value
    )


def _prepend(environment: dict[str, str], name: str, paths: list[Path]) -> None:
    inherited = environment.get(name, "")
    environment[name] = ":".join([*map(str, paths), *([inherited] if inherited else [])])
