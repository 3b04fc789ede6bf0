"""What tracing costs by a selftest's figures: events times cost, as a share of their time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from ktrace_cli.analysis.document import read_schema, to_document
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.analysis.tracing_cost import Between, cost_sentences, estimate
from ktrace_cli.model import Timeline
from ktrace_cli.selftest_file.result import MarkerCost, SelftestResult, Situation
from ktrace_cli.timeline.cycles import in_cycles
from support.recording import Wave
from support.timelines import CONSUMER, LOAD, MARK, OUTER, TILE, decode
from support.words import group, mark, pop, push, span, start, stop, u32

COSTS = tuple(
    MarkerCost(marker, situation, cycles, cycles)
    for situation, factor in ((Situation.SPACED, 1), (Situation.LONE_WAVE, 2))
    for marker, cycles in (
        ("mark", 21.0 * factor),
        ("mark_payload", 31.5 * factor),
        ("push_pop", 42.0 * factor),
        ("range", 10.5 * factor),
    )
)
SELFTEST = SelftestResult(
    version="0.1.0",
    date="2026-01-02T03:04:05Z",
    is_quick=False,
    is_modelled=True,
    machine={"target": "gfx942"},
    checks=(),
    costs=COSTS,
)


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    """One wave of 21,000 cycles; it wrote a word without a cost of its own, and one payload."""
    words = [
        group(CONSUMER, 21_050),
        push(OUTER, 22_000),
        span(TILE, 22_100, 24_200),
        pop(26_200),
        start(LOAD, 27_000, token="a"),
        stop("a", 27_840),
        mark(MARK, 30_000, [u32(7)]),
    ]
    return decode([Wave(begin=21_000, end=42_000, main=words)], tmp_path)


@pytest.mark.parametrize("unit", ["ns", "cycles"])
def test_a_share_is_events_times_cost_by_time(timeline: Timeline, unit: str) -> None:
    summary = summarize(in_cycles(timeline) if unit == "cycles" else timeline)

    cost = estimate(summary, SELFTEST)

    (kernel,) = cost.kernels
    assert cost.of(summary.kernels[0]) is kernel
    # A push and its pop, a token's two events, a range, a mark, and two words more.
    low = 42 + 42 + 10.5 + 21 + 2 * 10.5
    assert kernel.share is not None
    assert kernel.share.low == pytest.approx(low / 21_000)
    assert kernel.share.high == pytest.approx(2 * low / 21_000)
    shares = {phase.name: phase.share for phase in kernel.phases}
    assert {name: (s.low, s.high) if s else None for name, s in shares.items()} == {
        "outer": pytest.approx((0.01, 0.02)),
        "tile": pytest.approx((0.005, 0.01)),
        "load": pytest.approx((0.05, 0.1)),
    }


@pytest.mark.parametrize("unit", ["ns", "cycles"])
def test_the_estimate_is_in_json_as_the_schema_says(timeline: Timeline, unit: str) -> None:
    summary = summarize(in_cycles(timeline) if unit == "cycles" else timeline)
    cost = estimate(summary, SELFTEST)
    quality = replace(summary.quality, tracing_cost=cost)

    document = json.loads(json.dumps(to_document(replace(summary, quality=quality))))

    jsonschema.validate(document, read_schema(unit))
    told = document["quality"]["tracing_cost"]
    assert told["selftest"] == {
        "ktrace": "0.1.0",
        "date": "2026-01-02T03:04:05Z",
        "target": "gfx942",
        "modelled_time": True,
    }
    assert told["cycles"]["push_pop"] == {"low": 42.0, "high": 84.0}
    assert told["kernels"][0]["share"] == {"low": 0.0065, "high": 0.013}


def test_sentences_name_the_phases_that_tracing_is_most_of(timeline: Timeline) -> None:
    (kernel,) = estimate(summarize(timeline), SELFTEST).kernels

    assert ["".join(parts) for parts in cost_sentences(kernel, most=2)] == [
        "tracing itself: an estimated 0.65 to 1.3 % of the time of its waves",
        "5 to 10 % of load, by its own markers",
        "1 to 2 % of outer, by its own markers",
    ]


def test_a_selftest_without_costs_estimates_nothing(timeline: Timeline) -> None:
    (kernel,) = estimate(summarize(timeline), replace(SELFTEST, costs=())).kernels

    assert kernel.share == Between(0.0, 0.0)


def test_a_window_of_time_has_no_share_of_whole_waves(timeline: Timeline) -> None:
    (kernel,) = estimate(replace(summarize(timeline), is_window=True), SELFTEST).kernels

    assert kernel.share is None
    assert ["".join(parts) for parts in cost_sentences(kernel, most=0)] == []
