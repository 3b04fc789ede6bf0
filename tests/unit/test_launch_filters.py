"""Options of `run` that make no sense are explained before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.launch.filters import (
    check_blocks,
    check_memory,
    check_numbers,
    check_output,
    check_patterns,
    check_words,
)

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
        (lambda: check_numbers("--waves", "32"), f"'32' {NUMBERS}"),
        (lambda: check_numbers("--waves", "7-4"), f"'7-4' {NUMBERS}"),
        (lambda: check_numbers("--xcc", ","), f"'' {NUMBERS}"),
        (lambda: check_blocks("1,2,3,4"), "it has 4 axes, workgroups have 3"),
        (lambda: check_blocks("5:2"), f"'5:2' {AXIS}"),
        (lambda: check_blocks("0:8:3"), f"'0:8:3' {AXIS}"),
        (lambda: check_patterns(["/(/"]), REGEX),
        (lambda: check_patterns([""]), "it is empty"),
        (lambda: check_patterns(["a\nb"]), "it has more than one line"),
        (
            lambda: check_output(Path("-")),
            "it is the program's own, and several processes may record",
        ),
    ],
)
def test_what_makes_no_sense_is_explained(check: Callable[[], None], why: str) -> None:
    with pytest.raises(UsageError) as problem:
        check()

    assert problem.value.why == why
    assert problem.value.fix
    assert problem.value.status == 2


def test_good_filters_pass() -> None:
    check_words("32")
    check_words("1048576")
    check_numbers("--waves", "0,4-7,31")
    for blocks in ("*", "0", "0:64:8,0", ":4", "2:", "*,*,1:2"):
        check_blocks(blocks)
    check_patterns(["gemm*", "/attn_(fwd|bwd)/", "/"])
