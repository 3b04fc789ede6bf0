"""What a selection says of times and waves: all counts from the recording's first wave."""

import json
from io import BytesIO
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ktrace_cli.analysis.summary import summarize
from ktrace_cli.app import app
from ktrace_cli.errors import UsageError
from ktrace_cli.export import write
from ktrace_cli.export.chrome import write_chrome
from ktrace_cli.export.formats import Format
from ktrace_cli.export.text import write_text
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.select import Selection, select
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from ktrace_cli.trace_file.reader import read_recording
from support.recording import Wave
from support.timelines import INNER, MARK, OUTER, TILE, builder, decode
from support.traces import exact
from support.words import mark, pop, push, span

BEGIN = 21_000  # cycles: 10 us


def at(us: float) -> int:
    """Cycles of a time after the first wave's begin."""
    return BEGIN + round(us * 2_100)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three dispatches of a wave of 1 ms, which begin at 0, 2 ms and 4 ms."""
    made, kernel = builder()
    for begin in (0, 2_000, 4_000):
        words = [
            push(OUTER, at(begin + 100)),
            span(TILE, at(begin + 200), at(begin + 210)),
            mark(MARK, at(begin + 300)),
            push(INNER, at(begin + 400)),
            pop(at(begin + 800)),
            pop(at(begin + 900)),
        ]
        made.add_dispatch(kernel, [exact(at(begin), words)])
    return made.write(tmp_path / "run.bin")


@pytest.fixture
def timeline(path: Path) -> Timeline:
    return build_timeline(read_recording(path))


def ktrace(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def text_rows(timeline: Timeline) -> list[tuple[str, int]]:
    """Name and shown begin of each line."""
    out = BytesIO()
    write_text(timeline, out)
    lines = [line.split("\t") for line in out.getvalue().decode().splitlines()]
    return [(line[6], int(line[9])) for line in lines[1:] if len(line) > 9 and line[9].isdigit()]


def test_a_selection_shows_the_times_of_the_whole(timeline: Timeline) -> None:
    chosen = select(timeline, Selection(dispatches=[range(2, 3)]))

    assert chosen.zero_ns == timeline.zero_ns == int(timeline.waves["begin_ns"][0])
    assert text_rows(chosen) == [
        ("", 2_000_000),
        ("outer", 2_100_000),
        ("tile", 2_200_000),
        ("published", 2_300_000),
        ("inner", 2_400_000),
    ]


def test_a_time_that_is_shown_can_be_asked_for(timeline: Timeline) -> None:
    for selection in (Selection(dispatches=[range(2, 3)]), Selection(dispatches=[range(3, 4)])):
        times = dict(text_rows(select(timeline, selection)))
        begin = times["tile"]

        chosen = select(timeline, Selection(begin=begin, end=begin + 10))

        assert text_rows(chosen)[1:] == [("outer", times["outer"]), ("tile", begin)]


def test_selections_of_selections_measure_from_the_same_zero(timeline: Timeline) -> None:
    later = select(timeline, Selection(dispatches=[range(2, 4)]))

    chosen = select(later, Selection(begin=4_000_000, end=4_150_000))

    assert chosen.zero_ns == timeline.zero_ns
    assert text_rows(chosen) == [("", 4_000_000), ("outer", 4_100_000)]


def test_chrome_counts_from_the_recordings_first_wave(timeline: Timeline) -> None:
    out = BytesIO()

    write_chrome(select(timeline, Selection(dispatches=[range(2, 3)])), out)

    events = {event["name"]: event for event in json.loads(out.getvalue())["traceEvents"]}
    assert (events["outer"]["ts"], events["tile"]["ts"]) == (2_100.0, 2_200.0)


def test_cycles_count_from_zero(timeline: Timeline) -> None:
    cycles = in_cycles(select(timeline, Selection(dispatches=[range(2, 3)])))

    assert cycles.zero_ns == 0
    assert text_rows(cycles)[:2] == [("", 0), ("outer", 210_000)]


def test_an_empty_window_is_told_when_the_waves_ran(timeline: Timeline) -> None:
    with pytest.raises(UsageError, match="no wave is selected") as problem:
        select(timeline, Selection(dispatches=[range(2, 3)], end=1_000))

    assert problem.value.why == (
        "none of the waves asked for ran in the time asked for: the first of them began at"
        " 2000000ns, the last ended at 3000000ns"
    )


def test_a_window_that_ends_before_it_begins_is_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="`--to` is before `--from`") as problem:
        ktrace("summary", path, "--from", "2us", "--to", "1us")

    assert problem.value.why == (
        "the one is 1000ns, the other 2000ns after the recording's first wave began"
    )


def test_a_window_is_as_large_as_what_lies_in_it(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(write._LIMITS, Format.CHROME, (10, "browsers open"))
    window = Selection(begin=150_000, end=250_000)

    assert write.size_warning(timeline, Format.CHROME).startswith("27 events are more than")
    assert write.size_warning(select(timeline, window), Format.CHROME) == ""

    monkeypatch.setitem(write._LIMITS, Format.CHROME, (5, "browsers open"))
    told = write.size_warning(select(timeline, window), Format.CHROME)
    assert told.startswith("6 events are more than browsers open (about 5)")


def test_waves_that_are_not_selected_have_begun_all_the_same(tmp_path: Path) -> None:
    waves = [Wave(main=[push(OUTER, 1_100)], wave=w, state=WaveState.BEGUN) for w in range(4)]
    timeline = decode(waves, tmp_path, flags=DispatchFlag.UNFINISHED, expected=5)

    (whole,) = summarize(timeline).unfinished
    (chosen,) = summarize(select(timeline, Selection(waves=[range(1)]))).unfinished

    assert (whole.waves, whole.missing_waves) == (4, 1)
    assert (chosen.waves, chosen.missing_waves) == (1, 0)


def test_in_a_window_no_self_time_is_told(path: Path) -> None:
    # Of `outer` is shown all, of what nests in it only the tile.
    window = ("--from", "150us", "--to", "350us")

    (kernel,) = json.loads(ktrace("summary", path, "--json", *window).stdout)["kernels"]
    shown = ktrace("summary", path, *window).stdout

    phases = [(phase["name"], phase["total_ns"], phase["self_ns"]) for phase in kernel["phases"]]
    assert phases == [("outer", 800_000, None), ("tile", 10_000, None)]
    assert " total " in shown
    assert " self " not in shown
    assert " self " in ktrace("summary", path).stdout
