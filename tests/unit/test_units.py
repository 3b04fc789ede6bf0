"""Numbers with units, as users write them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import UsageError
from ktrace_cli.units import parse_duration, significant


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1.5ms", 1_500_000),
        ("20us", 20_000),
        ("20 µs", 20_000),
        ("3s", 3_000_000_000),
        ("7ns", 7),
        (".5us", 500),
        ("0", 0),
        ("1.0000009ms", 1_000_000),
        ("123456789.123456789s", 123_456_789_123_456_789),
    ],
)
def test_a_time_is_whole_nanoseconds(text: str, ns: int) -> None:
    assert parse_duration("--from", text) == ns


@pytest.mark.parametrize("text", ["", "5", "ms", "-1ms", "1e3ms", "1 h", "٣ms", "1,5ms", "nan"])
def test_what_is_no_time_is_explained(text: str) -> None:
    with pytest.raises(UsageError) as problem:
        parse_duration("--from", text)

    assert problem.value.what == f"cannot read `--from {text}`"
    assert problem.value.why == "wanted a number with the unit ns, us, ms or s"
    assert problem.value.fix == "write for example `--from 1.5ms`"


@given(st.text())
def test_any_text_is_a_time_or_explained(text: str) -> None:
    with suppress(UsageError):
        assert parse_duration("--to", text) >= 0


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (104.3, 2, "100"), (99.97, 3, "100"), (12345.6, 3, "12,300"), (-2.0924, 4, "-2.092"),
        (0.0000312, 2, "0.000031"), (0.0, 3, "0"), (241, 4, "241"),
    ],
)  # fmt: skip
def test_a_rounded_number_has_no_exponent(value: float, digits: int, text: str) -> None:
    assert significant(value, digits) == text
