"""The interposer's environment, and which launches it chooses, as its own code reads them."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.launch import environment as launcher_environment
from support.preloaded import ROOT

INTERPOSER = ROOT / "preload" / "interposer"
Probe = Callable[..., str]


def test_both_sides_of_the_environment_know_the_same_names(probe: Probe) -> None:
    launcher = {
        value
        for name, value in vars(launcher_environment).items()
        if name.isupper() and isinstance(value, str) and value.startswith("KTRACE_")
    }

    # The software device reads its own, and this library does not know them.
    own = {name for name in launcher if name.startswith("KTRACE_SOFT_")}
    assert own == {"KTRACE_SOFT_ARCH", "KTRACE_SOFT_CHECK", "KTRACE_SOFT_DEVICES"}
    assert set(probe("names").split()) == launcher - own


def test_every_variable_that_is_read_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    libraries = (INTERPOSER, ROOT / "preload" / "softdev")
    sources = [path for folder in libraries for path in folder.rglob("*.[ch]pp")]
    sources += (ROOT / "src").rglob("*.py")
    names = {
        name
        for source in sources
        for name in re.findall(r'"(KTRACE_[A-Z_]+)"', source.read_text(encoding="utf-8"))
    }

    assert {"KTRACE_SESSION_DIR", "KTRACE_NATIVE_DIR", "KTRACE_SOFT_ARCH"} <= names
    # Macros of ktrace.hpp, and the beginning of names.
    other = {"KTRACE_MARK", "KTRACE_RANGE", "KTRACE_POLL_CLOCK", "KTRACE_SOFT_"}
    assert {name for name in names - other if f"| `{name}` |" not in text} == set()


def test_the_environment_is_read(probe: Probe) -> None:
    text = probe(
        "config",
        KTRACE_MEMORY="65536",
        KTRACE_WORDS="32",
        KTRACE_BLOCKS="5,*,2::4",
        KTRACE_WAVES="0,2-3",
        KTRACE_XCC="31",
        KTRACE_OUTPUT="/a/b.bin",
        KTRACE_OUTPUT_DIR="/c",
    )

    assert text.splitlines()[:5] == [
        "memory 65536 words 32 waves 0xd xcc 0x80000000",
        "axis 5 6 0",
        "axis 0 4294967295 0",
        "axis 2 4294967295 3",
        "output|/a/b.bin|/c",
    ]


def test_without_options_everything_is_recorded(probe: Probe) -> None:
    lines = probe("config").splitlines()

    assert lines[:2] == [
        "memory 1073741824 words 0 waves 0xffffffff xcc 0xffffffff",
        "axis 0 4294967295 0",
    ]
    assert lines[5:] == ["mode 0 full 0 on_full 0 on_full_ms 1000 hang_ms 0 log_level 2"]


def test_choices_of_launches_and_of_full_memory_are_read(probe: Probe) -> None:
    text = probe(
        "config",
        KTRACE_MODE="claim",
        KTRACE_FULL="ring",
        KTRACE_ON_FULL="wait",
        KTRACE_ON_FULL_MS="250",
        KTRACE_HANG_MS="30000",
        KTRACE_LOG_LEVEL="trace",
        KTRACE_KERNEL_ITERATIONS="1,3-4",
        KTRACE_PERIODS="0:5:1,7000000000:1:0",
    )

    assert text.splitlines()[5:] == [
        "mode 2 full 1 on_full 1 on_full_ms 250 hang_ms 30000 log_level 4",
        "launches 1-1",
        "launches 3-4",
        "period 0 5 1",
        "period 7000000000 1 0",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KTRACE_KERNEL_INCLUDE", "(gemm"),
        ("KTRACE_KERNEL_EXCLUDE", "gemm\n*"),
        ("KTRACE_KERNEL_INCLUDE", r"(a)\1"),
        ("KTRACE_KERNEL_ITERATIONS", "0"),
        ("KTRACE_KERNEL_ITERATIONS", "3-1"),
        ("KTRACE_KERNEL_ITERATIONS", "[1,[3-4]]"),
        ("KTRACE_KERNEL_ITERATIONS", "1,"),
        ("KTRACE_PERIODS", "1:2"),
        ("KTRACE_PERIODS", "1:0:1"),
        ("KTRACE_PERIODS", "9223372036854775807:1:1"),
        ("KTRACE_MODE", "auto"),
        ("KTRACE_FULL", "drop"),
        ("KTRACE_ON_FULL", "ring"),
        ("KTRACE_ON_FULL_MS", "0"),
        ("KTRACE_HANG_MS", "1.5"),
        ("KTRACE_LOG_LEVEL", "debug"),
    ],
)
def test_a_value_of_no_meaning_is_refused_by_name(name: str, value: str, probe: Probe) -> None:
    assert probe("config", **{name: value}).startswith(f"refused|{name} is `{value}`, not ")


def test_names_of_recordings_take_ranks_and_variables_from_the_environment(probe: Probe) -> None:
    text = probe(
        "config",
        KTRACE_OUTPUT="/a/%rank%of%size%/%env{JOB}%/%pid%.bin",
        KTRACE_OUTPUT_DIR="/b/%env{FOLDER}%",
        OMPI_COMM_WORLD_RANK="3",
        OMPI_COMM_WORLD_SIZE="8",
        JOB="night",
        FOLDER="c/d",
    )

    assert text.splitlines()[4] == "output|/a/3of8/night/%pid%.bin|/b/c/d"


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({"PMI_RANK": "2", "OMPI_COMM_WORLD_RANK": "5"}, "2"),
        ({"SLURM_PROCID": "4", "PMI_RANK": "2"}, "4"),
        ({"PMI_RANK": "", "RANK": "7"}, "7"),
        ({}, "0"),
    ],
)
def test_the_first_launcher_of_ranks_that_is_known_counts(
    environment: dict[str, str], rank: str, probe: Probe
) -> None:
    text = probe("config", KTRACE_OUTPUT="/a/%rank%", **environment)

    assert text.splitlines()[4] == f"output|/a/{rank}|{Path.cwd()}/ktrace_out"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("/a/%env{NOBODY_SET_THIS}%", "the variable NOBODY_SET_THIS is not set"),
        ("/a/%env{HOME", "its `%env{` is not closed by `}%`"),
    ],
)
def test_a_placeholder_that_cannot_be_filled_in_is_refused(
    value: str, why: str, probe: Probe
) -> None:
    assert probe("config", KTRACE_OUTPUT=value) == (
        f"refused|KTRACE_OUTPUT is `{value}`, and {why}: the program runs untraced\n"
    )


def test_process_ids_are_those_of_the_process_that_asks(probe: Probe) -> None:
    assert re.fullmatch(r"a\d+/100%b\.bin\n", probe("pids", "a%pid%/100%b.bin"))
    assert probe("pids", "%ppid%-%ppid%") == f"{os.getpid()}-{os.getpid()}\n"


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        ("10:5:2", "00110"),  # 10 to 15 and 25 to 30
        ("10:5:0", "00111"),  # for ever
        ("10:5:1,100:50:1", "00101"),  # the second one's time is counted from the first one's end
        ("0:1:1", "10000"),
    ],
)
def test_periods_follow_each_other(periods: str, expected: str, probe: Probe) -> None:
    assert probe("collecting", 0, 9, 14, 28, 149, KTRACE_PERIODS=periods) == f"{expected}\n"


@pytest.mark.parametrize(
    ("patterns", "is_wanted"),
    [
        ("gemm*", True),
        ("gemm<64, 32>(_Float16 const*, _Float16 const*, float*, int, int)", True),
        ("*ktrace*", True),  # the mangled name has it
        ("/int, int\\)$/", True),
        ("/ktrace::sink/", False),
        ("gemm", True),
        ("gem", False),
        ("saxpy\n_Z4gemm*", True),
        ("gemm<64, 32>", True),  # as `ktrace summary` prints it
        ("gemm<64, 3*>", True),
        ("gemm<64>", False),
    ],
)
def test_a_kernel_is_known_by_its_names_without_the_sink(
    patterns: str, is_wanted: bool, probe: Probe
) -> None:
    name = "_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE"

    assert probe("wanted", name, KTRACE_KERNELS=patterns) == ("yes\n" if is_wanted else "no\n")


@pytest.mark.parametrize(
    ("include", "exclude", "is_wanted"),
    [
        ("^gemm<64", "", True),
        ("ktrace", "", False),
        ("saxpy\nint\\)$", "", True),
        ("attn|(?:g|h)emm", "", True),
        ("gemm", "_Float16", False),
        ("", "float", False),
        ("", "^void|ktrace|sink", True),
        ("^gemm<64, 32>$", "", True),
        ("32>$", "gemm<64, 32>$", False),
        ("^_Z4gemmILi64ELi32EEvPKDF16_S1_Pfii$", "", True),
        ("", "^_Z4gemm", False),
        ("(.*)*x", "", False),  # for ever, in a matcher that goes back
    ],
)
def test_expressions_are_searched_in_every_name_without_the_sink_and_excluding_wins(
    include: str, exclude: str, is_wanted: bool, probe: Probe
) -> None:
    name = "_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE"

    answer = probe("wanted", name, KTRACE_KERNEL_INCLUDE=include, KTRACE_KERNEL_EXCLUDE=exclude)

    assert answer == ("yes\n" if is_wanted else "no\n")


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("_ZN12_GLOBAL__N_11kEPiN6ktrace4sinkE", r"^\(anonymous namespace\)::k$"),
        ("_ZN12_GLOBAL__N_11kEPiN6ktrace4sinkE", r"^\(anonymous namespace\)::k\(int\*\)$"),
        ("_Z3bigILi3EEvPFvivEN6ktrace4sinkE", r"^big<3>$"),
        ("_Z4idleN6ktrace4sinkE", "^_Z4idlev$"),
        ("_Z4idleN6ktrace4sinkE", "^idle$"),
        ("plain_c", "^plain_c$"),
    ],
)
def test_expressions_know_the_name_that_the_tables_show(
    name: str, expression: str, probe: Probe
) -> None:
    assert probe("wanted", name, KTRACE_KERNEL_INCLUDE=expression) == "yes\n"


def test_a_name_of_thousands_of_characters_is_searched(probe: Probe) -> None:
    name = "k" * 50_000

    assert probe("wanted", name, KTRACE_KERNEL_INCLUDE="^(k|x)*$") == "yes\n"
