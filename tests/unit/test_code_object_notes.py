"""ELF notes in the paddings and places that real files have: every note once, none invented."""

import struct

import pytest

from ktrace_cli.code_object.elf import read_elf
from ktrace_cli.code_object.notes import read_notes
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, NoteType
from support.code_object import (
    ET_REL,
    SHF_ALLOC,
    SHT_NOTE,
    EdgeSource,
    EventSource,
    KernelSource,
    Section,
    kernel_metadata,
    make_code_object,
    make_elf,
    metadata_note,
    note,
    pointer,
    struct_bytes,
)

TEXT = Section(".text", bytes(64), flags=SHF_ALLOC)


def section(content: bytes, align: int, name: str = ".note.vendor") -> Section:
    return Section(name, content, SHT_NOTE, SHF_ALLOC, align)


def notes_of(*sections: Section, **options: object) -> list[tuple[bytes, int, bytes]]:
    elf = read_elf(memoryview(make_elf([*sections, TEXT], **options)))  # type: ignore[arg-type]
    notes, problems = read_notes(elf)
    assert problems == []
    return [(found.owner, found.type, bytes(found.descriptor)) for found in notes]


def problems_of(*sections: Section) -> tuple[list[bytes], list[str]]:
    elf = read_elf(memoryview(make_elf([*sections, TEXT])))
    notes, problems = read_notes(elf)
    return [found.owner for found in notes], problems


def test_notes_padded_to_8_are_found_in_a_section_aligned_to_8():
    content = note(b"vendor8", 7, b"12345", 8) + note(b"vendor8", 8, b"second-note!", 8)

    assert notes_of(section(content, 8)) == [
        (b"vendor8", 7, b"12345"),
        (b"vendor8", 8, b"second-note!"),
    ]


def test_notes_padded_to_4_are_found_in_a_section_aligned_to_8():
    content = note(b"vend", 7, b"12345", 4) + bytes(4)

    assert notes_of(section(content, 8)) == [(b"vend", 7, b"12345")]


@pytest.mark.parametrize("align", [0, 1, 4])
def test_a_section_of_smaller_alignment_is_padded_to_4(align):
    content = note(b"a", 1, b"123") + note(b"b", 2, b"45678")

    assert notes_of(section(content, align)) == [(b"a", 1, b"123"), (b"b", 2, b"45678")]


@pytest.mark.parametrize(
    "options",
    [{}, {"with_sections": False}, {"with_segments": False}],
    ids=["both", "segments only", "sections only"],
)
def test_every_note_is_found_once_in_sections_and_segments(options):
    sections = (section(note(b"a", 1, b"1234"), 4), section(note(b"b", 2, b""), 4, ".note.more"))

    assert notes_of(*sections, **options) == [(b"a", 1, b"1234"), (b"b", 2, b"")]


def test_a_relocatable_files_segments_are_not_notes():
    sections = (section(note(b"a", 1, b"1234"), 4),)

    assert notes_of(*sections, elf_type=ET_REL, with_segments=False) == [(b"a", 1, b"1234")]


def test_a_note_larger_than_its_section_is_a_problem_and_the_others_are_read():
    huge = struct.pack("<III", 7, 1 << 30, 32) + b"AMDGPU\0\0" + b"x" * 16

    owners, problems = problems_of(section(huge, 4), section(note(b"b", 2, b""), 4, ".note.more"))

    assert owners == [b"b"]
    assert problems == [
        "the note at offset 232 says that its name has 7 bytes and its content 1073741824; "
        "24 bytes are left"
    ]


def test_bytes_that_are_no_note_are_a_problem():
    owners, problems = problems_of(section(note(b"a", 1, b"") + b"junk", 4))

    assert owners == [b"a"]
    assert problems == ["4 bytes after the last note are no note"]


@pytest.mark.parametrize("align", [4, 8])
def test_ktrace_notes_are_read_in_both_paddings(align):
    image = make_code_object(
        [KernelSource("k", unit_key=0x11)],
        [EventSource(1, "load", Kind.MARK, lane="vmem", line=7)],
        [EdgeSource("load", "mma")],
        note_align=align,
    )

    code_object = read_code_object(image)

    assert code_object.kernels[0].is_annotated
    assert [(e.name, e.lane, e.line) for e in code_object.events] == [("load", "vmem", 7)]
    assert [(e.source, e.destination) for e in code_object.edges] == [("load", "mma")]
    assert code_object.problems == ()


@pytest.mark.parametrize(
    ("note_type", "descriptor", "words"),
    [
        (NoteType.KERNEL, bytes(39), "has 39 bytes; 40 are needed"),
        (NoteType.EVENT, bytes(47), "has 47 bytes; 48 are needed"),
        (
            NoteType.EVENT,
            struct_bytes(layout.EVENT_NOTE, kind=Kind.MARK) + b"name\0file without end",
            "ends inside its 2 strings",
        ),
        (
            NoteType.EVENT,
            struct_bytes(layout.EVENT_NOTE, kind=Kind.POP) + b"pop\0a.hip\0",
            "names event 'pop' of kind 3, which is not known",
        ),
        (NoteType.EDGE, bytes(8) + b"only one", "ends inside its 2 strings"),
        (9, bytes(8), "is of type 9, which is not known"),
    ],
)
def test_a_damaged_ktrace_note_is_a_problem_and_the_others_are_read(note_type, descriptor, words):
    damaged = section(note(layout.NOTE_OWNER, note_type, descriptor), 4, ".note.damaged")
    image = make_code_object(
        [KernelSource("k", unit_key=0x11)], [EventSource(1, "load")], extra_notes=[damaged]
    )

    code_object = read_code_object(image)

    assert code_object.kernels[0].is_annotated
    assert [event.name for event in code_object.events] == ["load"]
    assert len(code_object.problems) == 1
    assert "the KTRACE note at offset" in code_object.problems[0]
    assert words in code_object.problems[0]


def test_notes_of_other_owners_are_left_alone():
    other = section(note(b"GNU", NoteType.EVENT, b"abcd"), 4, ".note.other")

    code_object = read_code_object(make_code_object([KernelSource("k")], extra_notes=[other]))

    assert code_object.events == ()
    assert code_object.problems == ()


@pytest.mark.parametrize(
    ("descriptor", "words"),
    [
        (b"\xab\xcd\xef", "it is no whole MessagePack"),
        (metadata_note([{".name": "k"}])[20:-9], "it is no whole MessagePack"),
        (b"\x93\x01\x02\x03", "it is a MessagePack list, not a map"),
        (b"\x81\xaeamdhsa.kernels\x05", "its amdhsa.kernels is no list"),
        (b"\xdd\xff\xff\xff\xff", "it is no whole MessagePack"),
        (b"\x91" * 5000, "it is no whole MessagePack"),
    ],
    ids=["bytes", "cut", "list", "number", "length of 4 billion", "5000 levels"],
)
def test_metadata_that_cannot_be_read_is_a_problem_and_other_notes_are_read(descriptor, words):
    kernel = KernelSource("k", unit_key=0x11)
    intact = make_code_object([kernel], [EventSource(1, "load")])
    broken = section(note(b"AMDGPU", 32, descriptor), 4, ".note")
    elf = read_elf(memoryview(intact))
    ktrace = section(bytes(elf.content(elf.section(".note.ktrace"))), 4, ".note.ktrace")

    code_object = read_code_object(make_elf([broken, ktrace, TEXT]))

    assert code_object.kernels == ()
    assert [event.name for event in code_object.events] == ["load"]
    assert len(code_object.problems) == 1
    assert words in code_object.problems[0]


def test_entries_of_the_metadata_with_other_types_are_survived():
    entries = [
        {".name": "k", ".args": [7, {".offset": "x", ".size": -1}], ".vgpr_count": "many"},
        {".symbol": "nameless.kd"},
        "no map",
    ]

    code_object = read_code_object(make_elf([section(metadata_note(entries), 4, ".note"), TEXT]))

    (kernel,) = code_object.kernels
    assert kernel.resources.vgprs == 0
    assert [(a.offset, a.size) for a in kernel.arguments] == [(0, 0)]
    assert code_object.problems == (
        "an argument of k is no map",
        "kernel 1 of the metadata has no .name",
        "kernel 2 of the metadata has no .name",
    )


def test_the_kernels_of_all_metadata_notes_are_read():
    kernels = [
        KernelSource("a", unit_key=0x11),
        KernelSource("b", unit_key=0x22, metadata_note=1),
        KernelSource("c", metadata_note=2),
    ]

    code_object = read_code_object(make_code_object(kernels))

    assert [(k.name, k.is_annotated) for k in code_object.kernels] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    assert (code_object.warnings, code_object.problems) == ((), ())


def test_a_kernel_of_two_metadata_notes_is_one():
    twice = [{".name": "k", ".vgpr_count": 8}]
    other = [{".name": "k", ".vgpr_count": 16}]

    alike = read_code_object(make_elf([section(metadata_note(twice) * 2, 4, ".note"), TEXT]))
    different = read_code_object(
        make_elf([section(metadata_note(twice) + metadata_note(other), 4, ".note"), TEXT])
    )

    assert [kernel.name for kernel in alike.kernels] == ["k"]
    assert alike.problems == ()
    assert [kernel.resources.vgprs for kernel in different.kernels] == [8]
    assert different.problems == ("two metadata notes describe k differently",)


def test_a_kernel_whose_arguments_two_metadata_notes_contradict_is_refused():
    kernel = KernelSource("k", unit_key=0x11)
    other = kernel_metadata(KernelSource("k", arguments=[pointer("ktrace_sink", 0)]))
    note_of_other = section(metadata_note([other]), 4, ".note.other")

    (read,) = read_code_object(make_code_object([kernel], extra_notes=[note_of_other])).kernels

    assert read.annotation is not None
    assert read.annotation.trace_argument is None
    assert read.annotation.refusal == "two notes of metadata describe its arguments differently"


def test_metadata_notes_of_two_targets_are_a_problem():
    notes = b"".join(
        metadata_note([{".name": name}], target)
        for name, target in (("a", "gfx942"), ("b", "gfx950"))
    )

    code_object = read_code_object(make_elf([section(notes, 4, ".note"), TEXT]))

    assert [kernel.name for kernel in code_object.kernels] == ["a", "b"]
    assert code_object.problems == ("its metadata notes name 2 targets: gfx942, gfx950",)


def test_code_object_version_2_is_named():
    old = section(note(b"AMD", 10, b"---\nVersion: [ 1, 0 ]\n...\n"), 4, ".note")

    code_object = read_code_object(make_elf([old, TEXT]))

    assert code_object.warnings == (
        "it is of code object version 2, whose metadata is YAML: its kernels are not listed",
    )
