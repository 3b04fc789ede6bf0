"""Which kernels a pattern means: the interposer's rule, in every command."""

import pytest

from ktrace_cli.code_object.patterns import check_any_matches, matches, spellings
from ktrace_cli.errors import UsageError

GEMM = "_Z4gemmILi64ELi32EEvPKfS1_N6ktrace4sinkE"
"""void gemm<64, 32>(float const*, float const*, ktrace::sink)"""
PLAIN = "_ZN2ns3fooEiN6ktrace4sinkE"


@pytest.mark.parametrize(
    ("pattern", "is_meant"),
    [
        ("gemm", True),
        ("gemm<64, 32>", True),
        ("gemm<64*", True),
        ("ge?m", True),
        ("[fg]emm", True),
        ("_Z4gemm*", True),
        (GEMM, True),
        ("gemm<64, 32>(float const*, float const*)", True),
        (r"gemm<64, 32>(float const\*, float const\*)", True),
        ("/^gemm</", True),
        ("/ge(mm|tt)/", True),
        ("/64, 32/", True),
        ("/^void/", False),
        ("gem", False),
        ("GEMM", False),
        ("gemm<64>", False),
        (r"ge\*", False),
        ("/^emm/", False),
        ("/(/", False),
        ("//", False),
        ("/", False),
    ],
)
def test_a_pattern_means_any_spelling_of_a_kernel(pattern: str, is_meant: bool) -> None:
    assert matches(pattern, spellings(GEMM)) is is_meant


def test_a_name_in_a_namespace_is_matched_whole() -> None:
    assert matches("ns::foo", spellings(PLAIN))
    assert matches("ns::foo(int)", spellings(PLAIN))
    assert not matches("foo", spellings(PLAIN))
    assert matches("/foo/", spellings(PLAIN))
    assert matches("saxpy", spellings("saxpy"))


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("gem", "did you mean `--kernel '*gem*'`?"),
        ("GEMM", "did you mean `--kernel '*gemm*'`?"),
        ("gmem", "did you mean `--kernel 'gemm'`?"),
        ("gemm<64,32>", "did you mean `--kernel 'gemm<64, 32>'`?"),
        ("/^foo/", "did you mean `--kernel '*foo*'`?"),
        ("softmax", "name one of these"),
    ],
)
def test_what_matches_nothing_proposes_what_would(pattern: str, fix: str) -> None:
    with pytest.raises(UsageError) as problem:
        check_any_matches(["gemm", pattern], map(spellings, [GEMM, PLAIN, GEMM]))

    assert problem.value.what == f"`--kernel {pattern}` selects nothing"
    assert problem.value.why == "the recording has the kernels gemm<64, 32>, ns::foo"
    assert problem.value.fix == fix
    if "`" in fix:
        check_any_matches([fix.split("'")[1]], [spellings(GEMM), spellings(PLAIN)])


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("", "it is empty"), ("/(/", "it is no regular expression"), ("a\nb", "more than one line")],
)
def test_what_cannot_be_read_is_said(pattern: str, why: str) -> None:
    with pytest.raises(UsageError) as problem:
        check_any_matches([pattern], [spellings(GEMM)])

    assert why in problem.value.why
