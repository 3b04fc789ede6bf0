"""Options of `run` that make no sense are explained before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.code_object.patterns import check_patterns
from ktrace_cli.errors import UsageError
from ktrace_cli.launch.filters import (
    check_memory,
    check_output,
    check_words,
)
from ktrace_cli.places import Axis, parse_blocks, parse_numbers

WORDS = "wanted a power of two from 32 to 1048576"
NUMBERS = "is no number from 0 to 31 and no range of them"
AXIS = "is no `*`, number or LO:HI[:STRIDE] with a power of two as STRIDE"
REGEX = "it is no regular expression: missing ), unterminated subpattern at position 0"


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (lambda: check_words("33"), WORDS),
        (lambda: check_words("16"), WORDS),
        (lambda: check_words("2097152"), WORDS),
        (lambda: check_words("1e3"), WORDS),
        (lambda: check_memory(1024), "wanted 65536 or more"),
        (lambda: parse_numbers("--waves", "32", 31), f"'32' {NUMBERS}"),
        (lambda: parse_numbers("--waves", "7-4", 31), f"'7-4' {NUMBERS}"),
        (lambda: parse_numbers("--xcc", ",", 31), f"'' {NUMBERS}"),
        (lambda: parse_blocks("1,2,3,4"), "it has 4 axes, workgroups have 3"),
        (lambda: parse_blocks("5:2"), f"'5:2' {AXIS}"),
        (lambda: parse_blocks("0:8:3"), f"'0:8:3' {AXIS}"),
        (lambda: check_patterns(["/(/"]), REGEX),
        (lambda: check_patterns([""]), "it is empty"),
        (lambda: check_patterns(["a\nb"]), "it has more than one line"),
        (
            lambda: check_output(Path("-")),
            "it is the program's own, and several processes may record",
        ),
    ],
)
def test_what_makes_no_sense_is_explained(check: Callable[[], object], why: str) -> None:
    with pytest.raises(UsageError) as problem:
        check()

    assert problem.value.why == why
    assert problem.value.fix
    assert problem.value.status == 2


def test_good_filters_pass() -> None:
    check_words("32")
    check_words("1048576")
    parse_numbers("--waves", "0,4-7,31", 31)
    for blocks in ("*", "0", "0:64:8,0", ":4", "2:", "*,*,1:2"):
        parse_blocks(blocks)
    check_patterns(["gemm*", "/attn_(fwd|bwd)/", "/"])


def test_blocks_are_read_axis_by_axis() -> None:
    everything = Axis(0, 1 << 32, 1)

    assert parse_blocks("0:64:8,3,*") == (Axis(0, 64, 8), Axis(3, 4, 1), everything)
    assert parse_blocks(":7") == (Axis(0, 7, 1),)
    assert parse_blocks("5:") == (Axis(5, 1 << 32, 1),)
    assert everything.is_everything


def test_numbers_are_read_as_ranges() -> None:
    assert parse_numbers("--waves", "0,4-7", 31) == (range(1), range(4, 8))


@pytest.mark.parametrize("text", ["\u0664", "1-\u0664", "\u00b2"])
def test_digits_of_other_scripts_are_no_numbers(text: str) -> None:
    with pytest.raises(UsageError):
        parse_numbers("--waves", text, 31)
    with pytest.raises(UsageError):
        parse_blocks(text)
