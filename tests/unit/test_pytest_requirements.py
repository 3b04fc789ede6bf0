"""The arguments of `@pytest.mark.ktrace`."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import UsageError
from ktrace_cli.pytest_plugin.requirements import Limit, Requirement, read_requirement

VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)


def test_limits_are_nanoseconds_whatever_they_are_written_in() -> None:
    wanted = read_requirement(
        (), {"max": {"mainloop": "50us", "gemm:load": "1.5 ms"}, "p50": {"load": "3ns"}}
    )

    assert wanted == Requirement(
        limits=(
            Limit("mainloop", "max", 50_000),
            Limit("gemm:load", "max", 1_500_000),
            Limit("load", "p50", 3),
        ),
        kernel="",
        unit="ns",
    )


def test_numbers_are_in_the_unit_beside_them() -> None:
    in_us = read_requirement((), {"mean": {"load": 1.5}, "unit": "us"})
    in_cycles = read_requirement((), {"p99": {"load": 900}, "unit": "cycles", "kernel": "gemm*"})

    assert in_us == Requirement((Limit("load", "mean", 1500.0),), "", "ns")
    assert in_cycles == Requirement((Limit("load", "p99", 900.0),), "gemm*", "cycles")


@pytest.mark.parametrize(
    ("named", "why", "fix"),
    [
        ({"maxx": {}}, "there is no `maxx`; wanted max, p99,", "did you mean `max`?"),
        ({"max": "50us"}, "wanted a dictionary with names of phases as keys", "write for"),
        ({"max": {"": "50us"}}, "wanted a dictionary with names of phases as keys", "write for"),
        ({"max": {"load": 50}}, "a number needs a unit: write '50us', or unit='us'", "write for"),
        ({"max": {"load": "50"}}, "wanted a number with the unit ns, us, ms or s", "write for"),
        ({"max": {"load": -1}, "unit": "ns"}, "wanted a time such as '50us'", "write for"),
        ({"max": {"load": float("nan")}, "unit": "ns"}, "wanted a time such as", "write for"),
        ({"max": {"load": True}, "unit": "ns"}, "wanted a time such as", "write for"),
        ({"max": {"load": 1e302}, "unit": "ms"}, "no time is longer than 2^63 ns", "write for"),
        ({"max": {"load": 10**400}, "unit": "cycles"}, "no time is longer than", "write for"),
        ({"max": {"load": f"1{'0' * 400}s"}}, "no time is longer than 2^63 ns", "write for"),
        ({"max": {"load": "1us"}, "unit": "cycles"}, "with unit='cycles' limits are", "write for"),
        ({"unit": "hours"}, "wanted ns, us, ms, s or cycles", "write for"),
        ({"kernel": 3}, "wanted a shell pattern for names of kernels", "write for"),
        ({"min_count": {"load": 0}}, "wanted a number of occurrences, from 1", "write for"),
        ({"min_count": {"load": True}}, "wanted a number of occurrences, from 1", "write for"),
    ],
)
def test_what_is_not_understood_is_refused(named: dict[str, Any], why: str, fix: str) -> None:
    with pytest.raises(UsageError, match=r"cannot read `@pytest.mark.ktrace\(") as caught:
        read_requirement((), named)

    assert caught.value.why.startswith(why)
    assert caught.value.fix.startswith(fix)


def test_arguments_without_a_name_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        read_requirement(("50us",), {})

    assert caught.value.why == "it takes named arguments only"


@given(st.dictionaries(st.sampled_from(["max", "min_count", "kernel", "unit"]), VALUES))
def test_any_value_is_read_or_refused(named: dict[str, Any]) -> None:
    with contextlib.suppress(UsageError):
        read_requirement((), named)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), st.none() | st.just("ms"))
def test_any_limit_is_read_or_refused(limits: dict[str, Any], unit: str | None) -> None:
    with contextlib.suppress(UsageError):
        wanted = read_requirement((), {"max": limits, "unit": unit})
        assert all(0 <= limit.value < float("inf") for limit in wanted.limits)
