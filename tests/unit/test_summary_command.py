"""`ktrace summary`, as one reads it: on a terminal, in a pipe, in a comment of CI."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ktrace_cli.app import app
from ktrace_cli.errors import UsageError
from ktrace_cli.trace_file.layout import DispatchFlag, Kind, WaveState
from support.code_object import EventSource, KernelSource, make_code_object
from support.recording import HOST_EPOCH_NS, RecordingBuilder, Wave
from support.timelines import CONSUMER, INNER, LOAD, MARK, OUTER, TILE, builder
from support.words import group, mark, pop, push, span, start, stop

NAMES = ("a|b`c``d", "[bold red]x[/] [/nope]", "日本語の名前", "\x1b[31mred\nnext", "x" * 300, "`")


def ktrace(*arguments: object, charset: str = "utf-8") -> Result:
    result = CliRunner(charset=charset).invoke(app, ["summary", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def lines(*arguments: object) -> list[str]:
    return [line.rstrip() for line in ktrace(*arguments).stdout.splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two launches of four waves; those of workgroup 1,0,0 take twice as long."""
    made, kernel = builder()
    for _ in range(2):
        waves = [
            Wave(
                block=(block, 0, 0),
                wave=wave,
                xcc=block,
                begin=21_000,
                end=42_000 + 21_000 * block,
                main=[
                    group(CONSUMER, 21_050),
                    start(LOAD, 21_100, token="a"),
                    push(OUTER, 21_630),
                    span(TILE, 22_000, 23_000),
                    pop(31_500),
                    stop("a", 33_600),
                    push(INNER, 35_700),
                    pop(39_900),
                    mark(MARK, 40_000),
                ],
            )
            for block in (0, 1)
            for wave in (0, 1)
        ]
        made.add_dispatch(kernel, waves, grid=(2, 1, 1), block=(128, 1, 1))
    return made.write(tmp_path / "run.bin")


@pytest.fixture
def odd_names(tmp_path: Path) -> Path:
    made = RecordingBuilder()
    events = [EventSource(i, name, Kind.RANGE, unit_key=1) for i, name in enumerate(NAMES, 1)]
    image = make_code_object([KernelSource("_Z4gemmPfiN6ktrace4sinkE", unit_key=1)], events)
    code_object = made.add_code_object(image)
    kernel = made.add_kernel("_Z4gemmPfiN6ktrace4sinkE", code_object=code_object, unit_key=1)
    words = [span(i, 1_100 + 200 * i, 1_300 + 200 * i) for i in range(1, len(NAMES) + 1)]
    made.add_dispatch(kernel, [Wave(main=words)])
    return made.write(tmp_path / "names.bin")


def test_sentences_tell_what_a_table_does_not(path: Path) -> None:
    shown = lines(path)

    assert shown[1].startswith("quality: nothing is missing; clock (bounds) off its fit by at most")
    assert shown[1].endswith("; percentiles exact; tracing cost not measured")
    assert "marks: `published` 8" in shown
    assert (
        "launches: 2, 20 us on average (20 us to 20 us, CV 0.0 %), slowest dispatch 1;"
        " the first took 1.00 x the median of the others" in shown
    )
    assert (
        "slowest compared to the mean: XCD 1.33 x (of 2: XCD 1), SE 1.33 x (of 2: XCD 1 SE 0),"
        " CU 1.33 x (of 2: XCD 1 SE 0 CU 0), workgroup 1.33 x (of 4: 1,0,0 of dispatch 1),"
        " wave 1.33 x (of 8)" in shown
    )
    assert (
        "in a launch: waves begin within 0 ns (0.0 % of it); the last ends 10 us (50.0 %) after"
        " the median" in shown
    )
    assert (
        "outside of phases: 8 gaps between them, 13.3 % of wave time, p50 2 us, p99 2 us;"
        " before the first and after the last 42.0 %" in shown
    )
    assert (
        "lane `vmem`: in flight for 47.6 us, 79.0 % while other phases ran, 21.0 % exposed"
        " (nothing else ran)" in shown
    )
    assert (
        "longest wave: 20 us, dispatch 1 workgroup 1,0,0 wave 0 (`consumer`), on XCD 1 SE 0 CU 0"
        in shown
    )
    assert "  `outer` 21.1 %, `inner` 10.0 %, `tile` 2.4 %, no phase 66.5 %" in shown


def test_phases_are_shown_by_unit_below_those_of_the_kernel(path: Path) -> None:
    shown = lines(path, "--by", "block", "--top", "3")

    table = shown[shown.index("  `outer` 21.1 %, `inner` 10.0 %, `tile` 2.4 %, no phase 66.5 %") :]
    header, _, *rows = [line for line in table[1:] if line][:5]
    assert header.split()[:6] == ["block", "phase", "lane", "count", "%", "block"]
    assert [row.split()[:4] for row in rows] == [
        ["0,0,0", "load", "vmem", "4"],
        ["1,0,0", "load", "vmem", "4"],
        ["0,0,0", "outer", "4", "47.0"],
    ]
    assert shown[-2:] == [
        "histogram: 4.10 us to 8.19 us, each character 2 x as long as the one before",
        "and 5 more rows (`--top 0` shows all)",
    ]


def test_only_the_first_rows_are_shown_and_how_many_more_there_are(path: Path) -> None:
    assert "and 2 more phases (`--top 0` shows all)" in lines(path, "--top", "2")
    assert "and 3 more phases (`--top 0` shows all)" in lines(path, "--top", "1")
    assert not [line for line in lines(path, "--top", "0") if "more" in line]
    assert not [line for line in lines(path, "--top", "4") if "more" in line]


def test_a_large_histogram_has_a_bar_for_each_bucket(tmp_path: Path) -> None:
    made, kernel = builder()
    lengths = [210] * 8 + [2_100] * 4 + [8_400]
    words = [span(TILE, 10_000 * i, 10_000 * i + n) for i, n in enumerate(lengths, 1)]
    made.add_dispatch(kernel, [Wave(main=words, begin=2_100, end=210_000)])

    shown = lines(made.write(tmp_path / "run.bin"), "--histogram", "ti*")

    table = [line for line in shown[shown.index("`tile`, 13 times:") :] if line]
    assert [line.split() for line in table[1:2] + table[3:]] == [
        ["from", "below", "count"],
        ["64", "ns", "128", "ns", "8", "█" * 40],
        ["128", "ns", "256", "ns", "0"],
        ["256", "ns", "512", "ns", "0"],
        ["512", "ns", "1.02", "us", "4", "█" * 20],
        ["1.02", "us", "2.05", "us", "0"],
        ["2.05", "us", "4.10", "us", "1", "█" * 5],
    ]


def test_a_histogram_of_no_phase_is_a_usage_error_that_names_some(path: Path) -> None:
    with pytest.raises(UsageError, match="`--histogram x` matches no phase") as caught:
        ktrace(path, "--histogram", "x")

    assert caught.value.why == "the phases are inner, load, outer, tile"


def test_json_and_markdown_exclude_each_other(path: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        ktrace(path, "--json", "--markdown")


def test_names_are_shown_as_they_are_and_do_nothing_to_the_terminal(odd_names: Path) -> None:
    shown = lines(odd_names)

    names = [line[1:29].split("  ")[0].rstrip() for line in shown[7:13]]
    assert sorted(names) == sorted(
        [
            "a|b`c``d",
            "[bold red]x[/] [/nope]",
            "日本語の名前",
            r"\x1b[31mred\nnext",
            "x" * 18 + "…" + "x" * 9,
            "`",
        ]
    )
    assert "\x1b" not in "".join(shown)


def test_an_encoding_that_lacks_characters_gets_others(path: Path, odd_names: Path) -> None:
    plain = ktrace(path, "--histogram", "tile", charset="ascii").stdout

    assert plain.isascii()
    assert "--------" in plain
    assert ".@." in plain
    assert "@" * 40 in plain
    assert "??????" in ktrace(odd_names, charset="ascii").stdout


def test_columns_that_do_not_fit_the_terminal_are_left_out_and_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktrace_cli.console.table_width", lambda: 80)

    shown = lines(path)

    header = shown[5].split()
    assert header == ["phase", "lane", "count", "%", "waves", "total", "mean", "p50", "max"]
    table = shown[5 : shown.index("marks: `published` 8")]
    assert max(map(len, table)) <= 80
    assert "not shown, as the terminal is too narrow: self, min, p90, p99, histogram" in table
    assert not [line for line in table if line.startswith("histogram:")]
    assert not [line for line in table if "…" in line]


def test_a_very_narrow_terminal_breaks_lines_rather_than_numbers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktrace_cli.console.table_width", lambda: 10)

    shown = lines(path)

    assert shown[5].split() == ["phase", "lane", "count", "total"]
    assert shown[7].split() == ["load", "vmem", "8", "47.6", "us"]


def test_markdown_is_tables_and_lists_with_names_as_code(path: Path) -> None:
    shown = ktrace(path, "--markdown", "--by", "group").stdout.splitlines()

    assert shown[0] == "- device 0: gfx942, modelled times (software device)"
    assert "### `gemm`: 2 dispatches, 8 waves, 120 us of wave time" in shown
    heads = [number for number, line in enumerate(shown) if line.startswith("| phase")]
    header, rule, first = shown[heads[0] : heads[0] + 3]
    assert rule.startswith("| :--- | :--- | ---: |")
    assert header.count("|") == rule.count("|") == first.count("|")
    assert first.startswith("| `load` | `vmem` | 8 | 39.7 % | 47.6 us | 47.6 us | 5.95 us |")
    assert shown[heads[0] - 1] == ""
    assert "- marks: `published` 8" in shown
    assert "  - `outer` 21.1 %, `inner` 10.0 %, `tile` 2.4 %, no phase 66.5 %" in shown
    assert [line for line in shown if line.startswith("| `consumer` | `load` | `vmem` | 8 |")]


def test_markdown_means_nothing_by_a_name(odd_names: Path) -> None:
    rows = [
        line
        for line in ktrace(odd_names, "--markdown").stdout.splitlines()
        if line.startswith("| `")
    ]

    names = {row.replace("\\|", "¦").split("|")[1].strip() for row in rows}
    assert names == {
        "```a¦b`c``d```",
        "`[bold red]x[/] [/nope]`",
        "`日本語の名前`",
        r"`\x1b[31mred\nnext`",
        "`" + "x" * 53 + "…" + "x" * 26 + "`",
        "`` ` ``",
    }


def test_cycles_are_named_wherever_a_time_is(path: Path) -> None:
    shown = lines(path, "--unit", "cycles")

    assert shown[2] == (
        "times in cycles of the core clock (cy); clocks of different XCCs are not aligned"
    )
    assert shown[4] == "gemm: 2 dispatches, 8 waves, 252 kcy of wave time"
    assert not [line for line in shown[3:] if " us" in line or " ns" in line]
    assert not [line for line in shown if line.startswith(("launches:", "in a launch:"))]


def test_only_what_is_selected_is_summarised(path: Path) -> None:
    result = ktrace(path, "--dispatch", "2", "--blocks", "1", "--waves", "0")

    assert "gemm: 1 dispatch, 1 wave, 20 us of wave time" in result.stdout.splitlines()
    assert "ktrace: selected 1 of 8 waves" in result.stderr


def test_in_a_window_of_time_nothing_is_said_of_what_is_between_phases(path: Path) -> None:
    shown = lines(path, "--to", "2us")

    assert shown[2] == (
        "phases and marks of a window of time only; waves and launches are whole, also in shares"
    )
    assert [line.split()[:2] for line in shown[8:11]] == [
        ["load", "vmem"],
        ["outer", "8"],
        ["tile", "8"],
    ]
    told = ("outside of phases", "lane ", "longest wave")
    assert not [line for line in shown if line.startswith(told)]
    assert [line for line in shown if line.startswith("launches: 2,")]


def test_where_there_are_too_many_phases_no_percentiles_are_shown(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktrace_cli.analysis.durations.MOST_KEYS", 1)

    shown = lines(path)

    assert shown[5].split() == [
        *("phase", "lane", "count", "%", "waves", "total", "self", "mean", "min", "max"),
    ]


def test_what_is_missing_is_told_beside_the_numbers(tmp_path: Path) -> None:
    made, kernel = builder()
    words = [pop(1_100), push(OUTER, 1_200), span(TILE, 1_300, 1_400)]
    made.add_dispatch(kernel, [Wave(main=words, dropped_main=120)])
    made.add_loss(1, count=2, kernel="gemm", explanation="no memory")

    shown = lines(made.write(tmp_path / "run.bin", closed=False))

    assert shown[1].startswith(
        "quality: 11 words dropped, 1 wave truncated, 2 unpaired, 2 other warnings; clock"
    )


def test_a_thousand_stuck_waves_are_told_in_a_few_lines(tmp_path: Path) -> None:
    made, kernel = builder()
    waves = [
        Wave(
            block=(number // 4, 0, 0),
            wave=number % 4,
            begin=2_100,
            end=2_100,
            state=WaveState.BEGUN,
            side=[push(OUTER, 21_000), *([push(INNER, 30_000)] if number % 4 else [])],
        )
        for number in range(1_024)
    ]
    made.add_dispatch(
        kernel,
        waves,
        grid=(256, 1, 1),
        block=(256, 1, 1),
        flags=DispatchFlag.EAGER | DispatchFlag.UNFINISHED,
        launched_ns=HOST_EPOCH_NS + 1_000,
        completed_ns=HOST_EPOCH_NS + 2_000_000,
    )

    shown = lines(made.write(tmp_path / "run.bin"))

    assert shown[-5] == "gemm dispatch 1: 1,024 of 1,024 waves unfinished"
    assert shown[-4].startswith("  768 waves in `outer` > `inner` (open for at least ")
    assert shown[-3].endswith("workgroup 0,0,0 wave 3 and 765 more")
    assert len(shown) < 25
