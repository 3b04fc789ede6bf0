"""What compiles, what does not and what the user is told, and that markers vanish when disabled."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from device_api.build import ENABLE, HEADERS, INCLUDE, WARNINGS, build
from support.compile_kernel import HEADERS as MINI_HIP
from support.compile_kernel import CompileError, Compiler, any_compiler

# What <hip/hip_runtime.h> declares for launches.
HOST_HIP = """
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = nullptr);
extern "C" int __hipPopCallConfiguration(dim3*, dim3*, unsigned long*, void**);
"""


@pytest.mark.parametrize(
    "option",
    [
        "-O1",
        "-Os",
        "-g",
        "-DKTRACE_POLL_CLOCK",
        "-DKTRACE_INLINE_COLD",
        "-DKTRACE_NO_SCHED_BARRIER",
        "-std=c++20",
    ],
)
def test_every_marker_compiles_without_a_warning(
    compiler: Compiler, patterns: str, option: str
) -> None:
    build(compiler, patterns, option)


@pytest.mark.parametrize("enable", [[], [ENABLE]])
def test_the_host_pass_compiles_without_a_warning(
    tmp_path: Path, patterns: str, enable: list[str]
) -> None:
    compiler = any_compiler("gfx942")
    source = tmp_path / "kernel.hip"
    source.write_text("#include <mini_hip.hpp>\n" + HOST_HIP + patterns)
    driver = [*compiler.driver, "-x", "hip", "--offload-host-only", "-nogpuinc", "-std=c++17"]
    includes = [f"-I{MINI_HIP}", f"-I{INCLUDE}"]
    command = [*driver, *includes, *WARNINGS, *enable, "-c", str(source), "-o", "made.o"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    sections = (tmp_path / "made.o").read_bytes()
    assert b".note.ktrace" not in sections


@pytest.mark.parametrize("enable", [[], [ENABLE]])
def test_a_host_compiler_that_knows_no_gpu_takes_the_header(
    tmp_path: Path, enable: list[str]
) -> None:
    source = """#include <ktrace/ktrace.hpp>
    int launch(int a KTRACE_PARAM);
    int launch_nothing(KTRACE_ONLY_PARAM);
    KTRACE_EDGE("a", "b");
    int main() { return launch(1 KTRACE_ARG); }
    """
    (tmp_path / "host.cpp").write_text(source)
    command = ["c++", "-std=c++17", *WARNINGS, f"-I{INCLUDE}", *enable, "-fsyntax-only", "host.cpp"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def _kernel(body: str, before: str = "") -> str:
    head = 'extern "C" __global__ void k(int* out, float f KTRACE_PARAM)'
    return f"{HEADERS}{before}\n{head} {{ KTRACE_WAVE(t); {body} out[0] = static_cast<int>(f); }}"


LITERAL = "ktrace: a name must be a string literal"
CHARACTERS = "ktrace: a name must have no control character and none of"
PAYLOAD = "ktrace: a payload must be a bool, an integer, a float or a double; convert it"
COUNTED = "static_assert(__COUNTER__ >= 0);\n"  # takes an id as a marker does, and compiles fast
LANE = "ktrace: a lane's name has at most 15 characters; shorten it"
MARK = (
    "ktrace: KTRACE_MARK takes no KTRACE_LANE, a moment stays on its wave's track; remove it, or "
    "use KTRACE_RANGE, KTRACE_PUSH, KTRACE_PHASE or KTRACE_START"
)
GROUP = (
    "ktrace: KTRACE_GROUP takes a name only, no payload and no KTRACE_LANE; put values into a "
    "KTRACE_MARK"
)
NESTED = (
    "ktrace: a KTRACE_WAVE within the scope of another one would overwrite its record; keep the "
    "outer one"
)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (_kernel('const char* name = "x"; KTRACE_MARK(t, name);'), LITERAL),
        (_kernel("KTRACE_RANGE(t, name);", 'constexpr char name[] = "x";'), LITERAL),
        (_kernel('KTRACE_PUSH(t, u8"x");'), LITERAL),
        (_kernel('KTRACE_MARK(t, "50%");'), CHARACTERS),
        (_kernel('KTRACE_MARK(t, "a\\nb");'), CHARACTERS),
        (_kernel('KTRACE_MARK(t, "say \\"x\\"");'), CHARACTERS),
        (_kernel('KTRACE_MARK(t, "{x}");'), CHARACTERS),
        (_kernel('KTRACE_MARK(t, "x", out);'), PAYLOAD),
        (_kernel('KTRACE_RANGE(t, "x", static_cast<_Float16>(f));'), PAYLOAD),
        (_kernel('KTRACE_MARK(t, "x", S{});', "struct S {};"), PAYLOAD),
        (_kernel('KTRACE_MARK(t, "x", E::a);', "enum class E { a };"), PAYLOAD),
        (_kernel('KTRACE_MARK(t, "x", "text");'), PAYLOAD),
        (_kernel('KTRACE_PUSH(t, "x", KTRACE_LANE("1234567890123456"));'), LANE),
        (
            _kernel('KTRACE_PUSH(t, "x", KTRACE_LANE("a"), KTRACE_LANE("b"));'),
            "ktrace: a marker has at most one KTRACE_LANE",
        ),
        (_kernel('KTRACE_MARK(t, "x", KTRACE_LANE("a"));'), MARK),
        (_kernel('KTRACE_MARK(t, "x", 1, KTRACE_LANE("a"), 2);'), MARK),
        (_kernel('KTRACE_GROUP(t, "x", KTRACE_LANE("a"));'), GROUP),
        (_kernel('KTRACE_GROUP(t, "x", 1);'), GROUP),
        (_kernel("{ KTRACE_WAVE(inner); }"), NESTED),
        (_kernel("for (int i = 0; i < 9; ++i) { KTRACE_WAVE(inner); }"), NESTED),
        (_kernel("auto step = [&] { KTRACE_WAVE(inner); }; step();"), NESTED),
        (_kernel("KTRACE_WAVE(second);"), NESTED),
        (
            _kernel('KTRACE_RANGE(t, "x");', COUNTED * 2048),
            "ktrace: only the first 2048 markers of a translation unit can be a KTRACE_RANGE; "
            "use KTRACE_PUSH and KTRACE_POP, or split the source",
        ),
    ],
    ids=lambda text: text[-60:] if text.startswith("#") else "",
)
def test_a_mistake_is_named_with_what_to_do(source: str, message: str) -> None:
    with pytest.raises(CompileError, match=re.escape(message)):
        any_compiler("gfx942").hip(source, ENABLE, includes=[INCLUDE])


def test_a_wave_that_begins_in_a_branch_without_braces_ends_there() -> None:
    """So it cannot be mistaken for one that is the whole kernel's."""
    source = (
        HEADERS
        + """
    extern "C" __global__ void k(int n KTRACE_PARAM) {
      if (n > 1) KTRACE_WAVE(t);
      KTRACE_MARK(t, "x");
    }
    """
    )

    with pytest.raises(CompileError, match="use of undeclared identifier 't'"):
        any_compiler("gfx942").hip(source, ENABLE, includes=[INCLUDE])


@pytest.mark.parametrize("parameters", ["", "int*"])
def test_a_kernel_without_the_parameter_is_told_to_add_it_and_nothing_else(
    compiler: Compiler, parameters: str
) -> None:
    source = f"""{HEADERS}
    extern "C" __global__ void k({parameters}) {{ KTRACE_WAVE(t); KTRACE_MARK(t, "x"); }}
    """
    message = (
        "ktrace: KTRACE_WAVE finds no trace buffer; write KTRACE_PARAM after the kernel's last "
        "parameter (KTRACE_ONLY_PARAM if it has none)"
    )

    with pytest.raises(CompileError, match=re.escape(message)) as caught:
        compiler.hip(source, ENABLE, *WARNINGS, includes=[INCLUDE])

    assert str(caught.value).count(" error: ") == 1


def test_the_2048th_marker_may_be_a_range(compiler: Compiler) -> None:
    built = build(compiler, _kernel('KTRACE_RANGE(t, "x");', COUNTED * 2047), "-Wno-c2y-extensions")

    assert built.names == {(built.unit, 2047): "x"}


def test_an_unsupported_target_is_refused_with_what_to_do() -> None:
    compiler = replace(any_compiler("gfx942"), target="gfx1100")
    message = (
        "this GPU target is not supported; gfx90a, gfx942 and gfx950 are. Build others without"
    )

    with pytest.raises(CompileError, match=re.escape(message)):
        compiler.hip(_kernel(""), ENABLE, includes=[INCLUDE])

    compiler.hip(_kernel(""), includes=[INCLUDE])


def test_unoptimised_device_code_is_refused_with_what_to_do() -> None:
    with pytest.raises(CompileError, match=re.escape("Compile with -O1 or more")):
        any_compiler("gfx942").hip(_kernel(""), "-O0", ENABLE, includes=[INCLUDE])


def test_an_old_standard_is_refused_with_what_to_do() -> None:
    with pytest.raises(CompileError, match=re.escape("C++17 is needed. Add -std=c++17")):
        any_compiler("gfx942").hip(_kernel(""), "-std=c++14", includes=[INCLUDE])


def test_values_that_convert_to_a_number_are_payloads(compiler: Compiler) -> None:
    source = _kernel(
        'KTRACE_MARK(t, "x", threadIdx.x, blockIdx.y, a, b);',
        "enum E { a }; struct S { __device__ operator long() const { return 1; } };"
        "static const __device__ S b{};",
    )

    build(compiler, source)


def test_uniform_values_that_vector_instructions_made_are_payloads(compiler: Compiler) -> None:
    """LLVM 22 hands them over in vector registers where scalar ones are asked for."""
    source = _kernel(
        'KTRACE_MARK(t, "x", f * 0.5f, static_cast<int>(f * 0.25f), static_cast<double>(f) / 3,'
        " static_cast<long>(f * 3.5f), f > 1.5f, f);"
    )

    build(compiler, source)


def test_a_kernel_may_be_declared_before_it_is_defined(compiler: Compiler) -> None:
    source = """
    template <int N> __global__ void k(int* out KTRACE_PARAM);
    template <int N> __global__ void k(int* out KTRACE_PARAM_AGAIN) {
      KTRACE_WAVE(t);
      KTRACE_MARK(t, "x");
      out[0] = N;
    }
    template __global__ void k<3>(int* KTRACE_PARAM_AGAIN);
    """

    assert set(build(compiler, HEADERS + source).names.values()) == {"x"}
    compiler.hip(HEADERS + source, *WARNINGS, includes=[INCLUDE])


ANNOTATED = """
#include <mini_hip.hpp>
#include <ktrace/ktrace.hpp>
KTRACE_EDGE("load", "mma");
__device__ __noinline__ int deep(int x KTRACE_FN_PARAM(t)) {
  KTRACE_MARK(t, "deep", x);
  return x * 3;
}
template <int Step> __device__ int twice(int x KTRACE_INLINE_PARAM(t)) {
  KTRACE_RANGE(t, "twice", KTRACE_LANE("valu"));
  return deep(x * Step KTRACE_FN_ARG(t));
}
template <int Tile> __global__ void kernel(int* out, const int* in, int n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  KTRACE_GROUP(t, "producer");
  KTRACE_TOKEN(load);
  KTRACE_TOKEN(older);
  load = ktrace::no_token;
  __shared__ int tile[256];
  int sum = 0;
  auto add = [&](int i) { KTRACE_PUSH(t, "add", i); sum += in[i]; KTRACE_POP(t); };
  for (int i = 0; i < n; i += Tile) {
    KTRACE_RANGE(t, "tile", i, 0.5f);
    KTRACE_STOP(t, older);
    older = load;
    KTRACE_START(t, load, "load", KTRACE_LANE("vmem"), i);
    tile[threadIdx.x] = in[i];
    KTRACE_PHASE(t, "mma");
    __syncthreads();
    if (tile[(threadIdx.x + 1) & 255] & 1) { KTRACE_MARK(t, "odd"); sum ^= 3; }
    add(i + tile[threadIdx.x ^ 5]);
    KTRACE_PHASE_END(t);
  }
  KTRACE_ANCHOR(t);
  out[threadIdx.x] = twice<Tile>(sum KTRACE_INLINE_ARG(t));
}
template __global__ void kernel<4>(int*, const int*, int KTRACE_PARAM_AGAIN);
"""
PLAIN = """
#include <mini_hip.hpp>
__device__ __noinline__ int deep(int x) { return x * 3; }
template <int Step> __device__ int twice(int x) {
  return deep(x * Step);
}
template <int Tile> __global__ void kernel(int* out, const int* in, int n) {
  __shared__ int tile[256];
  int sum = 0;
  auto add = [&](int i) { sum += in[i]; };
  for (int i = 0; i < n; i += Tile) {
    tile[threadIdx.x] = in[i];
    __syncthreads();
    if (tile[(threadIdx.x + 1) & 255] & 1) { sum ^= 3; }
    add(i + tile[threadIdx.x ^ 5]);
  }
  out[threadIdx.x] = twice<Tile>(sum);
}
template __global__ void kernel<4>(int*, const int*, int);
"""


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_disabled_the_code_object_is_byte_identical(compiler: Compiler, level: str) -> None:
    annotated = compiler.hip(ANNOTATED, level, *WARNINGS, includes=[INCLUDE])
    plain = compiler.hip(PLAIN, level, *WARNINGS)
    enabled = compiler.hip(ANNOTATED, level, *WARNINGS, ENABLE, includes=[INCLUDE])

    assert annotated.read_bytes() == plain.read_bytes()
    assert enabled.read_bytes() != plain.read_bytes()


def test_every_pattern_vanishes_when_disabled(compiler: Compiler, patterns: str) -> None:
    without = re.sub(r"KTRACE_(ONLY_)?PARAM\b", "", patterns)
    without = re.sub(r"KTRACE_FN_\w+\(t\)", "", without)
    without = re.sub(r"KTRACE_\w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\);", "", without)
    without = re.sub(r"(oldest = middle|middle = newest);", "", without)
    without = re.sub(r".*const float quarter.*;", "", without)
    without = without.replace("#include <ktrace/ktrace.hpp>", "")
    assert "KTRACE" not in without
    assert "ktrace" not in without.split("\n", 3)[3]

    annotated = compiler.hip(patterns, "-O3", includes=[INCLUDE])

    assert annotated.read_bytes() == compiler.hip(without, "-O3").read_bytes()


def test_the_example_of_the_reference_compiles(compiler: Compiler) -> None:
    page = (INCLUDE.parents[1] / "docs" / "reference" / "device-api.md").read_text()
    (example,) = re.findall(r"```cpp\n(.*?)```", page, flags=re.DOTALL)
    use = "template __global__ void kernel<4>(float*, const float*, int KTRACE_PARAM_AGAIN);"
    source = example.replace("<hip/hip_runtime.h>", "<mini_hip.hpp>") + use

    built = build(compiler, source)

    assert set(built.names.values()) == {
        *("reduce", "advance", "producer", "consumer"),
        *("mainloop", "tile", "load", "mma", "scale"),
    }
    compiler.hip(source, "-O3", *WARNINGS, includes=[INCLUDE])
