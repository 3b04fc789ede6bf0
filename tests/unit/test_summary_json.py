"""`ktrace summary --json`: the document is what its schema says, and nothing else."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from ktrace_cli.analysis.document import read_schema, to_document
from ktrace_cli.analysis.grouping import By
from ktrace_cli.analysis.results import Request
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.app import app
from ktrace_cli.model import ClockFit, Timeline
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.recording import HOST_EPOCH_NS, Wave
from support.schemas import strict
from support.timelines import (
    CONSUMER,
    INNER,
    LOAD,
    MARK,
    OUTER,
    PRODUCER,
    TILE,
    build,
    builder,
    decode,
)
from support.words import group, mark, pop, push, span, start, stop


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two launches that ended, and one that did not."""
    made, kernel = builder()
    for number in (1, 2):
        waves = [
            Wave(
                wave=wave,
                xcc=wave,
                main=[
                    group(role, 1_050),
                    start(LOAD, 1_060, token="a"),
                    push(OUTER, 1_100),
                    span(TILE, 1_200, 1_300),
                    pop(1_500 + 100 * number),
                    stop("a", 1_700),
                    mark(MARK, 1_800),
                    push(INNER, 1_900),
                ],
            )
            for wave, role in ((0, CONSUMER), (1, PRODUCER))
        ]
        made.add_dispatch(kernel, waves, block=(128, 1, 1))
    running = Wave(side=[push(OUTER, 21_000)], begin=2_100, end=2_100, state=WaveState.BEGUN)
    made.add_dispatch(
        kernel,
        [running],
        flags=DispatchFlag.EAGER | DispatchFlag.UNFINISHED,
        completed_ns=HOST_EPOCH_NS + 2_000_000,
    )
    return made.write(tmp_path / "run.bin")


def summary(path: Path, *options: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["summary", str(path), "--json", *options])
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def check(document: dict[str, Any]) -> None:
    schema = copy.deepcopy(read_schema(document["unit"]))
    jsonschema.Draft202012Validator.check_schema(schema)
    # What is in `allOf` is one object with what names it.
    unit_phase = schema["$defs"].pop("unit_phase")
    phase = copy.deepcopy(schema["$defs"]["phase"])
    phase["properties"].update(unit_phase["allOf"][1]["properties"])
    phase["required"] += unit_phase["allOf"][1]["required"]
    schema["$defs"]["unit_phase"] = phase
    jsonschema.Draft202012Validator(strict(schema)).validate(document)


@pytest.mark.parametrize("by", [None, *By])
@pytest.mark.parametrize("unit", ["ns", "cycles"])
def test_a_document_is_what_its_schema_says(path: Path, by: By | None, unit: str) -> None:
    options = ["--by", by.value] if by else []

    document = summary(path, "--unit", unit, *options)

    check(document)
    assert (document["schema"], document["unit"]) == (1, unit)
    assert document["by"] == (by.value if by else None)
    (kernel,) = document["kernels"]
    assert bool(kernel["units"]) == (by is not None)


def test_a_window_of_time_is_what_the_schema_says(path: Path) -> None:
    document = summary(path, "--from", "0", "--to", "100ns")

    check(document)
    assert document["is_window"] is True
    (kernel,) = document["kernels"]
    assert (kernel["gaps"], kernel["lanes"], kernel["longest_wave"]) == (None, [], None)


def test_an_empty_recording_is_what_the_schema_says(tmp_path: Path) -> None:
    made, _ = builder()

    document = summary(made.write(tmp_path / "run.bin"))

    check(document)
    assert (document["kernels"], document["launches"]) == ([], 0)


def test_a_key_that_the_schema_lacks_is_found(path: Path) -> None:
    document = summary(path, "--by", "xcd")
    document["kernels"][0]["units"][0]["more"] = 1

    with pytest.raises(jsonschema.ValidationError, match="'more' was unexpected"):
        check(document)


def test_launches_of_a_recording_that_was_not_closed_are_not_known(tmp_path: Path) -> None:
    made, kernel = builder()
    made.add_dispatch(kernel, [Wave(main=[span(TILE, 1_200, 1_300)])])

    document = summary(made.write(tmp_path / "run.bin", closed=False))

    check(document)
    assert document["launches"] is None
    assert document["losses"] == {"not_closed": 1}
    assert document["quality"]["other_losses"] == 1


def test_times_in_cycles_have_names_of_their_own(path: Path) -> None:
    (kernel,) = summary(path, "--unit", "cycles")["kernels"]

    outer = next(phase for phase in kernel["phases"] if phase["name"] == "outer")
    # 500 and 600 cycles in two waves each.
    assert (outer["count"], outer["total_cycles"], outer["max_cycles"]) == (4, 2_200, 600)
    assert outer["p50_cycles"] == 500
    assert outer["histogram"] == [
        {"from_cycles": 256, "below_cycles": 512, "count": 2},
        {"from_cycles": 512, "below_cycles": 1024, "count": 2},
    ]
    assert not [key for key in (*kernel, *outer) if key.endswith("_ns")]
    # Clocks of different XCCs are not aligned: a launch has no length in cycles.
    assert (kernel["launch_times"], kernel["wave_starts"], kernel["tail"]) == (None, None, None)


def test_a_phase_named_like_a_time_keeps_its_name_in_cycles(tmp_path: Path) -> None:
    made, kernel = builder()
    made.add_dispatch(kernel, [Wave(main=[span(TILE, 1_200, 1_300)])])
    document = to_document(summarize(in_cycles(build(made, tmp_path))))

    assert document["process"]["boottime_ns"] == HOST_EPOCH_NS
    assert "clock_residual_ns" in document["device"]
    assert document["quality"]["clocks"][0]["residual_ns"] >= 0


def test_quality_tells_what_is_missing_and_what_was_assumed(tmp_path: Path) -> None:
    words = [pop(1_100), push(OUTER, 1_200), span(TILE, 1_300, 1_400)]
    timeline = decode([Wave(main=words, dropped_main=120)], tmp_path)
    fit = ClockFit(0, "kfd", 2.1e9, 12.5, ((0, 12.5),), ((0, 0.0), (1, -7.25), (2, 30.0)))
    timeline = with_clock(timeline, fit)

    document = to_document(summarize(timeline))

    check(json.loads(json.dumps(document)))
    assert document["quality"] == {
        "is_complete": False,
        "dropped_words": 11,
        "truncated_waves": 1,
        "unpaired": 2,
        "overwritten_words": 0,
        "other_losses": 0,
        "modelled_time": True,
        "clocks": [
            {
                "device": 0,
                "method": "kfd",
                "residual_ns": 12.5,
                "skew_ns_by_xcc": {"0": 0.0, "1": -7.25, "2": 30.0},
            }
        ],
        "percentile_error": 0.0,
        "tracing_cost": None,
    }


def with_clock(timeline: Timeline, fit: ClockFit) -> Timeline:

    return replace(timeline, clocks=(fit,))


def test_where_buckets_are_all_that_is_kept_the_error_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktrace_cli.analysis.durations.Durations.__init__.__defaults__", (3,))

    document = summary(path)

    assert document["quality"]["percentile_error"] == 0.003906


def test_waits_are_those_that_were_asked_for(tmp_path: Path) -> None:
    timeline = decode([Wave(main=[span(TILE, 1_200, 1_300)])], tmp_path)

    assert to_document(summarize(timeline))["waits"] == ["*wait*", "*barrier*", "*sync*"]
    assert to_document(summarize(timeline, Request(waits=("t*",))))["waits"] == ["t*"]
