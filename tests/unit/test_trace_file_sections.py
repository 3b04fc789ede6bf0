"""The file that says which launches each test made."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.timeline.sections import launches_of_sections
from ktrace_cli.trace_file.sections import (
    Section,
    first_line,
    launch_ranges,
    matching,
    parse_sections,
    read_sections,
    section_line,
    sections_path,
)

FILE = Path("run.bin.sections.jsonl")
SETUP = Section("a/test_b.py::test_c[1-x]", "setup", "passed", 1, 2)
CALL = Section("a/test_b.py::test_c[1-x]", "call", "failed", 3, 4)
OTHER = Section("a/test_b.py::TestD::test_e", "call", "passed", 7, 0)
OPEN = Section("a/test_b.py::test_f", "call", "", 9, None)
SECTIONS = st.builds(
    Section, st.text(), st.text(), st.text(), st.integers(0, 1 << 40), st.integers(0, 1 << 40)
)


def text(*sections: Section) -> str:
    return first_line(Path("run.bin"), 7) + "".join(map(section_line, sections))


def test_the_keys_are_those_of_the_page() -> None:
    assert text(CALL, OPEN) == (
        '{"ktrace_sections": 1, "recording": "run.bin", "pid": 7}\n'
        '{"test": "a/test_b.py::test_c[1-x]", "phase": "call", "outcome": "failed", "first": 3,'
        ' "launches": 4}\n'
        '{"test": "a/test_b.py::test_f", "phase": "call", "outcome": null, "first": 9,'
        ' "launches": null}\n'
    )


def test_a_section_without_end_counts_only_on_the_last_line() -> None:
    assert parse_sections(text(OPEN, SETUP, CALL), FILE) == [SETUP, CALL]
    assert parse_sections(text(SETUP, OPEN), FILE) == [SETUP, OPEN]


def test_a_torn_last_line_is_left_out() -> None:
    assert parse_sections(text(SETUP, CALL)[:-9], FILE) == [SETUP]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]\n", "line 1 has no version; this ktrace reads version 1 of 'ktrace_sections'"),
        ('{"ktrace_sections": 2}\n', "line 1 has 2; this ktrace reads version 1"),
        (text(SETUP) + "nothing\n" + section_line(CALL), "line 3 is no section: 'nothing'"),
        (text() + '{"test": "a", "phase": "call", "first": -1}\n', "line 2 is no section: "),
        (text() + '{"test": "a", "phase": 3, "first": 1}\n', "line 2 is no section: "),
    ],
)
def test_other_lines_are_refused(content: str, why: str) -> None:
    with pytest.raises(KtraceError, match=f"cannot read {FILE}") as caught:
        parse_sections(content, FILE)

    assert caught.value.why.startswith(why)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a/test_b.py::test_c[1-x]", [SETUP, CALL]),
        ("test_b.py::test_c[1-x]", [SETUP, CALL]),
        ("test_c[1-x]", [SETUP, CALL]),
        ("test_c[1-x]::call", [CALL]),
        ("*::call", [CALL, OTHER]),
        ("test_c*", [SETUP, CALL]),
        ("TestD::*", [OTHER]),
        ("test_e", []),
        ("test_c", []),
    ],
)
def test_a_pattern_means_an_id_or_the_end_of_one(pattern: str, found: list[Section]) -> None:
    assert matching([SETUP, CALL, OTHER], [pattern]) == found


def test_launches_that_follow_each_other_are_one_range() -> None:
    assert launch_ranges([CALL, SETUP, OTHER]) == [range(1, 7)]
    assert launch_ranges([OPEN, SETUP]) == [range(1, 3), range(9, (1 << 64) - 1)]


def test_a_recording_without_sections_says_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(KtraceError, match=r"run.bin has no sections") as caught:
        read_sections(tmp_path / "run.bin")

    assert caught.value.fix == "`pytest --ktrace` writes one for each recording"


def test_a_test_of_another_process_is_found_in_the_recording_beside(tmp_path: Path) -> None:
    for name, section in (
        ("run.bin", CALL),
        ("run.8.bin", Section("t.py::test_g", "call", "", 1, 1)),
    ):
        path = tmp_path / name
        sections_path(path).write_text(first_line(path, 7) + section_line(section))

    with pytest.raises(UsageError) as caught:
        launches_of_sections(tmp_path / "run.bin", ["test_g"])

    assert caught.value.fix == f"it is in {tmp_path / 'run.8.bin'}"


@given(st.lists(SECTIONS))
def test_what_is_written_is_read(sections: list[Section]) -> None:
    assert parse_sections(text(*sections), FILE) == sections


@given(st.text() | st.lists(st.sampled_from([*text(SETUP, OPEN), "\n", "9", "{"])).map("".join))
def test_any_text_is_read_or_refused(lines: str) -> None:
    with contextlib.suppress(KtraceError):
        parse_sections(lines, FILE)
    with contextlib.suppress(KtraceError):
        parse_sections(text() + lines, FILE)


@given(st.lists(SECTIONS))
def test_ranges_ascend_without_overlap_and_have_all_launches(sections: list[Section]) -> None:
    ranges = launch_ranges(sections)

    assert all(one.stop < other.start for one, other in pairwise(ranges))
    for section in sections:
        if section.launches:
            last = section.first + section.launches - 1
            assert any(section.first in each and last in each for each in ranges)
