"""No bytes crash the readers of code objects: contents and problems, or one CodeObjectError."""

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ktrace_cli.code_object.containers import find_images
from ktrace_cli.code_object.contents import CodeObject
from ktrace_cli.code_object.listing import list_code_object
from ktrace_cli.code_object.names import demangle, display_name, shorten
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind
from support.bundles import compress_bundle, hip_entry, make_bundle, make_program
from support.code_object import (
    ET_REL,
    SHF_ALLOC,
    SHT_NOTE,
    EdgeSource,
    EventSource,
    KernelSource,
    Section,
    make_code_object,
    make_elf,
    note,
)

IMAGE = make_code_object(
    [KernelSource("a", unit_key=0x11), KernelSource("_Z1bPf")],
    [EventSource(1, "load", Kind.START, lane="vmem"), EventSource(2, "mma", Kind.PHASE)],
    [EdgeSource("load", "mma")],
)
RELOCATABLE = make_code_object(
    [KernelSource("a", unit_key=0x11)], elf_type=ET_REL, with_segments=False
)
BUNDLE = make_bundle([hip_entry("gfx942", IMAGE), hip_entry("gfx950", IMAGE)], align=64)
COMPRESSED = compress_bundle(BUNDLE, version=3)
PROGRAM = make_program(BUNDLE + COMPRESSED)
FUZZ = settings(max_examples=120, deadline=None)


def read_quietly(image: bytes | memoryview) -> CodeObject | None:
    """Read and list a code object; None if it was refused."""
    try:
        code_object = read_code_object(image)
    except CodeObjectError:
        return None
    # Views of it must hold as well.
    listing = list_code_object(code_object, "x")
    assert len(listing["kernels"]) == len(code_object.kernels)
    return code_object


def find_quietly(data: bytes) -> None:
    try:
        contents = find_images(data, "x")
    except CodeObjectError:
        return
    for image in contents.images:
        read_quietly(image.data)


@st.composite
def damaged(draw: st.DrawFn, file: bytes) -> bytes:
    content = bytearray(file)
    for _ in range(draw(st.integers(1, 6))):
        offset = draw(st.integers(0, len(content) - 1))
        # Whole numbers of any width: single flips rarely make a size enormous.
        patch = draw(
            st.one_of(
                st.binary(min_size=1, max_size=8),
                st.sampled_from([b"\xff" * 8, b"\xff" * 4, bytes(8), b"\xff\xff\xff\x7f"]),
            )
        )
        content[offset : offset + len(patch)] = patch
    return bytes(content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content)


@pytest.mark.parametrize("image", [IMAGE, RELOCATABLE], ids=["linked", "relocatable"])
def test_a_code_object_cut_anywhere_does_not_crash(image):
    for size in range(0, len(image), 7):
        read_quietly(image[:size])


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_no_changed_byte_crashes(flip):
    for offset in range(0, len(IMAGE), 3):
        changed = bytearray(IMAGE)
        changed[offset] ^= flip
        read_quietly(bytes(changed))


@FUZZ
@given(damaged(IMAGE))
def test_no_damage_of_a_code_object_crashes(image):
    read_quietly(image)


@FUZZ
@given(damaged(RELOCATABLE))
def test_no_damage_of_a_relocatable_file_crashes(image):
    read_quietly(image)


@FUZZ
@given(damaged(BUNDLE))
def test_no_damage_of_a_bundle_crashes(data):
    find_quietly(data)


@FUZZ
@given(damaged(COMPRESSED))
def test_no_damage_of_a_compressed_bundle_crashes(data):
    find_quietly(data)


@FUZZ
@given(damaged(PROGRAM))
def test_no_damage_of_a_program_crashes(data):
    find_quietly(data)


def code_object_with(*notes: bytes, align: int = 4) -> bytes:
    sections = [
        Section(f".note.{i}", content, SHT_NOTE, SHF_ALLOC, align)
        for i, content in enumerate(notes)
    ]
    return make_elf([*sections, Section(".text", bytes(64), flags=SHF_ALLOC)])


@FUZZ
@given(st.binary(max_size=200), st.sampled_from([0, 1, 4, 8, 16]))
def test_no_content_of_a_note_section_crashes(content, align):
    assert read_quietly(code_object_with(content, align=align)) is not None


@FUZZ
@given(st.integers(0, 4), st.binary(max_size=120))
@example(2, bytes(48) + b"\0\0")
def test_no_ktrace_note_crashes(note_type, descriptor):
    image = code_object_with(note(layout.NOTE_OWNER, note_type, descriptor))

    assert read_quietly(image) is not None


MSGPACK = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(1 << 63), (1 << 64) - 1), st.floats(),
        st.text(max_size=8), st.binary(max_size=8),
        st.sampled_from([".name", ".symbol", ".args", ".offset", ".size", ".value_kind"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(
                st.sampled_from([".name", ".args", ".offset", ".vgpr_count", ".symbol"]),
                st.text(max_size=4),
            ),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=20,
)  # fmt: skip


@FUZZ
@given(MSGPACK, MSGPACK)
def test_no_metadata_crashes(kernels, target):
    metadata = msgpack.packb({"amdhsa.kernels": kernels, "amdhsa.target": target})

    assert read_quietly(code_object_with(note(b"AMDGPU", 32, metadata))) is not None


@FUZZ
@given(st.binary(max_size=120))
def test_no_bytes_as_metadata_crash(descriptor):
    assert read_quietly(code_object_with(note(b"AMDGPU", 32, descriptor))) is not None


@FUZZ
@given(st.one_of(st.text(max_size=60), st.text("_ZNIEKLPRS0123456789vifac()<>:, ", max_size=60)))
def test_no_name_crashes(name):
    assert isinstance(demangle(name), str)
    assert isinstance(display_name(f"_Z{name}"), str)
    assert len(shorten(name, 20)) <= 20
