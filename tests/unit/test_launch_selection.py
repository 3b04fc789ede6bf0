"""Which kernels, launches and times `run` records: written as the interposer reads it."""

from __future__ import annotations

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.launch.periods import milliseconds, periods_in_ns
from ktrace_cli.launch.selection import check_regexes, iterations


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["[1,[3-4]]"], "1,3-4"),
        (["[1, [3-4]]"], "1,3-4"),
        (["2-4"], "2-4"),
        (["7"], "7"),
        (["1,3-4"], "1,3-4"),
        (["[1],[3-4]"], "1,3-4"),
        (["1 3-4"], "1,3-4"),
        (["1", "5 - 6"], "1,5-6"),
        (["[4294967295]"], "4294967295"),
        ([], ""),
    ],
)
def test_iterations_in_all_of_rocprofv3s_forms(texts: list[str], result: str) -> None:
    assert iterations(texts) == result


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no number"),
        ("[]", "it has no number"),
        ("[1,[3-4]", "its brackets do not match"),
        ("1]", "its brackets do not match"),
        ("]1[", "its brackets do not match"),
        ("0", "launches of a kernel are counted from 1"),
        ("0-2", "launches of a kernel are counted from 1"),
        ("4-2", "'4-2' does not go upwards to at most 4294967295"),
        ("4294967296", "'4294967296' does not go upwards to at most 4294967295"),
        ("1:3", "'1:3' is no number and no range such as 3-4"),
        ("1-2-3", "'1-2-3' is no number and no range such as 3-4"),
        ("-2", "'-2' is no number and no range such as 3-4"),
        ("all", "'all' is no number and no range such as 3-4"),
    ],
)
def test_what_is_no_range_of_iterations_is_explained(text: str, why: str) -> None:
    with pytest.raises(UsageError) as problem:
        iterations([text])

    assert problem.value.what == f"cannot read `--kernel-iteration-range {text}`"
    assert problem.value.why == why
    assert problem.value.fix == "write for example `--kernel-iteration-range '[1,[3-4]]'`"


@pytest.mark.parametrize(
    "pattern",
    ["gemm", "gemm|attn_(fwd|bwd)", "^void .*<64", r"a\+b", "[+*]+x", "(?:a)(?=b)(?!c)",
     r"\d{2,3}?", "[^]]x", r"a\++"],
)  # fmt: skip
def test_what_ecmascript_understands_passes(pattern: str) -> None:
    check_regexes("--kernel-include-regex", [pattern])


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "it is empty"),
        ("a\nb", "it has more than one line"),
        ("(", "it is no regular expression: missing ), unterminated subpattern at position 0"),
        ("(?i)gemm", "'(?i' is no part of an ECMAScript regular expression"),
        ("(?P<n>a)", "'(?P' is no part of an ECMAScript regular expression"),
        ("(?<!a)b", "'(?<' is no part of an ECMAScript regular expression"),
        (r"\Agemm", "'\\\\A' is no part of an ECMAScript regular expression"),
    ],
)
def test_what_ecmascript_does_not_understand_is_explained(pattern: str, why: str) -> None:
    with pytest.raises(UsageError) as problem:
        check_regexes("--kernel-exclude-regex", [pattern])

    assert problem.value.what == f"cannot look for kernels like {pattern!r}"
    assert problem.value.why == why
    assert problem.value.fix == "write for example `--kernel-exclude-regex 'gemm|attn_(fwd|bwd)'`"


@pytest.mark.parametrize(
    ("texts", "unit", "result"),
    [
        (["5:1:3"], "sec", "5000000000:1000000000:3"),
        (["0.5:0.25:0"], "sec", "500000000:250000000:0"),
        (["1:2:1"], "hour", "3600000000000:7200000000000:1"),
        (["1:2:1"], "min", "60000000000:120000000000:1"),
        (["500:2000:0"], "msec", "500000000:2000000000:0"),
        (["7:8:9"], "usec", "7000:8000:9"),
        (["0:1:1"], "nsec", "0:1:1"),
        (["1:1:1 2:2:2", "3:3:3,4:4:4"], "nsec", "1:1:1,2:2:2,3:3:3,4:4:4"),
        ([], "sec", ""),
    ],
)
def test_periods_become_nanoseconds(texts: list[str], unit: str, result: str) -> None:
    assert periods_in_ns(texts, unit) == result


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("5", "wanted three numbers: DELAY:TIME:REPEAT"),
        ("5:1", "wanted three numbers: DELAY:TIME:REPEAT"),
        ("5:1:2:3", "wanted three numbers: DELAY:TIME:REPEAT"),
        ("-1:1:1", "wanted three numbers: DELAY:TIME:REPEAT"),
        ("1:1:1.5", "wanted three numbers: DELAY:TIME:REPEAT"),
        ("a:b:c", "wanted three numbers: DELAY:TIME:REPEAT"),
        ("", "wanted three numbers: DELAY:TIME:REPEAT"),
        ("5:0:1", "its TIME is less than 1 ns, so nothing would be recorded"),
        ("9999999999:1:1", "a number in it is too large"),
        ("1:1:4294967296", "a number in it is too large"),
    ],
)
def test_what_is_no_period_is_explained(text: str, why: str) -> None:
    with pytest.raises(UsageError) as problem:
        periods_in_ns([text], "sec")

    assert problem.value.what == f"cannot read the collection period {text!r}"
    assert problem.value.why == why


def test_seconds_and_milliseconds_become_milliseconds() -> None:
    assert milliseconds("--hang", "2", per_unit=1000, unit="seconds") == 2000
    assert milliseconds("--hang", "0.25", per_unit=1000, unit="seconds") == 250
    assert milliseconds("--on-full-ms", "7", per_unit=1, unit="milliseconds") == 7


@pytest.mark.parametrize("text", ["0", "0.0001", "-1", "soon", "", "1e3", "9999999999999999"])
def test_what_is_no_duration_is_explained(text: str) -> None:
    with pytest.raises(UsageError) as problem:
        milliseconds("--hang", text, per_unit=1000, unit="seconds")

    assert problem.value.what == f"cannot read `--hang {text}`"
    assert problem.value.why == "wanted a number of seconds, 1 ms or more"
    assert problem.value.fix == "write for example `--hang 10`"
