"""What a code object says: kernels, markers, the trace argument, and what is refused."""

import pytest

from ktrace_cli.code_object.contents import Edge, TraceArgument
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.trace_file.layout import Kind
from support.bundles import make_program
from support.code_object import (
    DEFAULT_ARGUMENTS,
    EM_AMDGPU,
    ET_REL,
    EdgeSource,
    EventSource,
    KernelSource,
    hidden,
    make_code_object,
    pointer,
    scalar,
)

UNIT = 0x11


def annotated(**options: object) -> KernelSource:
    return KernelSource("k", unit_key=UNIT, **options)  # type: ignore[arg-type]


def refusal_of(kernel: KernelSource) -> str:
    (read,) = read_code_object(make_code_object([kernel])).kernels
    assert read.annotation is not None
    assert (read.annotation.trace_argument is None) == bool(read.annotation.refusal)
    return read.annotation.refusal


def test_a_kernel_is_annotated_if_a_note_points_into_its_code():
    image = make_code_object([KernelSource("a"), KernelSource("b", unit_key=UNIT)])

    code_object = read_code_object(image)

    assert [(k.name, k.is_annotated) for k in code_object.kernels] == [("a", False), ("b", True)]
    assert code_object.warnings == ()
    assert code_object.problems == ()


def test_metadata_is_read():
    (kernel,) = read_code_object(make_code_object([annotated()])).kernels

    assert kernel.symbol == "k.kd"
    assert [a.name for a in kernel.arguments] == ["x", "a", "ktrace_sink", ""]
    assert [a.is_explicit for a in kernel.arguments] == [True, True, True, False]
    assert kernel.resources.vgprs == 32
    assert kernel.resources.lds_bytes == 1024
    assert kernel.resources.max_workgroup_size == 256
    assert kernel.code is not None
    assert len(kernel.code) == 256


def test_events_carry_names_and_places_by_unit_and_id():
    image = make_code_object(
        [annotated()],
        [
            EventSource(2, "mma", Kind.PHASE, file="gemm.hip", line=20),
            EventSource(1, "load", Kind.START, lane="vmem", line=10, offset=32),
            EventSource(1, "load", Kind.START, lane="vmem", line=10, offset=64),
            EventSource(1, "other unit", Kind.MARK, unit_key=0x22),
        ],
        [EdgeSource("load", "mma"), EdgeSource("load", "mma")],
    )

    code_object = read_code_object(image)

    seen = [(e.unit_key, e.id, e.kind, e.name, e.lane) for e in code_object.events]
    assert seen == [
        (0x11, 1, Kind.START, "load", "vmem"),
        (0x11, 2, Kind.PHASE, "mma", ""),
        (0x22, 1, Kind.MARK, "other unit", ""),
    ]
    assert code_object.event_by_key[0x11, 2].file == "gemm.hip"
    assert code_object.edges == (Edge(0x11, "load", "mma"),)
    start = code_object.kernels[0].code.start
    assert code_object.event_by_key[0x11, 1].pcs == (start + 32, start + 64)


def test_events_belong_to_the_kernel_whose_code_holds_them():
    image = make_code_object(
        [KernelSource("a", unit_key=UNIT), KernelSource("b", unit_key=UNIT)],
        [
            EventSource(1, "in both", kernel="a"),
            EventSource(1, "in both", kernel="b"),
            EventSource(2, "in b", kernel="b"),
            EventSource(3, "in a function", kernel=""),
        ],
    )

    code_object = read_code_object(image)
    a, b = code_object.kernels

    assert [(e.name, len(e.pcs)) for e in code_object.events_in(a)] == [("in both", 1)]
    assert [(e.name, len(e.pcs)) for e in code_object.events_in(b)] == [("in both", 1), ("in b", 1)]
    assert [e.name for e in code_object.events_in_functions] == ["in a function"]


def test_the_last_explicit_argument_is_the_trace_argument():
    arguments = [pointer("x", 0), pointer("ktrace_sink", 8), hidden("block_count_x", 16, 4)]

    (kernel,) = read_code_object(make_code_object([annotated(arguments=arguments)])).kernels

    assert kernel.annotation is not None
    assert kernel.annotation.trace_argument == TraceArgument(index=1, offset=8)


@pytest.mark.parametrize("place", [{"arg_index": 0}, {"kernarg_offset": 0}])
def test_a_note_may_name_the_trace_argument(place):
    (kernel,) = read_code_object(make_code_object([annotated(**place)])).kernels

    assert kernel.annotation is not None
    assert kernel.annotation.trace_argument == TraceArgument(index=0, offset=0)


def test_a_trace_argument_on_padding_is_refused():
    # Explicit arguments end at 12 of a kernarg segment of 24: nothing may be put at 16.
    arguments = [pointer("x", 0), scalar("n", 8)]
    metadata = {".kernarg_segment_size": 24}

    last = refusal_of(annotated(arguments=arguments, metadata=metadata))
    named = refusal_of(annotated(arguments=arguments, metadata=metadata, kernarg_offset=16))

    assert last == (
        "its trace argument 'n' (2 of 2, offset 8) is by_value of 4 bytes; "
        "it must be by_value or global_buffer of 8"
    )
    assert "its note names offset 16" in named


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"arguments": None, "metadata": {".kernarg_segment_size": 368}}, "lists no arguments"),
        ({"arguments": [hidden("block_count_x", 0, 8)]}, "lists no explicit argument"),
        ({"arguments": [scalar("big", 0, 16)]}, "is by_value of 16 bytes"),
        ({"arguments": [pointer("lds", 0, "dynamic_shared_pointer")]}, "dynamic_shared_pointer"),
        ({"arg_index": 3}, "names argument 4; the metadata lists 3 explicit arguments and none"),
        ({"kernarg_offset": 12}, "its note names offset 12; the metadata lists 3"),
        ({"arg_index": 1, "kernarg_offset": 16}, "names argument 2 at offset 16"),
        ({"metadata": {".kernarg_segment_size": 16}}, "outside the kernarg segment of 16 bytes"),
        ({"abi_version": 2}, "compiled with ktrace ABI 2; this ktrace knows 1"),
        ({"record_format": 9}, "writes record format 9"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_kernel_that_cannot_be_traced_says_why(options, words):
    assert words in refusal_of(annotated(**options))


def test_a_hidden_argument_never_becomes_the_trace_argument():
    code_object = make_code_object([annotated(arguments=DEFAULT_ARGUMENTS, arg_index=3)])

    (kernel,) = read_code_object(code_object).kernels

    assert kernel.annotation is not None
    assert kernel.annotation.trace_argument is None


def test_one_id_with_two_names_is_refused_and_neither_name_is_taken():
    image = make_code_object(
        [annotated()],
        [
            EventSource(1, "load", file="a.hip", line=3),
            EventSource(1, "store", file="b.hip", line=4),
            EventSource(2, "fine"),
        ],
    )

    code_object = read_code_object(image)

    expected = (
        "event 1 of unit 0000000000000011 is 'load', 'store' (a.hip:3, b.hip:4): "
        "two translation units share one unit key"
    )
    assert [event.name for event in code_object.events] == ["fine"]
    assert code_object.warnings == (expected,)
    assert code_object.kernels[0].annotation.refusal == expected


def test_notes_of_two_units_in_one_kernel_are_refused():
    image = make_code_object([annotated(), KernelSource("k", unit_key=0x22, symbol="k.kd")])

    code_object = read_code_object(image)

    assert "notes of two translation units" in code_object.kernels[0].annotation.refusal


def test_the_descriptor_is_found_by_symbol_and_shown_by_name():
    image = make_code_object([KernelSource("k_pretty", unit_key=UNIT, symbol="k_impl_v2.kd")])

    (kernel,) = read_code_object(image).kernels

    assert (kernel.name, kernel.symbol) == ("k_pretty", "k_impl_v2.kd")
    assert kernel.is_annotated


def test_a_name_of_3000_characters_is_kept_whole():
    name = "_Z" + "x" * 2998

    (kernel,) = read_code_object(make_code_object([KernelSource(name, unit_key=UNIT)])).kernels

    assert kernel.name == name
    assert kernel.is_annotated


def test_a_symbol_without_a_size_ends_at_the_next_one():
    image = make_code_object([annotated(has_symbol_size=False), KernelSource("b")])

    kernel, _ = read_code_object(image).kernels

    assert kernel.code is not None
    assert len(kernel.code) == 256
    assert kernel.is_annotated


def test_a_relocatable_file_is_read_and_said_to_be_not_loadable():
    image = make_code_object(
        [annotated()], [EventSource(1, "load")], elf_type=ET_REL, with_segments=False
    )

    code_object = read_code_object(image)

    assert not code_object.is_loadable
    assert [kernel.name for kernel in code_object.kernels] == ["k"]
    assert [(event.name, event.pcs) for event in code_object.events] == [("load", ())]
    assert "relocatable, not loadable" in code_object.warnings[0]


def test_a_file_without_section_headers_is_read():
    code_object = read_code_object(make_code_object([annotated()], with_sections=False))

    assert [kernel.name for kernel in code_object.kernels] == ["k"]
    assert code_object.warnings == ("1 of 1 KERNEL notes point into no kernel's code",)


@pytest.mark.parametrize(
    ("flags", "abi_version", "target"),
    [
        (0x4C | 0xC00 | 0x200, 4, "gfx942:sramecc+:xnack-"),
        (0x4C | 0x400 | 0x100, 4, "gfx942"),
        (0x4F | 0x800 | 0x300, 3, "gfx950:sramecc-:xnack+"),
        (0x3F | 0x200 | 0x100, 1, "gfx90a:sramecc+:xnack+"),
        (0x2C, 0, "gfx900"),
        (0x02, 0, "unknown (machine 0x02)"),
    ],
)
def test_the_target_comes_from_the_elf_header_if_the_metadata_is_silent(flags, abi_version, target):
    image = make_code_object([annotated()], target="", flags=flags, abi_version=abi_version)

    assert read_code_object(image).target == target


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (b"", "it ends at offset 0, inside the ELF header of 64 bytes"),
        (b"\x7fELF" + bytes(10), "it ends at offset 14"),
        (b"not an elf" * 10, "it begins (offset 0) with 6e 6f 74 20"),
        (b"\x7fELF\x01\x01\x01" + bytes(57), "class 1 and byte order 1 (offset 4)"),
        (make_program(None), f"machine (offset 18) is 62, AMDGPU is {EM_AMDGPU}"),
    ],
    ids=["empty", "cut", "text", "32 bits", "host"],
)
def test_a_file_that_is_no_code_object_is_refused(image, why):
    with pytest.raises(CodeObjectError) as raised:
        read_code_object(image, "some.co")

    assert "some.co" in raised.value.what
    assert why in raised.value.why
    assert raised.value.fix


def test_copies_that_linking_left_behind_are_told_from_notes_that_lead_nowhere():
    left = read_code_object(make_code_object([annotated()], left_behind=2))

    assert [kernel.is_annotated for kernel in left.kernels] == [True]
    assert left.problems == ()
    assert left.warnings == ("2 of 3 KERNEL notes are of copies that linking left behind",)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (hidden("none", 16, 8), "shares its place with another argument"),
        (scalar("wide", 12, 8), "shares its place with another argument"),
    ],
)
def test_a_place_that_two_arguments_have_is_refused(other: dict[str, object], words: str):
    """CASES V-c9"""
    arguments = [pointer("x", 0), other, scalar("ktrace_sink", 16, 8)]

    assert refusal_of(annotated(arguments=arguments)).endswith(words)


def test_a_trace_argument_is_never_unaligned():
    """CASES V-c9: the interposer refuses the same."""
    assert refusal_of(annotated(arguments=[scalar("ktrace_sink", 4, 8)])).endswith(
        "lies at an offset that is no multiple of 8"
    )


def test_units_whose_keys_share_their_low_half_are_refused():
    first, second = 0x1_0000_0007, 0x2_0000_0007
    kernels = [KernelSource("a", first), KernelSource("b", second), KernelSource("c", 3)]
    events = [EventSource(1, "x", unit_key=first), EventSource(2, "y", unit_key=second)]

    code_object = read_code_object(make_code_object(kernels, events))

    words = (
        "the unit keys 0000000100000007 and 0000000200000007 have one low half: "
        "recorded events do not tell them apart"
    )
    refusals = [k.annotation.refusal if k.annotation else "" for k in code_object.kernels]
    assert refusals == [words, words, ""]
