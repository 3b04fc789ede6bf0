"""`--fail-on` and `--floor`: how they are read."""

import pytest

from ktrace_cli.analysis.compare.rules import (
    check_rules,
    parse_floor,
    parse_rules,
    rules_for,
)
from ktrace_cli.errors import UsageError


@pytest.mark.parametrize(
    ("text", "pattern", "percent", "time"),
    [
        ("mainloop>5%", "mainloop", 5.0, 0.0),
        ("load>2us", "load", 0.0, 2_000.0),
        ("*>0.5 %", "*", 0.5, 0.0),
        ("gemm<64, 32>:load > 5%, 2us", "gemm<64, 32>:load", 5.0, 2_000.0),
        ("a>b>1.5ms", "a>b", 0.0, 1_500_000.0),
        ("x>300ns", "x", 0.0, 300.0),
    ],
)
def test_a_rule_is_a_phase_and_its_limits(
    text: str, pattern: str, percent: float, time: float
) -> None:
    (rule,) = parse_rules([text], "ns")

    assert (rule.pattern, rule.percent, rule.time, rule.is_failing) == (
        *(pattern, percent, time),
        True,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mainloop",
        "mainloop>",
        ">5%",
        "load>5",
        "load>fast",
        "load>5%,",
        "load>-1%",
        "load>5%,3%",
        "load>1us,2us",
    ],
)
def test_what_is_no_rule_is_a_usage_error_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read `--fail-on") as caught:
        parse_rules([text], "ns")

    assert "--fail-on 'mainloop>5%'" in caught.value.fix


def test_times_of_rules_are_in_the_unit_that_is_compared() -> None:
    assert parse_rules(["load>2kcy"], "cycles")[0].time == 2_000.0
    with pytest.raises(UsageError):
        parse_rules(["load>2us"], "cycles")
    with pytest.raises(UsageError):
        parse_rules(["load>2kcy"], "ns")


def test_without_rules_every_phase_may_become_five_percent_slower() -> None:
    (rule,) = parse_rules([], "ns")

    assert rule.matches("gemm", "load")
    assert not rule.is_exceeded(100.0, 5.0)
    assert rule.is_exceeded(100.0, 5.1)


def test_all_limits_of_a_rule_must_be_exceeded() -> None:
    (rule,) = parse_rules(["load>5%,2us"], "ns")

    assert not rule.is_exceeded(10_000.0, 1_900.0)
    assert not rule.is_exceeded(100_000.0, 2_100.0)
    assert rule.is_exceeded(10_000.0, 2_100.0)
    assert rule.is_exceeded(10_000.0, -2_100.0)


def test_a_pattern_is_for_the_phase_or_for_kernel_and_phase() -> None:
    rules = parse_rules(["gemm*:load>5%", "store>1%"], "ns")

    assert [r.text for r in rules_for(rules, "gemm<64>", "load")] == ["gemm*:load>5%"]
    assert [r.text for r in rules_for(rules, "saxpy", "store")] == ["store>1%"]
    assert [r.is_failing for r in rules_for(rules, "saxpy", "load")] == [False]


def test_a_rule_about_nothing_is_refused_and_names_what_there_is() -> None:
    names = [("gemm", "load"), ("gemm", "store"), ("saxpy", "load")]

    check_rules(parse_rules(["saxpy:*>5%"], "ns"), names)
    with pytest.raises(UsageError, match="`--fail-on 'mainlop>5%'` matches no phase") as caught:
        check_rules(parse_rules(["load>1%", "mainlop>5%"], "ns"), names)

    assert caught.value.why == "the phases are load, store"


@pytest.mark.parametrize(
    ("text", "unit", "floor"),
    [("0", "ns", 0.0), ("50ns", "ns", 50.0), ("1.5us", "ns", 1_500.0), ("2kcy", "cycles", 2_000.0)],
)
def test_a_floor_is_a_time(text: str, unit: str, floor: float) -> None:
    assert parse_floor(text, unit) == floor


@pytest.mark.parametrize(
    ("text", "unit"), [("5%", "ns"), ("50", "ns"), ("x", "ns"), ("5ns", "cycles")]
)
def test_what_is_no_floor_is_a_usage_error(text: str, unit: str) -> None:
    with pytest.raises(UsageError, match="cannot read `--floor"):
        parse_floor(text, unit)
