"""The notes of markers, read back from the code object."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from device_api.build import ENABLE, HEADERS, INCLUDE, build
from device_api.launch import Device
from device_api.model import told
from device_api.notes import EDGE, EVENT, KERNEL, Note, event_names, read_functions, read_notes
from ktrace_cli.trace_file.layout import Kind
from support.compile_kernel import HEADERS as MINI_HIP
from support.compile_kernel import Compiler

EVERYWHERE = (
    HEADERS
    + """
KTRACE_EDGE("load", "mma");
KTRACE_EDGE("any \\"text\\" %", "goes");
template <int N> struct Op {
  template <class Trace> static __device__ int run(Trace& t, int x) {
    KTRACE_RANGE(t, "op", KTRACE_LANE("valu"));
    return x * N;
  }
};
__device__ __noinline__ int apart(int x KTRACE_FN_PARAM(t)) {
  KTRACE_MARK(t, "apart", x);
  return x * 7;
}
extern "C" __global__ void everywhere(int* out, const int* in, unsigned n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  int x = in[threadIdx.x];
  auto lambda = [&](int y) { KTRACE_MARK(t, "lambda", y); return y + 1; };
  auto generic = [&](auto y) { KTRACE_MARK(t, "generic", y); return y; };
  x = Op<3>::run(t, x) + Op<5>::run(t, x);
  x = lambda(x) + lambda(x + 1);
  x += generic(1) + static_cast<int>(generic(2.5f));
  if constexpr (sizeof(int) == 8) { KTRACE_MARK(t, "never compiled"); }
  if ((n | 4) == 3) { KTRACE_MARK(t, "never reached"); }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    KTRACE_MARK(t, "unrolled", i);
    x += i;
  }
  KTRACE_GROUP(t, "group");
  KTRACE_PUSH(t, "push");
  KTRACE_POP(t);
  KTRACE_PHASE(t, "phase", KTRACE_LANE("123456789012345"));
  KTRACE_PHASE_END(t);
  KTRACE_TOKEN(token);
  KTRACE_START(t, token, "start", 1, KTRACE_LANE("12345678"));
  KTRACE_STOP(t, token);
  KTRACE_ANCHOR(t);
  out[threadIdx.x] = apart(x KTRACE_FN_ARG(t));
}
extern "C" __global__ void unannotated(int* out) { out[threadIdx.x] = 1; }
"""
)


@pytest.fixture
def everywhere(compiler: Compiler) -> Path:
    path: Path = build(compiler, EVERYWHERE).path
    return path


def events(path: Path) -> list[Note]:
    return [note for note in read_notes(path) if note.type == EVENT]


def test_each_emitted_copy_of_a_marker_has_a_note(everywhere: Path) -> None:
    assert Counter(note.name for note in events(everywhere)) == {
        "op": 2,
        "lambda": 2,
        "generic": 2,
        "unrolled": 4,
        "group": 1,
        "push": 1,
        "phase": 1,
        "start": 1,
        "apart": 1,
    }


def test_copies_of_a_marker_share_their_id_and_others_do_not(everywhere: Path) -> None:
    names = event_names(everywhere)

    assert sorted(names.values()) == sorted({note.name for note in events(everywhere)})


def test_notes_say_kind_lane_line_and_file(everywhere: Path) -> None:
    first_line = {text: line for line, text in enumerate(EVERYWHERE.split("\n"), 1)}
    notes = {note.name: note for note in events(everywhere)}

    assert {name: Kind(note.kind) for name, note in notes.items()} == {
        "op": Kind.RANGE,
        "lambda": Kind.MARK,
        "generic": Kind.MARK,
        "unrolled": Kind.MARK,
        "group": Kind.GROUP,
        "push": Kind.PUSH,
        "phase": Kind.PHASE,
        "start": Kind.START,
        "apart": Kind.MARK,
    }
    lanes = {name: note.lane for name, note in notes.items() if note.lane}
    assert lanes == {"op": "valu", "phase": "123456789012345", "start": "12345678"}
    assert notes["push"].line == first_line['  KTRACE_PUSH(t, "push");']
    assert {note.file for note in notes.values()} == {"kernel.hip"}


def test_markers_lie_in_the_function_that_holds_them(everywhere: Path) -> None:
    functions = {symbol.name: symbol for symbol in read_functions(everywhere)}
    apart = next(f for name, f in functions.items() if "apart" in name)
    kernel = functions["everywhere"]

    for note in events(everywhere):
        holder = apart if note.name == "apart" else kernel
        assert holder.begin <= note.pc < holder.end
    addresses = [note.pc for note in events(everywhere)]
    assert len(set(addresses)) == len(addresses)


def test_a_marker_without_payload_points_at_its_first_instruction(everywhere: Path) -> None:
    """s_cmp_lg_u64 exec, s[..]: nothing else compares EXEC with a scalar register. LLVM 22 puts an
    s_nop between two asm blocks."""
    text = everywhere.read_bytes()
    by_name = {note.name: note for note in events(everywhere)}
    offset = _file_offset(everywhere)

    for name in ("group", "push", "phase"):
        at = by_name[name].pc - offset
        words = [int.from_bytes(text[at + i : at + i + 4], "little") for i in (0, 4)]
        word = words[words[0] == 0xBF800000]
        assert word & 0xFFFF00FF == 0xBF13007E, f"{name}: {word:#x}"


def _file_offset(path: Path) -> int:
    """How much higher code is in memory than in the file."""
    with path.open("rb") as file:
        section: Any = ELFFile(file).get_section_by_name(".text")
        return int(section["sh_addr"] - section["sh_offset"])


def test_only_the_annotated_kernel_has_a_kernel_note(everywhere: Path) -> None:
    functions = {symbol.name: symbol for symbol in read_functions(everywhere)}
    kernels = [note for note in read_notes(everywhere) if note.type == KERNEL]

    (kernel,) = kernels
    assert functions["everywhere"].begin <= kernel.pc < functions["everywhere"].end
    assert {note.unit_key for note in read_notes(everywhere)} == {kernel.unit_key}


def test_edges_are_notes_of_the_unit(everywhere: Path) -> None:
    edges = [note.names for note in read_notes(everywhere) if note.type == EDGE]

    assert edges == [("load", "mma"), ('any "text" %', "goes")]


def test_strip_keeps_the_notes(everywhere: Path, tmp_path: Path) -> None:
    strip = shutil.which("llvm-strip-19") or shutil.which("llvm-strip")
    if not strip:
        pytest.skip("llvm-strip is not installed")
    stripped = tmp_path / "stripped.co"

    subprocess.run([strip, "--strip-all", "-o", str(stripped), str(everywhere)], check=True)

    assert stripped.stat().st_size < everywhere.stat().st_size
    assert read_notes(stripped) == read_notes(everywhere)


SHARED = """
#pragma once
__device__ __noinline__ int other(int x KTRACE_FN_PARAM(t));
__device__ __noinline__ inline int shared(int x KTRACE_FN_PARAM(t)) {
  KTRACE_MARK(t, "shared", 1);
  return x * 17;
}
template <int N> __device__ __noinline__ int templated(int x KTRACE_FN_PARAM(t)) {
  KTRACE_RANGE(t, "templated");
  return x * N;
}
"""
MAIN = """
KTRACE_EDGE("main", "other");
extern "C" __global__ void two_units(int* out KTRACE_PARAM) {
  KTRACE_WAVE(t);
  int x = static_cast<int>(threadIdx.x);
  KTRACE_MARK(t, "main");
  x += shared(x KTRACE_FN_ARG(t));
  x += templated<7>(x KTRACE_FN_ARG(t));
  x += other(x KTRACE_FN_ARG(t));
  KTRACE_MARK(t, "main end");
  out[threadIdx.x] = x;
}
"""
OTHER = """
KTRACE_EDGE("other", "main");
__device__ __noinline__ int other(int x KTRACE_FN_PARAM(t)) {
  KTRACE_MARK(t, "other", 2);
  return shared(x KTRACE_FN_ARG(t)) + templated<7>(x KTRACE_FN_ARG(t));
}
"""
STORY = [
    "mark main",
    "mark shared 1",
    "range templated",
    "mark other 2",
    "mark shared 1",
    "range templated",
    "mark main end",
]


def link_two_units(compiler: Compiler, folder: Path, *, lto: bool) -> Path:
    """Compile MAIN and OTHER apart with -fgpu-rdc and link them, as objects or as bitcode."""
    (folder / "shared.hpp").write_text(SHARED)
    linked = []
    for name, text in (("main", MAIN), ("other", OTHER)):
        source = folder / f"{name}.hip"
        source.write_text(f'{HEADERS}#include "shared.hpp"\n{text}')
        bitcode, made = source.with_suffix(".bc"), source.with_suffix(".o")
        flags = ["-x", "hip", "--offload-device-only", "-nogpuinc", "-nogpulib", "-std=c++17"]
        flags += [f"--offload-arch={compiler.target}", "-fgpu-rdc", "--no-gpu-bundle-output"]
        flags += ["-O3", ENABLE]
        includes = [f"-I{MINI_HIP}", f"-I{INCLUDE}"]
        emit = ["-emit-llvm", "-c", source.name, "-o", str(bitcode)]
        subprocess.run([*compiler.driver, *flags, *includes, *emit], cwd=folder, check=True)
        target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={compiler.target}", "-nogpulib", "-O3"]
        emit = ["-c", "-x", "ir", str(bitcode), "-o", str(made)]
        subprocess.run([*compiler.driver, *target, *emit], cwd=folder, check=True)
        linked.append(str(bitcode if lto else made))
    result = folder / "two_units.co"
    options = ["-shared", "--gc-sections", f"-plugin-opt=mcpu={compiler.target}", "-o", str(result)]
    subprocess.run([*compiler.linker, *options, *linked], cwd=folder, check=True)
    return result


@pytest.mark.parametrize("lto", [False, True], ids=["objects", "lto"])
def test_two_units_keep_their_names(
    compiler: Compiler, device: Device, tmp_path: Path, *, lto: bool
) -> None:
    path = link_two_units(compiler, tmp_path, lto=lto)

    notes = read_notes(path)
    assert Counter(note.name for note in notes if note.type == EVENT) == {
        "main": 1,
        "main end": 1,
        "other": 1,
        "shared": 1,  # the copy that the linker discarded took its note along
        "templated": 1,
    }
    assert len({note.unit_key for note in notes}) == 2
    assert {n.names for n in notes if n.type == EDGE} == {("main", "other"), ("other", "main")}
    functions = read_functions(path)
    for note in notes:
        if note.type != EDGE:
            assert any(f.begin <= note.pc < f.end for f in functions)
    unit = next(note.unit_key for note in notes if note.type == KERNEL) & 0xFFFFFFFF
    traced = device.trace(path, "two_units", [np.zeros(256, np.int32)])
    for wave in traced.waves:
        assert wave
        assert told(wave, event_names(path), unit) == STORY


def test_functions_of_discarded_kernels_leave_no_note(compiler: Compiler, tmp_path: Path) -> None:
    """A COMDAT function that nobody calls is emitted in no unit."""
    source = (
        HEADERS
        + SHARED
        + MAIN.replace("x += other(x KTRACE_FN_ARG(t));", "").replace(
            "x += templated<7>(x KTRACE_FN_ARG(t));", ""
        )
    )
    path = build(compiler, source.replace("#pragma once", "")).path

    assert {n.name for n in events(path)} == {"main", "main end", "shared"}
