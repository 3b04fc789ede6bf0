"""A report as Markdown for the summary of a job in CI: the verdict first, and of limited size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ktrace_cli.analysis.markdown import to_markdown
from ktrace_cli.analysis.report import Block, Column, Heading, Line, Name, Table
from ktrace_cli.errors import KtraceError
from ktrace_cli.report.facts import devices_of
from ktrace_cli.report.markup import in_full
from ktrace_cli.report.results import Outcome, Report
from ktrace_cli.report.verdicts import comparison_blocks, overall_text, verdict_text
from ktrace_cli.units import format_duration

MOST_BYTES = 1 << 20
"""Of one step of GitHub Actions."""
_CUT = "- cut here, as a step's summary holds 1 MiB: the report's pages have the rest\n"


def step_summary(report: Report, room: int = MOST_BYTES) -> str:
    """Return GitHub's Markdown.

    Args:
        report: what to tell.
        room: most bytes; whole sentences and rows are left out at the end, and that is said.
    """
    text = to_markdown(list(_blocks(report)))
    data = text.encode(errors="replace")
    if len(data) <= room:
        return data.decode()
    kept = max(room - len(_CUT) - 1, 0)
    whole_lines = data[: data.rfind(b"\n", 0, kept) + 1]
    return (whole_lines.decode() + "\n" + _CUT) if room > len(_CUT) else ""


def append_summary(report: Report, path: Path) -> bool:
    """Append to a file, and tell whether all of it has found room there.

    Raises:
        KtraceError: it cannot be written.
    """
    whole = step_summary(report)
    with _opened(path) as out:
        written = step_summary(report, max(MOST_BYTES - out.tell(), 0))
        out.write(written.encode())
    return written == whole


def check_file(path: Path) -> None:
    """Find out early whether a file can be appended to.

    Raises:
        KtraceError: it cannot.
    """
    with _opened(path):
        pass


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("ab") as out:
            yield out
    except OSError as problem:
        raise KtraceError(
            f"cannot write {path}",
            why=problem.strerror or str(problem),
            fix="name a file that can be written to by `--step-summary`",
        ) from problem


def _blocks(report: Report) -> Iterator[Block]:
    yield Heading((f"{overall_text(report)} (", Name(report.frame.title), ")"))
    yield Table(_COLUMNS, tuple(_row(outcome) for outcome in report.outcomes))
    for outcome in report.outcomes:
        text = verdict_text(outcome)
        said = tuple(map(_escaped, text)) if outcome.problem else text
        yield Heading((Name(outcome.page.title), ": ", *said))
        if outcome.problem and outcome.problem.fix:
            yield Line(("try: ", _escaped(outcome.problem.fix)))
        if outcome.comparison and report.frame.base:
            for block in comparison_blocks(outcome, report.frame.base, report.frame.top):
                if isinstance(block, Heading):
                    yield Line(("kernel ", *block.text))
                else:
                    yield block
        for recorded in outcome.readable:
            for loss in recorded.losses:
                yield Line(("missing in ", Name(recorded.page.title), ": ", _escaped(loss)))


def _escaped(text: str | Name) -> str | Name:
    """Let what files and paths hold mean nothing but itself."""
    if isinstance(text, Name):
        return text
    return re.sub(r"([\\`*_\[\]<>#|~!&])", r"\\\1", in_full(text))


_COLUMNS = (
    Column("run", is_number=False, is_name=True),
    Column("verdict", is_number=False),
    Column("kernels", is_number=False, is_name=True),
    Column("device", is_number=False),
    Column("dispatches"),
    Column("duration"),
    Column("data", is_number=False),
)


def _row(outcome: Outcome) -> tuple[str, ...]:
    verdict = outcome.verdict.value if outcome.verdict else "not compared"
    if outcome.problem:
        verdict = "no verdict" if outcome.readable else "not read"
    found = outcome.readable
    kernels = dict.fromkeys(name for one in found for name in one.kernel_names)
    devices = dict.fromkeys(devices_of(one) for one in found)
    return (
        outcome.page.title,
        verdict,
        ", ".join(kernels),
        ", ".join(devices),
        f"{sum(one.dispatches for one in found):,}",
        ", ".join(format_duration(one.span_ns) for one in found[:1]) if len(found) == 1 else "",
        "complete" if found and all(one.is_complete for one in found) else "incomplete",
    )
