"""A report as JSON, for programs; its keys are a promise. docs/reference/cli-report.md has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ktrace_cli.analysis.report import Name, Text
from ktrace_cli.report.facts import date_of
from ktrace_cli.report.results import Base, Outcome, Recorded, Report, Unreadable
from ktrace_cli.report.run_page import DIFF, SUMMARY
from ktrace_cli.report.site import FORMAT
from ktrace_cli.report.traces import Imported
from ktrace_cli.report.verdicts import exit_status, overall_text, verdict_text

SCHEMA_VERSION = 1


def report_document(report: Report, files: Sequence[str]) -> dict[str, Any]:
    """Return the document.

    Args:
        report: what it is about.
        files: all of the site.
    """
    return {
        "format": FORMAT,
        "schema": SCHEMA_VERSION,
        "title": report.frame.title,
        "result": overall_text(report),
        "exit_status": int(exit_status(report)),
        "baseline": _base(report.frame.base) if report.frame.base else None,
        "runs": [_outcome(outcome) for outcome in report.outcomes],
        "files": sorted(files),
    }


def _base(base: Base) -> dict[str, Any]:
    return {
        "files": list(base.names),
        "runs": len(base.runs),
        "fail_on": [rule.text for rule in base.request.rules],
        "largest_noise": base.noise[0].part if base.noise else None,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    problem = outcome.problem
    return {
        "name": outcome.page.title,
        "path": str(outcome.plan.given),
        "page": outcome.page.path,
        "verdict": outcome.verdict.value if outcome.verdict else None,
        "result": plain(verdict_text(outcome)),
        "problem": (
            {"what": problem.what, "why": problem.why, "fix": problem.fix} if problem else None
        ),
        "diff": f"{outcome.page.folder}/{DIFF}" if outcome.comparison else None,
        "recordings": [_recording(one) for one in outcome.recordings],
    }


def _recording(one: Recorded | Imported | Unreadable) -> dict[str, Any]:
    place = {"path": str(one.path), "page": one.page.path}
    if isinstance(one, Unreadable):
        return {**place, "is_read": False}
    if isinstance(one, Imported):
        return {
            **place,
            "is_read": True,
            "tool": one.format,
            "kernels": one.kernel_names,
            "dispatches": one.dispatches,
            "span_ns": one.span_ns,
        }
    summary, file = one.summary, one.timeline.file
    process = summary.process
    return {
        **place,
        "is_read": True,
        "summary": f"{one.page.folder}/{SUMMARY}",
        "timeline": f"{one.page.folder}/{file}" if file else None,
        "kernels": one.kernel_names,
        "targets": list(dict.fromkeys(device.target for device in summary.devices)),
        "modelled_time": summary.quality.is_modelled,
        "dispatches": one.dispatches,
        "span_ns": one.span_ns,
        "date": date_of(process.realtime_ns) if process and process.realtime_ns else None,
        "losses": dict(summary.losses),
    }


def plain(text: Text) -> str:
    """Return a sentence with its names in backticks."""
    return "".join(f"`{part.text}`" if isinstance(part, Name) else part for part in text)
