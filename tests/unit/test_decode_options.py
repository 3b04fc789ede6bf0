"""`ktrace decode`: formats, files, and what of a recording is chosen."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ktrace_cli.app import app
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.export import write
from ktrace_cli.export.formats import Format
from support.recording import Wave
from support.timelines import MARK, OUTER, TILE, builder
from support.traces import exact
from support.words import mark, pop, push, span

BEGIN = 21_000


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two dispatches, 100 ms apart, of eight workgroups on two XCDs with two waves each."""
    made, kernel = builder()
    for begin in (BEGIN, BEGIN + 210_000_000):
        made.add_dispatch(
            kernel,
            [_wave(begin, block, wave) for block in range(8) for wave in (0, 1)],
            grid=(8, 1, 1),
            block=(128, 1, 1),
        )
    return made.write(tmp_path / "run.bin")


def _wave(begin: int, block: int, wave: int) -> Wave:
    words = [
        push(OUTER, begin + 2_100),
        span(TILE, begin + 4_200, begin + 6_300),
        pop(begin + 1_050_000),
        mark(MARK, begin + 2_099_000),
    ]
    return exact(begin, words, block=(block, 0, 0), wave=wave, xcc=block % 2)


def ktrace(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def chosen(recording: Path, *options: str) -> list[dict[str, str]]:
    result = ktrace("decode", recording, "-f", "csv", *options)
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (["--blocks", "3"], ["1/3/0", "1/3/1", "2/3/0", "2/3/1"]),
        (["--blocks", "2:8:4", "--waves", "1"], ["1/2/1", "1/6/1", "2/2/1", "2/6/1"]),
        (["--blocks", "*,0", "--limit", "2"], ["1/0/0", "1/0/1"]),
        (["--xcd", "1", "--dispatch", "2", "--waves", "0"], ["2/1/0", "2/3/0", "2/5/0", "2/7/0"]),
        (["--xcc", "0-1", "--wave", "0-1", "--blocks", ":1"], ["1/0/0", "1/0/1", "2/0/0", "2/0/1"]),
        (["--from", "50ms", "--blocks", "7"], ["2/7/0", "2/7/1"]),
        (["--to", "50ms", "--blocks", "7", "--kernel", "gem?"], ["1/7/0", "1/7/1"]),
    ],
)
def test_what_is_chosen_is_shown(recording: Path, options: list[str], places: list[str]) -> None:
    rows = chosen(recording, *options)

    found = [f"{row['dispatch']}/{row['block_x']}/{row['wave']}" for row in rows]
    assert list(dict.fromkeys(found)) == places
    assert len(rows) == 3 * len(places)


def test_a_window_leaves_out_slices_and_marks_outside_it(recording: Path) -> None:
    rows = chosen(recording, "--from", "2us", "--to", "3us", "--limit", "1")
    after = chosen(recording, "--from", "600us", "--to", "50ms", "--limit", "1")

    assert [row["name"] for row in rows] == ["outer", "tile"]
    assert [row["name"] for row in after] == ["published"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--blocks", "8:4"], "cannot read `--blocks 8:4`"),
        (["--waves", "x"], "cannot read `--waves x`"),
        (["--xcd", "-1"], "cannot read `--xcd -1`"),
        (["--from", "5"], "cannot read `--from 5`"),
        (["--to", "soon"], "cannot read `--to soon`"),
        (["--blocks", "9"], "no wave is selected"),
        (["--dispatch", "x"], "cannot read `--dispatch x`"),
        (["--from", "5us", "--to", "1us"], "`--to` is before `--from`"),
        (["-f", "csv", "--group-by", "hardware"], "cannot group csv by hardware"),
        (["-o", "x.dat"], "cannot tell what to write to x.dat"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(
    recording: Path, options: list[str], what: str
) -> None:
    with pytest.raises(UsageError) as problem:
        ktrace("decode", recording, *options)

    assert problem.value.what == what
    assert [path.name for path in recording.parent.iterdir()] == ["run.bin"]


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("a.pftrace", b"\x0a"),
        ("a.json", b'{"displayTimeUnit":"ns"'),
        ("a.csv", b"dispatch,device,"),
        ("a.txt", b"# ktrace text 2"),
        ("a.html", b"<!doctype html>"),
    ],
)
def test_a_name_chooses_the_format(recording: Path, name: str, begin: bytes) -> None:
    output = recording.with_name(name)

    result = ktrace("decode", recording, "-o", output)

    assert output.read_bytes().lower().startswith(begin.lower())
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"ktrace: wrote 64 slices and 32 marks of 32 waves to {output} (")


def test_gz_at_the_end_compresses(recording: Path) -> None:
    plain, packed = recording.with_name("a.csv"), recording.with_name("b.csv.gz")

    ktrace("decode", recording, "-o", plain)
    ktrace("decode", recording, "-o", packed)

    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_each_format_has_its_place_beside_the_recording(recording: Path) -> None:
    for wanted in ("chrome", "html", "pftrace"):
        ktrace("decode", recording, "-f", wanted)

    names = {path.name for path in recording.parent.iterdir()}
    assert names == {"run.bin", "run.trace.json.gz", "run.html", "run.pftrace.gz"}
    trace = json.loads(gzip.decompress(recording.with_name("run.trace.json.gz").read_bytes()))
    assert len([event for event in trace["traceEvents"] if event["ph"] == "X"]) == 64 + 32 + 2


def test_a_page_says_how_much_was_selected(recording: Path) -> None:
    ktrace("decode", recording, "-f", "html", "--limit", "1")

    assert '"1 of 32 waves was selected"' in recording.with_name("run.html").read_text()


def test_a_parquet_file_has_all_rows(recording: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

    ktrace("decode", recording, "-f", "parquet", "--dispatch", "2")

    table = parquet.read_table(recording.with_name("run.parquet"))
    assert table.num_rows == 48
    assert set(table["dispatch"].to_pylist()) == {2}


def test_an_existing_file_is_kept_in_every_format(recording: Path) -> None:
    output = recording.with_name("mine.csv")
    output.write_text("mine")

    with pytest.raises(KtraceError, match=r"mine\.csv exists"):
        ktrace("decode", recording, "-o", output)

    assert output.read_text() == "mine"
    assert sorted(path.name for path in recording.parent.iterdir()) == ["mine.csv", "run.bin"]


def test_cycles_count_from_the_first_wave_that_is_shown(recording: Path) -> None:
    rows = chosen(recording, "--unit", "cycles", "--dispatch", "2", "--limit", "1")

    shown = [(row["name"], row["begin_cycles"], row["dur_cycles"]) for row in rows]
    assert shown == [
        ("outer", "2100", "1047900"),
        ("tile", "4200", "2100"),
        ("published", "2099000", "0"),
    ]


@pytest.mark.parametrize(
    ("wanted", "viewer"),
    [
        (Format.PFTRACE, "the Perfetto UI opens (about 25,000,000)"),
        (Format.CHROME, "browsers open as JSON (about 10,000,000)"),
    ],
)
def test_too_much_for_a_viewer_is_said_before_it_is_written(
    recording: Path, wanted: Format, viewer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(_: object) -> int:
        return 40_000_001

    monkeypatch.setattr(write, "count_events", count)

    told = ktrace("decode", recording, "-f", wanted.value).stderr.splitlines()

    assert told[0] == (
        f"ktrace: warning: 40,000,001 events are more than {viewer}: choose some with `--kernel`,"
        " `--dispatch`, `--blocks`, `--waves`, `--xcd`, `--from` and `--to`, or `--limit`;"
        " `ktrace summary` takes all"
    )
    assert told[1].startswith("ktrace: wrote 64 slices")


def test_what_no_viewer_opens_has_no_limit(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "count_events", lambda _: 1 << 40)

    assert ktrace("decode", recording, "-f", "csv").stderr == ""
