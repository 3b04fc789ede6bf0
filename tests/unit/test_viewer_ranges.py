"""Which part of a file a Range header asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.viewer.ranges import parse_range


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("bytes=0-9", range(10)),
        ("bytes=90-", range(90, 100)),
        ("bytes=90-200", range(90, 100)),
        ("bytes=-5", range(95, 100)),
        ("bytes=-500", range(100)),
        ("bytes=99-99", range(99, 100)),
    ],
)
def test_a_range_is_what_it_names_of_the_file(header: str, span: range) -> None:
    assert parse_range(header, 100) == span


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-120", "bytes=-0"])
def test_a_range_past_the_end_is_empty(header: str) -> None:
    span = parse_range(header, 100)

    assert span is not None
    assert list(span) == []


@pytest.mark.parametrize(
    "header",
    [None, "", "bytes=-", "bytes=9-3", "bytes=0-1,4-5", "lines=0-3", "bytes=a-b", "bytes=٣-"],
)
def test_what_is_not_understood_is_answered_with_all(header: str | None) -> None:
    assert parse_range(header, 100) is None


@given(st.text(), st.integers(0, 1 << 40))
def test_any_header_is_answered_with_bytes_of_the_file(text: str, size: int) -> None:
    for header in (text, f"bytes={text}", f"bytes={size}-{text}"):
        span = parse_range(header, size)

        assert span is None or (0 <= span.start <= span.stop <= size and span.step == 1)


@given(st.integers(0, 1 << 70), st.integers(0, 1 << 70), st.integers(0, 1000))
def test_any_two_numbers_are_answered_with_what_lies_between(a: int, b: int, size: int) -> None:
    first, last = min(a, b), max(a, b)

    span = parse_range(f"bytes={first}-{last}", size)

    if last < 10**18:
        assert span is not None
        assert list(span) == [at for at in range(size) if first <= at <= last]
    else:
        assert span is None
