"""What compilers make of ktrace.hpp is read back: names, lines, places, the trace argument."""

from pathlib import Path
from random import Random

import pytest
from elftools.elf.elffile import ELFFile

from ktrace_cli.code_object.containers import find_images
from ktrace_cli.code_object.contents import CodeObject, Edge
from ktrace_cli.code_object.elf import read_elf
from ktrace_cli.code_object.names import without_sink
from ktrace_cli.code_object.notes import read_notes
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.code_object.symbols import read_symbols
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.trace_file.layout import Kind
from support.compile_kernel import compilers_for

INCLUDE = Path(__file__).parents[2] / "preload" / "include"
SOURCE = """\
#include <mini_hip.hpp>
#include <ktrace/ktrace.hpp>
KTRACE_EDGE("load", "mma");
template <int T>
__device__ __attribute__((noinline)) float helper(float x KTRACE_FN_PARAM(t)) {
  KTRACE_MARK(t, "in helper");
  return x * T;
}
template <int T>
__global__ void gemm(const float* a, float* b, int n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_GROUP(t, "producer");
  for (int i = 0; i < n; i++) {
    KTRACE_RANGE(t, "k_tile", i);
    b[i] = helper<T>(a[i] KTRACE_FN_ARG(t));
  }
  KTRACE_PUSH(t, "main");
  KTRACE_TOKEN(load);
  KTRACE_START(t, load, "load", KTRACE_LANE("vmem"));
  KTRACE_STOP(t, load);
  KTRACE_PHASE(t, "mma");
  KTRACE_POP(t);
}
template __global__ void gemm<4>(const float*, float*, int, ktrace::sink);
template __global__ void gemm<8>(const float*, float*, int, ktrace::sink);
extern "C" __global__ void plain(float* a) { a[0] = 1; }
"""
CASES = [(c.name, target) for target in ("gfx942", "gfx950") for c in compilers_for(target)]


@pytest.fixture(scope="module", params=CASES or [None], ids=str)
def image(request: pytest.FixtureRequest) -> bytes:
    if request.param is None:
        pytest.skip("no compiler for gfx942: install clang-19 or `pip install ziglang`")
    name, target = request.param
    compiler = next(c for c in compilers_for(target) if c.name == name)
    options = ("-O3", "-DKTRACE_ENABLE")
    path = compiler.hip(SOURCE, *options, includes=[INCLUDE])
    (found,) = find_images(path.read_bytes(), "k.co").images
    return bytes(found.data)


@pytest.fixture(scope="module")
def code_object(image: bytes) -> CodeObject:
    return read_code_object(image)


def test_nothing_is_unusual(code_object):
    assert code_object.warnings == ()
    assert code_object.problems == ()
    assert code_object.target in ("gfx942", "gfx950")


def test_annotated_kernels_have_a_trace_argument(code_object):
    kernels = {without_sink(k.name): k for k in code_object.kernels}

    assert {name: k.is_annotated for name, k in kernels.items()} == {
        "_Z4gemmILi4EEvPKfPfi": True,
        "_Z4gemmILi8EEvPKfPfi": True,
        "plain": False,
    }
    for kernel in kernels.values():
        if kernel.annotation is not None:
            assert kernel.annotation.refusal == ""
            assert kernel.annotation.trace_argument is not None
            assert kernel.annotation.trace_argument.index == 3
            assert kernel.annotation.trace_argument.offset == 24


def test_each_kernel_has_its_own_markers(code_object):
    expected = [
        ("producer", Kind.GROUP, "", 12),
        ("k_tile", Kind.RANGE, "", 14),
        ("main", Kind.PUSH, "", 17),
        ("load", Kind.START, "vmem", 19),
        ("mma", Kind.PHASE, "", 21),
    ]

    for kernel in code_object.kernels:
        events = code_object.events_in(kernel)
        found = [(e.name, e.kind, e.lane, e.line) for e in sorted(events, key=lambda e: e.line)]
        assert found == (expected if kernel.is_annotated else [])


def test_a_noinline_functions_marker_belongs_to_no_kernel(code_object):
    (event,) = code_object.events_in_functions

    assert (event.name, event.line, len(event.pcs)) == ("in helper", 6, 2)


def test_the_edge_is_read(code_object):
    (kernel_unit,) = {k.annotation.unit_key for k in code_object.kernels if k.annotation}

    assert code_object.edges == (Edge(kernel_unit, "load", "mma"),)


def test_our_elf_reader_agrees_with_pyelftools(image, tmp_path):
    path = tmp_path / "k.co"
    path.write_bytes(image)
    ours = read_elf(memoryview(image))

    with path.open("rb") as file:
        theirs = ELFFile(file)
        sections = [(s.name, s["sh_offset"], s["sh_addr"]) for s in theirs.iter_sections()]
        functions = {
            (symbol.name, symbol["st_value"], symbol["st_size"])
            for table in (".symtab", ".dynsym")
            if (section := theirs.get_section_by_name(table)) is not None
            for symbol in section.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
        }
        # Its notes are right where the alignment is 4.
        notes = [
            (note["n_name"], note["n_offset"], note["n_descsz"])
            for segment in theirs.iter_segments("PT_NOTE")
            for note in segment.iter_notes()
        ]

    assert [(s.name, s.offset, s.address) for s in ours.sections] == sections
    found = {(s.name, s.value, s.size) for s in read_symbols(ours) if s.is_function}
    assert found == functions
    ours_notes, problems = read_notes(ours)
    assert problems == []
    assert [(n.owner.decode(), n.offset, len(n.descriptor)) for n in ours_notes] == sorted(
        notes, key=lambda n: n[1]
    )


def without_section_headers(image: bytes) -> bytes:
    stripped = bytearray(image)
    stripped[40:48] = bytes(8)  # e_shoff
    stripped[60:64] = bytes(4)  # e_shnum, e_shstrndx
    return bytes(stripped)


def test_a_file_that_has_lost_its_section_headers_says_the_same(image, code_object):
    assert read_code_object(without_section_headers(image)) == code_object


def test_no_damage_of_the_loaders_tables_crashes(image):
    stripped = without_section_headers(image)
    random = Random(7)
    dynamic = next(s for s in read_elf(memoryview(image)).segments if s.type == 2)
    places = [*range(32, 600), *range(dynamic.offset, dynamic.offset + dynamic.size)]

    for _ in range(400):
        damaged = bytearray(stripped)
        for place in random.choices(places, k=random.randint(1, 3)):
            damaged[place : place + 1] = random.choice([b"\0", b"\xff", random.randbytes(1)])
        try:
            read = read_code_object(bytes(damaged))
        except CodeObjectError:
            continue
        assert len(read.kernels) in (0, 3)
