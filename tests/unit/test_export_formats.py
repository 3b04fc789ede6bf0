"""Which format and file `decode` chooses."""

from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.export.formats import Format, Target, choose_target
from ktrace_cli.export.output import STDOUT

RECORDING = Path("folder/run.bin")


@pytest.mark.parametrize(
    ("wanted", "path", "is_compressed"),
    [
        (None, "folder/run.pftrace.gz", True),
        (Format.PFTRACE, "folder/run.pftrace.gz", True),
        (Format.CHROME, "folder/run.trace.json.gz", True),
        (Format.HTML, "folder/run.html", False),
        (Format.PARQUET, "folder/run.parquet", False),
        (Format.CSV, "-", False),
        (Format.TEXT, "-", False),
    ],
)
def test_without_a_name_each_format_has_its_own_place(
    wanted: Format | None, path: str, is_compressed: bool
) -> None:
    target = choose_target(RECORDING, None, wanted, may_replace=False)

    own = wanted or Format.PFTRACE
    assert target == Target(Path(path), own, is_compressed, may_replace=True)


@pytest.mark.parametrize(
    ("name", "named", "is_compressed"),
    [
        ("a.pftrace", Format.PFTRACE, False),
        ("a.pftrace.gz", Format.PFTRACE, True),
        ("a.perfetto-trace", Format.PFTRACE, False),
        ("a.b.json", Format.CHROME, False),
        ("a.json.gz", Format.CHROME, True),
        ("a.html", Format.HTML, False),
        ("a.csv", Format.CSV, False),
        ("a.csv.gz", Format.CSV, True),
        ("a.parquet", Format.PARQUET, False),
        ("a.txt.gz", Format.TEXT, True),
    ],
)
def test_a_name_tells_the_format_and_whether_it_is_compressed(
    name: str, named: Format, is_compressed: bool
) -> None:
    target = choose_target(RECORDING, Path(name), None, may_replace=False)

    assert target == Target(Path(name), named, is_compressed, may_replace=False)


@pytest.mark.parametrize(("name", "is_compressed"), [("log", False), ("a.x.gz", True)])
def test_a_format_that_is_asked_for_takes_any_other_name(name: str, is_compressed: bool) -> None:
    target = choose_target(RECORDING, Path(name), Format.CSV, may_replace=True)

    assert target == Target(Path(name), Format.CSV, is_compressed, may_replace=True)


@pytest.mark.parametrize("path", [STDOUT, Path("/dev/null")])
def test_what_has_no_name_gets_a_plain_trace(path: Path) -> None:
    target = choose_target(RECORDING, path, None, may_replace=False)

    assert target == Target(path, Format.PFTRACE, False, may_replace=False)


@pytest.mark.parametrize(
    ("name", "wanted", "what", "why", "fix"),
    [
        (
            "a.dat",
            None,
            "cannot tell what to write to a.dat",
            "its name ends with none of .pftrace, .perfetto-trace, .json, .html, .csv, .parquet,"
            " .txt",
            "say it with `-f`, for example `-f pftrace`",
        ),
        (
            "a.json.gz",
            Format.CSV,
            "will not write csv to a.json.gz",
            "its name is that of chrome",
            "leave out `-f`, or choose another name, such as a.csv.gz",
        ),
        (
            "a.csv.gz",
            Format.HTML,
            "will not write html to a.csv.gz",
            "its name is that of csv",
            "leave out `-f`, or choose another name, such as a.html",
        ),
        (
            "a.parquet.gz",
            None,
            "will not compress a.parquet.gz",
            "parquet is compressed already",
            "name it a.parquet",
        ),
    ],
)
def test_a_name_that_contradicts_is_explained(
    name: str, wanted: Format | None, what: str, why: str, fix: str
) -> None:
    with pytest.raises(UsageError) as problem:
        choose_target(RECORDING, Path(name), wanted, may_replace=False)

    assert (problem.value.what, problem.value.why, problem.value.fix) == (what, why, fix)
