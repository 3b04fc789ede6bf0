"""Command lines that cannot be understood are told of in the form of all errors."""

import pytest
from typer.testing import CliRunner

from ktrace_cli.app import SUBCOMMANDS, app
from ktrace_cli.errors import UsageError

FORMATS = "wanted pftrace, chrome, html, csv, parquet or text"
COMMANDS = (
    "the commands are run, decode, summary, diff, baseline, report, merge, view, inspect, hotspots,"
    " discover, pmc, att, plan, doctor, selftest, config"
)


@pytest.mark.parametrize(
    ("line", "what", "why", "fix"),
    [
        ("decode -f foo", "cannot read `--format foo`", FORMATS, "write one of them"),
        ("decode -f csvv", "cannot read `--format csvv`", FORMATS, "did you mean `--format csv`?"),
        (
            "decode --limit x",
            "cannot read `--limit x`",
            "wanted a number",
            "`ktrace decode --help` describes it",
        ),
        (
            "summary --limit 0",
            "cannot read `--limit 0`",
            "wanted 1 or more",
            "`ktrace summary --help` describes it",
        ),
        (
            "decode -o",
            "cannot read `-o`",
            "its value is missing",
            "`ktrace decode --help` describes it",
        ),
        (
            "decode --force=3",
            "cannot read `--force`",
            "it takes no value",
            "`ktrace decode --help` describes it",
        ),
        (
            "merge a.bin",
            "`--output` is missing",
            "`ktrace merge` cannot do without it",
            "`ktrace merge --help` describes it",
        ),
        (
            "merge -o b",
            "FILE is missing",
            "`ktrace merge` cannot do without it",
            "`ktrace merge --help` describes it",
        ),
        (
            "decode a b c",
            "cannot understand `ktrace decode …`",
            "it has no use for b c",
            "`ktrace decode --help` describes it",
        ),
        (
            "decode --forc",
            "`ktrace decode` has no option --forc",
            "none is called so",
            "did you mean `--force`, `--format` or `--from`?",
        ),
        ("dec", "there is no `ktrace dec`", COMMANDS, "did you mean `ktrace decode`?"),
        ("xyz", "there is no `ktrace xyz`", COMMANDS, "`ktrace --help` describes them"),
        ("--xyz", "`ktrace` has no option --xyz", "none is called so", "`ktrace --help` lists all"),
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(
    line: str, what: str, why: str, fix: str
) -> None:
    result = CliRunner().invoke(app, line.split())

    problem = result.exception
    assert isinstance(problem, UsageError)
    assert (problem.what, problem.why, problem.fix) == (what, why, fix)
    assert problem.status == 2
    assert result.output == ""


@pytest.mark.parametrize("command", [[], *([name] for name in SUBCOMMANDS)])
def test_help_names_no_type_of_flags(command: list[str]) -> None:
    result = CliRunner().invoke(app, [*command, "--help"])

    assert result.exit_code == 0
    assert "bool" not in result.output
    assert "Show this message and exit." in result.output


def test_without_a_command_help_is_shown() -> None:
    result = CliRunner().invoke(app, [])

    assert "Usage:" in result.output
    assert not isinstance(result.exception, UsageError)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["diff", "", "new.bin"], "an argument is empty"),
        (["summary", ""], "an argument is empty"),
        (["report", "run.bin", "-o", ""], "the value of `-o` is empty"),
    ],
)
def test_an_empty_path_is_not_the_current_folder(arguments: list[str], what: str) -> None:
    problem = CliRunner().invoke(app, arguments).exception

    assert isinstance(problem, UsageError)
    assert problem.what == what
    assert problem.why == "a path is wanted; a variable that is not set is empty"
