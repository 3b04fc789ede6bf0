"""Placeholders in the names of recordings."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.launch.placeholders import facts_of_run, fill_in, name_here

COMMAND = ["/opt/my tools/train.py", "--size", "a/b"]
NOW = time.struct_time((2026, 3, 4, 5, 6, 7, 2, 63, 0))


def filled(text: str, **environment: str) -> str:
    return fill_in("-o", text, facts_of_run(COMMAND, environment, NOW))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("run.bin", "run.bin"),
        ("%hostname%", socket.gethostname()),
        ("%h.bin", f"{socket.gethostname()}.bin"),
        ("%user%", "ada"),
        ("%launch_date%", "2026-03-04"),
        ("%launch_time%", "2026-03-04_05.06.07"),
        ("%tag%_%job%", "train.py_77"),
        ("%argt%", "train.py_--size_a_b"),
        ("%argv%", "opt_my_tools_train.py_--size_a_b"),
        ("%a", "opt_my_tools_train.py_--size_a_b"),
        ("%args%", "--size_a_b"),
        ("%arg1%-%arg9%.", "--size-."),
        ("%cwd%/x", f"{Path.cwd()}/x"),
        ("%j_%h", f"77_{socket.gethostname()}"),
    ],
)
def test_what_all_processes_share_is_filled_in(text: str, result: str) -> None:
    assert filled(text, USER="ada", SLURM_JOB_ID="77") == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("%pid%.%ppid%", "%pid%.%ppid%"),
        ("%p", "%pid%"),
        ("%r-of-%s", "%rank%-of-%size%"),
        ("%rank%/%size%", "%rank%/%size%"),
        ("%env{X_1}%", "%env{X_1}%"),
        ("%ENV{X}%", "%env{X}%"),
        ("%q{X}", "%env{X}%"),
        ("%p_%p", "%pid%_%pid%"),
    ],
)
def test_what_differs_is_left_to_each_process_in_its_long_form(text: str, result: str) -> None:
    assert filled(text) == result


def test_nid_is_the_rank_where_there_is_one() -> None:
    assert filled("%nid%", SLURM_PROCID="3") == "%rank%"
    assert filled("%nid%") == "%pid%"


def test_without_a_users_name_there_is_the_number() -> None:
    assert filled("%user%") == str(os.getuid())


def test_a_long_command_is_cut() -> None:
    facts = facts_of_run(["x" * 300], {}, NOW)

    assert fill_in("-o", "%argv%", facts) == "x" * 100


@pytest.mark.parametrize(
    ("text", "why", "fix"),
    [
        ("%pip%", "'%pip%' is no placeholder", "did you mean %pid%?"),
        ("a%hostnam%b", "'%hostnam%' is no placeholder", "did you mean %hostname%?"),
        ("%hostname_%pid%", "'%hostname_%' is no placeholder", "did you mean %hostname%?"),
        ("%PID%", "'%PID%' is no placeholder", "there are %pid%, %ppid%, "),
        ("%bogus%", "'%bogus%' is no placeholder", "there are %pid%, %ppid%, "),
        ("%zzz%", "'%zzz%' is no placeholder", "there are %pid%, %ppid%, "),
        ("100%", "'%' is no placeholder", "leave `%` out of the name"),
        ("%%", "'%%' is no placeholder", "leave `%` out of the name"),
        ("%env{A-B}%", "'%env{A-B}%' is no placeholder", "name a variable: `%env{SLURM_JOB_ID}%`"),
        ("%env{}%", "'%env{}%' is no placeholder", "name a variable: `%env{SLURM_JOB_ID}%`"),
        ("%q{X", "'%q' is no placeholder", "name a variable: `%env{SLURM_JOB_ID}%`"),
    ],
)
def test_an_unknown_placeholder_is_an_error_with_a_suggestion(
    text: str, why: str, fix: str
) -> None:
    with pytest.raises(UsageError) as problem:
        filled(text)

    assert problem.value.what == f"cannot read `-o {text}`"
    assert problem.value.why == why
    assert problem.value.fix.startswith(fix)


def test_the_name_that_a_process_like_this_one_takes() -> None:
    environment = {"RANK": "5", "WORLD_SIZE": "8", "X": "a/b"}

    assert name_here("r%rank%of%size%/%env{X}%", environment) == "r5of8/a/b"
    assert name_here("%env{Y}%", environment) == ""
    assert name_here("%rank%_%size%", {}) == "0_1"
    assert name_here("%rank%", {"RANK": "5", "SLURM_PROCID": "2"}) == "2"
    assert name_here("%rank%_%pid%", environment) == ""
    assert name_here("%ppid%", environment) == ""
