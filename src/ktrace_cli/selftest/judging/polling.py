"""Poll against drain: markers that wait for their clock alone are right, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from ktrace_cli.selftest.judging.costs import SAID, judge_costs
from ktrace_cli.selftest.judging.measured import Judgement, Measured, skipped
from ktrace_cli.selftest.judging.records import judge_records
from ktrace_cli.selftest_file.result import Check, MarkerCost, State
from ktrace_cli.units import significant

NAME = "poll_clock"


def judge_polling(measured: Measured, drained: Sequence[MarkerCost]) -> Check:
    """Judge kernels that were built with KTRACE_POLL_CLOCK; `drained` is what others cost."""
    if measured.polling is None:
        return skipped(NAME, "left out by `--quick`")
    records = judge_records(measured.polling)
    loops, costs = judge_costs(measured.polling)
    judgement = Judgement(NAME)
    for text in dict.fromkeys(c.text for c in (records, loops) if c.state is State.FAIL):
        judgement.fail(text)
    usual = {(cost.marker, cost.situation): cost.cycles for cost in drained}
    for cost in costs:
        if cost.marker == "mark":
            other = usual.get((cost.marker, cost.situation))
            against = "" if other is None else f"{significant(other, 4)} without it"
            name = f"KTRACE_MARK, {SAID[cost.situation]}"
            judgement.device(name, cost.cycles, "cycles", against)
    return judgement.check("built with KTRACE_POLL_CLOCK, every word of the pattern came back, too")
