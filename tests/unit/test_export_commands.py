"""`ktrace decode` and `ktrace summary`, as one calls them."""

import gzip
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ktrace_cli.app import app
from ktrace_cli.errors import KtraceError, TraceFileError, UsageError
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.recording import Wave
from support.timelines import LOAD, MARK, MMA, OUTER, TILE, builder
from support.words import mark, phase, phase_end, pop, push, span, start, stop


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two dispatches of two waves each."""
    made, kernel = builder()
    for _ in range(2):
        waves = [
            Wave(
                wave=wave,
                main=[push(OUTER, 1100), span(TILE, 1200, 1300), pop(1500), mark(MARK, 1600)],
            )
            for wave in (0, 1)
        ]
        made.add_dispatch(kernel, waves, block=(128, 1, 1))
    return made.write(tmp_path / "run.bin")


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    made, kernel = builder()
    words = [pop(1100), start(LOAD, 1200, token="a"), stop("a", 1300)]
    made.add_dispatch(kernel, [Wave(main=words, dropped_main=120)])
    made.add_loss(1, count=2, kernel="gemm", explanation="the device had no memory")
    return made.write(tmp_path / "lossy.bin")


def ktrace(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def messages(result: Result) -> list[str]:
    return result.stderr.splitlines()


def test_decode_writes_the_trace_beside_the_recording(recording: Path) -> None:
    result = ktrace("decode", recording)

    trace = recording.with_name("run.pftrace.gz")
    assert gzip.decompress(trace.read_bytes())[:1] == b"\x0a"
    assert result.stdout == ""
    assert messages(result) == [
        f"ktrace: wrote 8 slices and 4 marks of 4 waves to {trace}"
        " (modelled times: software device); open it at https://ui.perfetto.dev"
    ]


def test_decode_replaces_its_own_output_and_nothing_else(recording: Path) -> None:
    ktrace("decode", recording)
    ktrace("decode", recording)
    named = recording.with_name("mine.pftrace.gz")
    named.write_bytes(b"mine")

    with pytest.raises(KtraceError, match=r"mine.pftrace.gz exists"):
        ktrace("decode", recording, "-o", named)
    assert named.read_bytes() == b"mine"

    ktrace("decode", recording, "-o", named, "--force")
    assert named.read_bytes() == recording.with_name("run.pftrace.gz").read_bytes()


def test_decode_writes_text_to_stdout(recording: Path) -> None:
    result = ktrace("decode", recording, "-f", "text")

    lines = result.stdout.splitlines()
    assert lines[0] == "# ktrace text 2"
    assert len([line for line in lines if "\touter\t" in line]) == 4
    assert messages(result) == []


def test_decode_writes_to_stdout_when_asked(recording: Path) -> None:
    result = ktrace("decode", recording, "-o", "-")

    assert result.stdout_bytes[:1] == b"\x0a"
    assert messages(result) == [
        "ktrace: wrote 8 slices and 4 marks of 4 waves to stdout (modelled times: software device)"
    ]


@pytest.mark.parametrize(
    ("options", "waves"),
    [
        (["--dispatch", "2"], ["2/0", "2/1"]),
        (["--dispatch", "2,1"], ["1/0", "1/1", "2/0", "2/1"]),
        (["--dispatch", "1-2", "--wave", "0"], ["1/0", "2/0"]),
        (["--dispatch", "2-2"], ["2/0", "2/1"]),
        (["--wave", "1"], ["1/1", "2/1"]),
        (["--limit", "3"], ["1/0", "1/1", "2/0"]),
        (["--kernel", "ge*", "--dispatch", "1", "--wave", "0"], ["1/0"]),
    ],
)
def test_decode_shows_what_is_selected(
    recording: Path, options: list[str], waves: list[str]
) -> None:
    result = ktrace("decode", recording, "-f", "text", *options)

    rows = [line.split("\t") for line in result.stdout.splitlines() if not line.startswith("#")]
    assert [f"{row[0]}/{row[4]}" for row in rows if row[5] == "wave"] == waves
    assert len([row for row in rows if row[6] == "outer"]) == len(waves)
    assert messages(result) == [f"ktrace: selected {len(waves)} of 4 waves"]


@pytest.mark.parametrize(
    ("options", "what", "why"),
    [
        (["--kernel", "sax*"], "`--kernel sax*` selects nothing", "the kernels gemm"),
        (["--dispatch", "99"], "`--dispatch 99` selects nothing", "the dispatches 1 to 2"),
        (["--dispatch", "1", "--dispatch", "0"], "`--dispatch 0` selects nothing", "1 to 2"),
        (["--dispatch", "2,7-9"], "`--dispatch 7-9` selects nothing", "1 to 2"),
        (["--waves", "99"], "`--waves 99` selects nothing", "the waves 0 to 1"),
        (["--wave", "2-3"], "`--waves 2-3` selects nothing", "the waves 0 to 1"),
        (["--xcd", "0,7"], "`--xcd 7` selects nothing", "the XCDs 0"),
    ],
)
def test_what_names_nothing_is_a_usage_error(
    recording: Path, options: list[str], what: str, why: str
) -> None:
    with pytest.raises(UsageError) as caught:
        ktrace("decode", recording, *options)

    assert caught.value.what == what
    assert caught.value.why.endswith(why)
    assert not recording.with_name("run.pftrace.gz").exists()


def test_what_selects_nothing_together_is_a_usage_error(tmp_path: Path) -> None:
    made, kernel = builder()
    for wave in (0, 1):
        made.add_dispatch(kernel, [Wave(wave=wave)], block=(128, 1, 1), expected=1)

    with pytest.raises(UsageError, match="no wave is selected"):
        ktrace("decode", made.write(tmp_path / "run.bin"), "--dispatch", "1", "--wave", "1")


def test_losses_beside_a_selection_are_said_to_be_of_the_whole(lossy: Path) -> None:
    result = ktrace("decode", lossy, "--limit", "1")

    told = [line for line in messages(result) if "whole recording" in line]
    assert told == ["ktrace: selected 1 of 1 wave; the warnings are of the whole recording"]


def test_text_tells_the_device_of_each_dispatch(tmp_path: Path) -> None:
    made, kernel = builder()
    made.add_device(1)
    for device in (0, 1):
        made.add_dispatch(kernel, [Wave(main=[mark(MARK, 1600)])], device=device)

    result = ktrace("decode", made.write(tmp_path / "run.bin"), "-f", "text")

    rows = [line.split("\t") for line in result.stdout.splitlines() if not line.startswith("#")]
    assert [row[:2] for row in rows] == [
        ["dispatch", "device"],
        *[["1", "0"]] * 2,
        *[["2", "1"]] * 2,
    ]


def test_losses_are_told_and_fail_only_when_strict(lossy: Path) -> None:
    told = [
        f"ktrace: warning: {lossy}: 2 launches of annotated kernels were not traced",
        f"ktrace: warning: {lossy}: 11 words did not fit their wave's region",
        f"ktrace: warning: {lossy}: 1 wave filled its region",
        f"ktrace: warning: {lossy}: 1 end has no begin",
        f"ktrace: warning: {lossy}: lost 2: gemm: the device had no memory",
    ]
    for command in ("decode", "summary"):
        relaxed, strict = ktrace(command, lossy), ktrace(command, lossy, "--strict")

        assert [line for line in messages(relaxed) if "warning" in line] == told
        assert (relaxed.exit_code, strict.exit_code) == (0, 5)
    assert lossy.with_name("lossy.pftrace.gz").exists()


def test_arrows_left_out_and_clocks_assumed_fail_when_strict(tmp_path: Path) -> None:
    made, kernel = builder(edges=[("load", "mma")])
    backward = [phase(MMA, 1100), phase_end(1200), start(LOAD, 1300, token="a"), stop("a", 1400)]
    made.add_dispatch(kernel, [Wave(main=backward)])
    backward_arrow = made.write(tmp_path / "backward.bin")
    made, kernel = builder()
    made.add_dispatch(kernel, [Wave(state=WaveState.BEGUN)])
    unknown_clock = made.write(tmp_path / "clock.bin")

    for path, told in (
        (backward_arrow, "1 arrow would go back in time and is left out"),
        (unknown_clock, "1 device has a core clock of unknown rate"),
    ):
        for command in ("decode", "summary"):
            result = ktrace(command, path, "--strict")

            assert result.exit_code == 5
            assert len([line for line in messages(result) if told in line]) == 1


@pytest.fixture
def filtered(tmp_path: Path) -> Path:
    """Three dispatches, two of them recorded in part."""
    made, kernel = builder()
    for flags in (0, DispatchFlag.FILTERED, DispatchFlag.FILTERED):
        words = [span(TILE, 1200, 1300)]
        made.add_dispatch(kernel, [Wave(main=words)], block=(128, 1, 1), flags=flags)
    return made.write(tmp_path / "part.bin")


def test_what_was_not_asked_for_is_told_and_no_loss(filtered: Path) -> None:
    told = (
        "ktrace: recorded only in part, as asked for (--blocks, --waves or --xcc):"
        " 2 of 3 dispatches"
    )

    for command in ("decode", "summary"):
        result = ktrace(command, filtered, "--strict")

        assert result.exit_code == 0
        assert told in messages(result)
    assert "gemm: 3 dispatches (2 in part), 3 waves" in ktrace("summary", filtered).stdout
    (kernel,) = json.loads(ktrace("summary", filtered, "--json").stdout)["kernels"]
    assert kernel["filtered_dispatches"] == 2
    text = ktrace("decode", filtered, "-f", "text").stdout
    assert "# filtered 2 of 3 dispatches" in text.splitlines()


def test_a_recording_without_dispatches_says_so(tmp_path: Path) -> None:
    made, _ = builder()
    path = made.write(tmp_path / "empty.bin")
    other = made.write(tmp_path / "others.bin", launches=3)

    assert messages(ktrace("summary", path)) == [
        f"ktrace: nothing was recorded in {path}: no kernel was launched"
    ]
    assert messages(ktrace("summary", other)) == [
        f"ktrace: nothing was recorded in {other}: 3 launches were seen, none of them of an"
        " annotated kernel that was to be traced"
    ]


@pytest.mark.parametrize("command", ["decode", "summary", "view", "merge", "baseline"])
def test_a_recording_of_which_damage_has_left_nothing_is_an_error(
    recording: Path, command: str
) -> None:
    content = recording.read_bytes()
    recording.write_bytes(content[:64] + b"\xff" * (len(content) - 64))
    output = ["-o", recording.with_name("out.pftrace")] if command in ("merge", "baseline") else []

    with pytest.raises(TraceFileError) as problem:
        ktrace(command, recording, *output)

    assert problem.value.what == f"nothing readable in {recording}"
    assert problem.value.status == 1
    assert [path.name for path in recording.parent.iterdir()] == ["run.bin"]


def test_one_of_each_is_singular(tmp_path: Path) -> None:
    made, kernel = builder()
    made.add_dispatch(kernel, [Wave(main=[span(TILE, 1200, 1300), mark(MARK, 1400)])])

    result = ktrace("decode", made.write(tmp_path / "run.bin"), "--limit", "1")

    selected, wrote = messages(result)
    assert selected == "ktrace: selected 1 of 1 wave"
    assert wrote.startswith("ktrace: wrote 1 slice and 1 mark of 1 wave to ")


def test_summary_says_the_share_of_partly_active_waves(tmp_path: Path) -> None:
    made, kernel = builder()
    words = [span(TILE, 1200, 1300), span(TILE, 1300, 1350), span(TILE, 1400, 1450)]
    made.add_dispatch(kernel, [Wave(main=words, side=[mark(MARK, 1500)])])

    path = made.write(tmp_path / "run.bin")

    line = "partly active waves wrote 25.0 % of 4 words; there an event costs more"
    assert ktrace("summary", path).stdout.splitlines()[-1] == line
    (kernel,) = json.loads(ktrace("summary", path, "--json").stdout)["kernels"]
    assert (kernel["words"], kernel["side_words"]) == (4, 1)


@pytest.mark.parametrize("command", ["decode", "summary"])
def test_help_names_the_recording_and_wraps_to_the_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")

    lines = [line.strip() for line in ktrace(command, "--help").stdout.splitlines()]

    assert any(line.endswith(f"{command} [OPTIONS] [RECORDING]") for line in lines)
    prose = lines[lines.index("") + 1 : next(i for i, line in enumerate(lines) if "─" in line)]
    # No paragraph is broken in two where the terminal has room for it.
    assert not [line for line, below in pairwise(prose) if line and below]


def test_nothing_lost_is_no_failure_when_strict(recording: Path) -> None:
    assert ktrace("summary", recording, "--strict").exit_code == 0


def test_without_a_name_the_newest_run_is_read(
    recording: Path, lossy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "ktrace_out"
    folder.mkdir()
    for path, at in ((recording, 2_000_000_000), (lossy, 1_000_000_000)):
        moved = path.rename(folder / path.name)
        os.utime(moved, (at, at))

    result = ktrace("summary")

    assert messages(result) == ["ktrace: reading ktrace_out/run.bin"]


def test_without_any_run_one_is_told_how_to_make_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(KtraceError, match="no recording to read") as caught:
        ktrace("decode")

    assert caught.value.fix == "name one, or make one with `ktrace run -- PROGRAM`"


def test_summary_is_a_table_with_units(recording: Path) -> None:
    lines = ktrace("summary", recording).stdout.splitlines()

    assert lines[0] == "device 0: gfx942, modelled times (software device)"
    assert lines[1].startswith("quality: nothing is missing; clock (")
    assert lines[3] == "gemm: 2 dispatches, 4 waves, 17.2 us of wave time"
    header, rule, first, second = [line.rstrip() for line in lines if line.strip()][3:7]
    assert header.split() == [
        "phase",
        "count",
        "%",
        "waves",
        *("total", "self", "mean", "min", "p50", "p90", "p99", "max"),
        "histogram",
    ]
    assert set(rule.strip()) == {"─"}
    times = ["760", "ns", "568", "ns", *["190", "ns"] * 6]
    assert first.split() == ["outer", "4", "4.4", "%", *times, "··█"]
    assert second.split()[:4] == ["tile", "4", "1.1", "%"]
    assert "marks: `published` 4" in lines
    assert len(header) <= 120


def test_phases_with_slices_that_have_no_end_are_marked(tmp_path: Path) -> None:
    made, kernel = builder()
    main = [span(TILE, 1100, 1200), push(OUTER, 1300), mark(MARK, 1400), pop(1500)]
    made.add_dispatch(kernel, [Wave(main=[*main, push(OUTER, 1600), span(TILE, 1700, 1800)])])

    lines = ktrace("summary", made.write(tmp_path / "run.bin")).stdout.splitlines()

    header, _, *phases = [line.split() for line in lines if line.strip()][3:7]
    assert header[:3] == ["phase", "count", "unclosed"]
    assert [phase[:3] for phase in phases] == [["outer", "2", "1"], ["tile", "2", "0"]]


def test_summary_as_json_is_json(recording: Path) -> None:
    document = json.loads(ktrace("summary", recording, "--json").stdout)

    (kernel,) = document["kernels"]
    assert (kernel["name"], kernel["dispatches"], kernel["waves"]) == ("gemm", 2, 4)
    assert [phase["name"] for phase in kernel["phases"]] == ["outer", "tile"]
    assert document["losses"] == {}


def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(KtraceError, match=r"cannot read .*nothing.bin"):
        ktrace("summary", tmp_path / "nothing.bin")


def test_an_unknown_format_is_a_usage_error(recording: Path) -> None:
    with pytest.raises(UsageError, match="cannot read `--format xml`"):
        ktrace("decode", recording, "-f", "xml")
