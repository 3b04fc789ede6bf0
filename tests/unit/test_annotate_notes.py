"""Notes and numbers of markers in Python kernels: what ktrace reads is what was written."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktrace_cli.annotate.notes import Marker, event_note, kernel_note
from ktrace_cli.annotate.unit import Unit, unit_of
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.trace_file.layout import Kind
from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler

MARKER_KINDS = (Kind.PUSH, Kind.START, Kind.PHASE, Kind.MARK, Kind.GROUP)
NAMES = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters='"\\%{|}$'),
    min_size=1,
    max_size=40,
)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.builds(
            Marker,
            st.sampled_from(MARKER_KINDS),
            NAMES,
            NAMES.filter(lambda lane: len(lane.encode()) < 16),
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
            st.integers(0, 2**32 - 1),
        ),
        min_size=20,
        max_size=40,
        unique=True,
    )
)
def test_markers_are_read_as_they_were_written(markers: list[Marker]) -> None:
    unit = Unit(0xFEDCBA9876543210)
    notes = [kernel_note(unit.key, 0), *(unit.note_and_id(marker)[0] for marker in markers)]
    body = "".join(f"{note.replace('${:uid}', str(n))}s_nop 0\n" for n, note in enumerate(notes))
    source = AsmKernel(body).source("gfx942")

    read = read_code_object(any_compiler("gfx942").assemble(source).read_bytes())

    assert read.problems == ()
    (kernel,) = read.kernels
    assert kernel.annotation is not None
    assert kernel.annotation.refusal == ""
    assert kernel.annotation.trace_argument is not None
    assert kernel.annotation.trace_argument.offset == 0
    assert kernel.code is not None
    found = {event.id: event for event in read.events}
    assert sorted(found) == list(range(len(markers)))
    for number, marker in enumerate(markers):
        event = found[number]
        assert Marker(Kind(event.kind), event.name, event.lane, event.file, event.line) == marker
        assert event.pcs == (kernel.code.start + 4 * (number + 1),)


@pytest.mark.parametrize("character", list('"\\%{|}$\n\0'))
def test_a_character_that_an_assembler_statement_takes_apart_is_refused(character: str) -> None:
    for name, lane in ((f"a{character}b", ""), ("a", f"b{character}")):
        with pytest.raises(ValueError, match="has a control character or one of"):
            Marker(Kind.PUSH, name, lane)


def test_a_name_is_needed_and_a_lane_is_short() -> None:
    with pytest.raises(ValueError, match="a marker needs a name"):
        Marker(Kind.MARK, "")
    with pytest.raises(ValueError, match="the lane 'sixteen-letters-' has more than 15 bytes"):
        Marker(Kind.PUSH, "a", "sixteen-letters-")


def test_a_marker_that_is_met_again_has_its_first_number() -> None:
    unit = Unit(7)
    load, store = Marker(Kind.PHASE, "load"), Marker(Kind.PHASE, "store")

    numbers = [unit.note_and_id(marker)[1] for marker in (load, store, load, store)]

    assert numbers == [0, 1, 0, 1]
    assert unit.note_and_id(store)[0] == event_note(7, 1, store)


def test_the_unit_of_a_kernel_is_its_own_and_stays_the_same() -> None:
    assert unit_of("a.py", "softmax").key == unit_of("a.py", "softmax").key
    keys = {unit_of(file, kernel).key for file in ("a.py", "b.py") for kernel in ("f", "g")}
    assert len({key & 0xFFFF_FFFF for key in keys}) == 4
