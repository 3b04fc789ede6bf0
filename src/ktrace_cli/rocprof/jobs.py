"""Job files for rocprofv3. It drops keys that it does not know without a word: none is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ktrace_cli.errors import UsageError
from ktrace_cli.launch.selection import check_regexes

Job = Mapping[str, Any]

KNOWN_KEYS: Final = frozenset(
    {
        "pmc", "kernel_trace", "kernel_include_regex", "kernel_iteration_range",
        "output_directory", "output_file", "output_format",
        "advanced_thread_trace", "att_target_cu", "att_shader_engine_mask", "att_simd_select",
        "att_buffer_size", "att_gpu_index", "att_library_path",
    }
)  # fmt: skip
"""Names that rocprofv3's options have inside of it. None of them has a value unless one is given:
it refuses jobs that set another one."""
_FILE: Final = (
    "%pid%"  # each process has files of its own: rocprofv3 would write one over the other
)
_RANGE: Final = re.compile(r"\d+(-\d+)?")


@dataclass(frozen=True)
class ThreadTrace:
    """What of a kernel is traced instruction by instruction."""

    kernel: str = ""
    """A pattern of kernel names; "": the first launch of every kernel."""
    iteration: str = "2"
    """Which launches of it, from 1: `3` or `3-5`."""
    compute_unit: int = 1
    """Of each shader engine."""
    shader_engines: int = 0xF
    """A mask."""
    simds: int = 0xF
    """A mask."""
    gpus: str = ""
    """Indices with commas between; "": all."""
    decoder: Path | None = None
    """Where the decoder's library is."""

    def check(self) -> None:
        """Refuse what makes no job.

        Raises:
            UsageError: the pattern or the launches cannot be read.
        """
        iteration_range(self.iteration)
        expression_of(self.kernel)


def thread_trace_job(wanted: ThreadTrace, folder: Path, buffer_size: int) -> Job:
    """Return a job that traces instructions.

    Kernels are traced beside it: which were launched tells why none was chosen.
    """
    job: dict[str, Any] = {
        "advanced_thread_trace": True,
        "kernel_trace": True,
        "att_target_cu": wanted.compute_unit,
        "att_shader_engine_mask": hex(wanted.shader_engines),
        "att_simd_select": hex(wanted.simds),
        "att_buffer_size": hex(buffer_size),
        "kernel_iteration_range": iteration_range(wanted.iteration),
        **_filter(wanted.kernel),
        **_place(folder, ["json", "csv"]),
    }
    if wanted.gpus:
        job["att_gpu_index"] = wanted.gpus
    if wanted.decoder is not None:
        job["att_library_path"] = [str(wanted.decoder.resolve())]
    return job


def counter_job(counters: Sequence[str], kernel: str, folder: Path) -> Job:
    """Return a job that counts in one pass."""
    return {"pmc": list(counters), **_filter(kernel), **_place(folder, ["csv"])}


def kernel_trace_job(folder: Path) -> Job:
    """Return a job that tells when kernels run."""
    return {"kernel_trace": True, **_place(folder, ["csv"])}


def write_job(job: Job, path: Path) -> None:
    """Write a job as a file of its own."""
    unknown = sorted(set(job) - KNOWN_KEYS)
    if unknown:
        raise AssertionError(f"rocprofv3 would drop {unknown}")
    path.write_text(json.dumps({"jobs": [job]}, indent=2) + "\n", encoding="utf-8")


def iteration_range(text: str) -> str:
    """Return `[2]` or `[[3-5]]`, as rocprofv3 reads them.

    Raises:
        UsageError: it is no number or range, or begins with 0: launches are counted from 1.
    """
    first, _, last = text.partition("-")
    if not _RANGE.fullmatch(text) or int(first) < 1 or int(last or first) < int(first):
        raise UsageError(
            f"cannot read `--iteration {text}`",
            why="wanted a launch of the kernel, counted from 1, or a range of them",
            fix="write for example `--iteration 2` or `--iteration 3-5`",
        )
    return f"[[{text}]]" if last else f"[{text}]"


def parse_mask(option: str, text: str) -> int:
    """Read a mask such as `0xf` or `15`.

    Raises:
        UsageError: it is none, or has no bit.
    """
    match = re.fullmatch(r"0[xX]([0-9a-fA-F]{1,8})|(\d{1,9})", text)
    value = (int(match[1], 16) if match[1] else int(match[2])) if match else 0
    if not value:
        raise UsageError(
            f"cannot read `{option} {text}`",
            why="wanted a mask with at least one bit, of 32",
            fix=f"write for example `{option} 0xf`",
        )
    return value


def expression_of(pattern: str) -> str:
    """Return the regular expression that rocprofv3 shall look for in a kernel's signature."""
    if len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/"):
        check_regexes("--kernel", [pattern[1:-1]])
        return pattern[1:-1]
    body = "".join(_piece(piece) for piece in re.findall(r"\\.|\[[^]]+\]|.", pattern))
    return f"(^|[ :]){body}($|[<(. ])"


def _piece(piece: str) -> str:
    if piece in ("*", "?"):
        return f".{piece}".removesuffix("?")
    if len(piece) > 2:
        return piece.replace("[!", "[^", 1)
    return piece if len(piece) > 1 else re.sub(r"([.^$|()\[\]{}+\\])", r"\\\1", piece)


def _filter(kernel: str) -> dict[str, str]:
    return {"kernel_include_regex": expression_of(kernel)} if kernel else {}


def _place(folder: Path, formats: list[str]) -> dict[str, Any]:
    return {
        "output_directory": str(folder.resolve()),
        "output_file": _FILE,
        "output_format": formats,
    }
