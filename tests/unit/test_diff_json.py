"""`ktrace diff --json` is what its schema says; `--markdown` is a comment for GitHub."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ktrace_cli.analysis.compare.document import read_schema
from ktrace_cli.errors import UsageError
from support.comparing import HARDWARE, On, Run, event, ktrace, record_run
from support.schemas import strict
from support.timelines import INNER, OUTER, TILE


def document(*arguments: object) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(ktrace("diff", *arguments, "--json").stdout)
    return made


def check(made: dict[str, Any]) -> None:
    schema = read_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(strict(schema)).validate(made)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return record_run(tmp_path / "base.bin", Run(noise=0))


def test_a_regression_is_in_the_document(tmp_path: Path, base: Path) -> None:
    made = document(base, record_run(tmp_path / "new.bin", Run(noise=0, scale={TILE: 1.5})))

    check(made)
    assert (made["schema"], made["verdict"], made["unit"]) == (1, "regressed", "ns")
    assert made["base"] == {"runs": [str(base)], "losses": {}, "modelled_time": True}
    assert (made["counts"]["regressed"], made["counts"]["same"]) == (1, 4)
    (kernel,) = made["kernels"]
    assert (kernel["name"], kernel["grid"], kernel["level"]) == ("gemm", [4, 1, 1], "launch")
    assert kernel["base"] == {"launches": 10, "units": 10, "sampled": 10}
    tile = kernel["phases"][0]
    assert (tile["name"], tile["status"], tile["limit"]) == ("tile", "regressed", "*>5%")
    assert (tile["change"], tile["change_per_wave"], tile["floor_per_wave"]) == (0.5, 500.0, 20.0)
    # Without the first ones, which may be cold, two of all ways to choose 9 launches of 18 are as
    # uneven; five phases are tested.
    assert tile["p"] == pytest.approx(5 * 2 / 48_620)
    assert tile["base"] == {
        "count": 80,
        "count_per_wave": 1.0,
        "time_per_wave": 1000.0,
        "mean": 1000.0,
        "median": 1000.0,
        "self_mean": 1000.0,
    }


@pytest.mark.parametrize(
    ("new", "options", "verdict", "reasons"),
    [
        (On(device={"target": "gfx950"}), (), "not comparable", ["target"]),
        (On(device={"target": "gfx950"}), ("--allow-different", "target"), "passed", []),
        (HARDWARE, (), "not comparable", ["modelled"]),
        (
            On(events=[event(OUTER), event(TILE), event(INNER, "x")]),
            (),
            "not comparable",
            ["events"],
        ),
        (On(mangled="_Z5otherv"), (), "not comparable", ["kernels"]),
    ],
)
def test_reasons_are_in_the_document(
    tmp_path: Path, base: Path, new: On, options: tuple[str, ...], verdict: str, reasons: list[str]
) -> None:
    made = document(base, record_run(tmp_path / "new.bin", Run(noise=0), new), *options)

    check(made)
    assert (made["verdict"], [reason["kind"] for reason in made["reasons"]]) == (verdict, reasons)
    assert [reason["kind"] for reason in made["allowed"]] == list(options[1:])


def test_losses_are_in_the_document(tmp_path: Path, base: Path) -> None:
    new = record_run(tmp_path / "new.bin", Run(noise=0), closed=False)

    made = document(base, new)

    check(made)
    assert made["new"]["losses"] == {"not_closed": 1}
    assert [reason["kind"] for reason in made["reasons"]] == ["loss"]


def test_markdown_begins_with_the_verdict_as_a_heading(tmp_path: Path, base: Path) -> None:
    new = record_run(tmp_path / "new.bin", Run(noise=0, scale={TILE: 1.5}))

    shown = ktrace("diff", base, new, "--markdown").stdout.splitlines()

    assert shown[0] == (
        "### REGRESSED: 1 of 5 phases became slower than allowed: `tile` of `gemm` +50.0 % (1 us ->"
        " 1.50 us per wave)"
    )
    assert "### `gemm`: compared 10 launches with 10" in shown
    assert [line for line in shown if line.startswith("| `tile` | 1 us | 1.50 us | +50.0 % |")]


def test_json_and_markdown_exclude_each_other(base: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        ktrace("diff", base, base, "--json", "--markdown")


def test_cycles_are_compared_in_cycles(tmp_path: Path, base: Path) -> None:
    new = record_run(tmp_path / "new.bin", Run(noise=0, scale={TILE: 1.5}))

    made = document(base, new, "--unit", "cycles", "--fail-on", "tile>500cy")

    check(made)
    (kernel,) = made["kernels"]
    tile = kernel["phases"][0]
    assert (made["verdict"], made["unit"], tile["base"]["mean"]) == ("regressed", "cycles", 2100.0)
    assert tile["floor_per_wave"] == pytest.approx(42.0, rel=1e-3)
    # Clocks of different XCCs are not aligned: a launch has no length in cycles.
    assert "(launch)" not in [phase["name"] for phase in kernel["phases"]]
