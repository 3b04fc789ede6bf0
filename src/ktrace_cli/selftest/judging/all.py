"""All checks, in their order."""

from __future__ import annotations

from ktrace_cli.selftest.judging.bounds import judge_bounds
from ktrace_cli.selftest.judging.clocks import judge_clocks
from ktrace_cli.selftest.judging.copies import judge_copies
from ktrace_cli.selftest.judging.costs import judge_costs
from ktrace_cli.selftest.judging.launches import judge_launches
from ktrace_cli.selftest.judging.measured import Measured
from ktrace_cli.selftest.judging.polling import judge_polling
from ktrace_cli.selftest.judging.records import judge_records
from ktrace_cli.selftest.judging.xcc import judge_xcc
from ktrace_cli.selftest_file.result import Check, MarkerCost


def judge(measured: Measured) -> tuple[tuple[Check, ...], tuple[MarkerCost, ...]]:
    """Return all checks, and what markers cost."""
    cost_check, costs = judge_costs(measured)
    return (
        judge_bounds(measured),
        judge_records(measured),
        judge_clocks(measured),
        judge_xcc(measured),
        cost_check,
        judge_polling(measured, costs),
        judge_launches(measured),
        judge_copies(measured),
    ), costs
