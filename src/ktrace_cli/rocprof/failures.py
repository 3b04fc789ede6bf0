"""What goes wrong with rocprofv3: one table of what it says, what it means and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ktrace_cli.errors import KtraceError
from ktrace_cli.rocprof.tool import Outcome

FULL: Final = "thread trace buffer full"


@dataclass(frozen=True)
class _Known:
    said: str
    why: str
    fix: str


_FATAL: Final = (
    _Known(
        "rocprof-trace-decoder library path not found",
        "the decoder of thread traces is missing: librocprof-trace-decoder.so",
        "install the rocprof-trace-decoder package, or name its folder with `--decoder DIR`",
    ),
    _Known(
        "INVALID_SHADER_DATA",
        "the decoder does not understand what this driver's aqlprofile wrote",
        "install rocprof-trace-decoder and rocprofiler-sdk of one release of ROCm",
    ),
    _Known(
        "Error loading decoder",
        "the decoder of thread traces cannot be loaded",
        "install the rocprof-trace-decoder of this release of ROCm",
    ),
    _Known(
        "conflicting value",
        "an option has two values: an environment variable of rocprofv3 sets one of them",
        "unset variables that begin with ROCPROF_",
    ),
    _Known(
        "exceeds the hardware limits",
        "the counters of one pass do not fit the hardware",
        "name fewer with `--counters`",
    ),
)
_LOSSES: Final = (
    (
        FULL,
        "the trace buffer was full before the kernel ended: the rest of it is missing"
        " (`--max-buffer`, or a smaller problem)",
    ),
    (
        "data lost",
        "the profiler lost part of the trace, as too much came at once: totals lack it (fewer"
        " shader engines: `--shader-engines 0x1`)",
    ),
    ("wave incomplete", "the trace ended before some waves did: their times are cut short"),
    (
        "stitch incomplete",
        "some instructions could not be matched to the code: their times are missing",
    ),
)  # fmt: skip


def losses_in(outcome: Outcome) -> list[str]:
    """Return what rocprofv3 said that it lost."""
    return [words for said, words in _LOSSES if outcome.said(said)]


def fatal_in(outcome: Outcome) -> KtraceError | None:
    """Return the failure that rocprofv3 told of, None if it told of none."""
    for known in _FATAL:
        if line := outcome.said(known.said):
            return KtraceError(
                "rocprofv3 collected nothing", why=f"{known.why} ({line})", fix=known.fix
            )
    if line := outcome.said("fatal error"):
        return KtraceError(
            "rocprofv3 collected nothing",
            why=line,
            fix=f"see {outcome.folder / 'rocprofv3.log'}",
        )
    return None


def ending_of(status: int) -> str:
    """Say how a program ended; "" if it ended well."""
    if status > 128:
        return f"signal {status - 128} ended the program"
    return f"the program exited with {status}" if status else ""


def nothing_collected(outcome: Outcome, wanted: str) -> KtraceError:
    """Return the error for a run without output.

    Args:
        outcome: of the run.
        wanted: what should be there.
    """
    if fatal := fatal_in(outcome):
        return fatal
    ended = ending_of(outcome.status)
    return KtraceError(
        f"rocprofv3 wrote no {wanted}",
        why=f"{ended} before rocprofv3 wrote it" if ended else "the program launched no kernel",
        fix=f"run the program without ktrace, and see {outcome.folder / 'rocprofv3.log'}",
    )
