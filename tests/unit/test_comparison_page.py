"""The page that compares ktrace with other tools claims what a test or a command shows."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ktrace_cli.app import SUBCOMMANDS, app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "comparison.md").read_text()
COLUMNS = 9


def rows() -> list[list[str]]:
    """Return the cells of all rows, but of heads."""
    lines = [line for line in PAGE.splitlines() if line.startswith(("| ", "|-"))]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[-1] != "shown by" and not row[0].startswith("---")]


ROWS = rows()


def test_every_row_compares_all_tools_and_is_shown_by_something() -> None:
    assert len(ROWS) > 40
    assert {len(row) for row in ROWS} == {COLUMNS}
    for row in ROWS:
        assert re.fullmatch(r"`[^`]+`(?:, `[^`]+`)*", row[-1]), row[0]
        assert row[-2], row[0]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_shows_it_is_there(row: list[str]) -> None:
    for proof in re.findall(r"`([^`]+)`", row[-1]):
        if proof.startswith("ktrace "):
            check_command(proof.split()[1:])
        else:
            check_test(*proof.partition("::")[::2])


def check_test(file: str, name: str) -> None:
    """Fail unless a test is there."""
    path = ROOT / "tests" / file
    assert path.is_file(), file
    assert not name or re.search(rf"^def {name}\(", path.read_text(), re.MULTILINE), name


def check_command(words: list[str]) -> None:
    """Fail unless a command has these options."""
    name, *options = words
    assert name in SUBCOMMANDS
    told = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).stdout
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", told))
    assert {option for option in options if option.startswith("-")} <= known
