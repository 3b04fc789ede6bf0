"""The environment of a traced program: mirrors preload/interposer/config.hpp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
SOFT_ARCH = "KTRACE_SOFT_ARCH"


@dataclass(frozen=True)
class TraceOptions:
    """What a run records and where; an empty value leaves the interposer's default."""

    output: Path | None = None
    output_dir: Path = Path("ktrace_out")
    memory: str = ""
    words: str = ""
    kernels: tuple[str, ...] = ()
    blocks: str = ""
    waves: str = ""
    xcc: str = ""
    soft_arch: str = ""
    inherited: Mapping[str, str] = field(default_factory=dict)


def traced_environment(
    options: TraceOptions, session: Session, version: str, *, software_device: bool
) -> dict[str, str]:
    """Build the program's environment: the user's, in order, behind ours.

    LD_PRELOAD and LD_LIBRARY_PATH keep the user's entries after ktrace's own.
    """
    environment = dict(options.inherited)
    preloads = [session.interposer]
    if software_device:
        preloads.append(session.software_device)
        library_folder = session.software_device.parent
        _prepend(environment, "LD_LIBRARY_PATH", [library_folder])
        environment["ROCM_PATH"] = environment["HIP_PATH"] = str(session.rocm)
    _prepend(environment, "LD_PRELOAD", preloads)
    ours = {
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
        SOFT_ARCH: options.soft_arch,
    }
    return environment | {name: value for name, value in ours.items() if value}


def _prepend(environment: dict[str, str], name: str, paths: list[Path]) -> None:
    inherited = environment.get(name, "")
    environment[name] = ":".join([*map(str, paths), *([inherited] if inherited else [])])
