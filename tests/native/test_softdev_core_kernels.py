"""Compiled HIP kernels on the software device, against numpy; every compiler and target at hand."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import Compiler, any_compiler, compilers_for
from support.hip import Argument, Launch, launch_kernel, launch_kernels

SOURCE = Path(__file__).with_name("softdev_core_kernels.hip").read_text()
BUILDS = [
    ("gfx90a", "clang-19"),
    ("gfx942", "clang-19"),
    ("gfx942", "ziglang"),
    ("gfx950", "ziglang"),
]
Array = npt.NDArray[Any]


@pytest.fixture(params=BUILDS, ids="-".join)
def compiler(request: pytest.FixtureRequest) -> Compiler:
    target, name = request.param
    for found in compilers_for(target):
        if found.name == name:
            return found
    pytest.skip(f"{name} for {target} is not installed")


def launch(
    compiler: Compiler,
    kernel: str,
    arguments: list[Argument],
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (64, 1, 1),
) -> list[Array]:
    code_object = compiler.hip(SOURCE)
    return launch_kernel(Launch(code_object, kernel, arguments, grid, block), compiler.target)


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_saxpy_with_a_partial_last_block(compiler: Compiler) -> None:
    x, y = random().random(1000, np.float32), random(2).random(1000, np.float32)

    _, out = launch(
        compiler, "saxpy", [np.float32(2.5), x, y, np.int32(999)], (4, 1, 1), (256, 1, 1)
    )

    expected = (2.5 * x.astype(np.float64) + y).astype(np.float32)  # fused: one rounding
    assert out[:999].tobytes() == expected[:999].tobytes()
    assert out[999] == y[999]


def test_ordinary_host_memory_can_be_passed(compiler: Compiler) -> None:
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)

    arguments: list[Argument] = [np.float32(2), ("host", x), ("host", y), np.int32(64)]
    _, out = launch(compiler, "saxpy", arguments)

    assert out.tolist() == (2 * x + 1).tolist()


def test_work_items_know_where_they_are_in_three_dimensions(compiler: Compiler) -> None:
    out = np.zeros((6, 12, 20), np.uint32)

    (out,) = launch(compiler, "where", [out], (4, 3, 2), (5, 4, 3))

    z, y, x = np.indices((6, 12, 20), dtype=np.uint32)
    assert np.array_equal(out, x | y << 8 | z << 16)


def test_transpose_through_lds(compiler: Compiler) -> None:
    matrix = random().random((40, 50), np.float32)

    arguments: list[Argument] = [matrix, np.zeros((50, 40), np.float32), np.int32(40), np.int32(50)]
    _, out = launch(compiler, "transpose", arguments, (2, 2, 1), (32, 8, 1))

    assert np.array_equal(out, matrix.T)


def test_histogram_with_atomics_in_lds_and_memory(compiler: Compiler) -> None:
    data = random().integers(0, 256, 5000).astype(np.uint8)

    arguments: list[Argument] = [data, np.zeros(256, np.uint32), np.int32(5000), np.int32(576)]
    _, out = launch(compiler, "histogram", arguments, (3, 1, 1), (192, 1, 1))

    assert np.array_equal(out, np.bincount(data, minlength=256))


def test_lanes_leave_a_loop_one_by_one(compiler: Compiler) -> None:
    def steps(value: int) -> int:
        count = 0
        while value != 1:
            value = 3 * value + 1 if value % 2 else value // 2
            count += 1
        return count

    _, out = launch(
        compiler, "collatz", [np.arange(1, 65, dtype=np.uint32), np.zeros(64, np.uint32)]
    )

    assert out.tolist() == [steps(value) for value in range(1, 65)]


def test_private_arrays_live_in_scratch(compiler: Compiler) -> None:
    data = random().integers(0, 1 << 32, (64, 64), np.uint32)

    _, out = launch(compiler, "private_array", [data, np.zeros((64, 16), np.uint32)])

    for lane in range(64):
        expected = np.bincount(data[:, lane] & 15, weights=np.arange(64), minlength=16)
        assert out[lane].tolist() == expected.tolist()


def test_recursion_uses_the_stack(compiler: Compiler) -> None:
    mask = (1 << 64) - 1

    def mix(a: int, b: int, depth: int) -> int:
        if depth == 0:
            return a ^ b
        below = mix((a * 3 + 1) & mask, (b + depth) & 0xFFFFFFFF, depth - 1)
        return (below + b) & mask

    (out,) = launch(compiler, "recursion", [np.zeros(64, np.uint64), np.int32(9)])

    assert out.tolist() == [mix(lane, lane * 7, 9) for lane in range(64)]


def test_calls_through_pointers_diverge(compiler: Compiler) -> None:
    (out,) = launch(compiler, "function_pointers", [np.zeros(64, np.int32)])

    assert out.tolist() == [(2 * v, v * v, -v)[v % 3] for v in range(64)]


def test_global_variables_keep_their_value_between_launches(compiler: Compiler) -> None:
    code_object = compiler.hip(SOURCE)
    one = Launch(code_object, "globals", [np.zeros(8, np.int32)], (1, 1, 1), (8, 1, 1))

    outcome = launch_kernels([one], compiler.target)

    assert outcome.statuses == [0], outcome.errors
    assert outcome.arrays[0][0].tolist() == [18, 28, 38, 48] * 2


def test_generic_pointers_reach_lds_scratch_and_memory(compiler: Compiler) -> None:
    start = np.full((64, 2), 1000, np.int32)

    (out,) = launch(compiler, "generic_pointer", [start])

    expected = [([lane + 1, 6], [101, 201], [1001, 1001])[lane % 3] for lane in range(64)]
    assert out.tolist() == expected


def test_narrow_loads_extend_and_narrow_stores_truncate(compiler: Compiler) -> None:
    c = random().integers(-128, 128, 64).astype(np.int8)
    s = random(2).integers(-32768, 32768, 64).astype(np.int16)
    u = random(3).integers(0, 65536, 64).astype(np.uint16)

    arguments: list[Argument] = [c, s, u, np.zeros(64, np.int32), np.zeros(64, np.int16)]
    *_, wide, out = launch(compiler, "narrow", arguments)

    assert np.array_equal(wide, c.astype(np.int32) * 1000 + s + u)
    assert np.array_equal(out, (s.astype(np.int32) + c).astype(np.int16))


def test_floating_point_and_wide_atomics(compiler: Compiler) -> None:
    arguments: list[Argument] = [np.zeros(1, np.float32), np.zeros(1), np.ones(1, np.uint64)]

    f, d, q = launch(compiler, "float_atomics", arguments, (3, 1, 1), (100, 1, 1))

    assert (f.tolist(), d.tolist(), q.tolist()) == ([150.0], [75.0], [99 << 40])


def test_workgroups_that_wait_for_each_other_make_progress(compiler: Compiler) -> None:
    groups = 700

    arguments: list[Argument] = [np.zeros(1, np.uint32), np.zeros(groups, np.uint32)]
    _, out = launch(compiler, "chain", arguments, (groups, 1, 1))

    assert out.tolist() == list(range(1, groups + 1))


def test_matrix_multiplication_through_lds_and_mfma(compiler: Compiler) -> None:
    a = random().integers(-8, 8, (128, 96)).astype(np.float16)
    b = random(2).integers(-8, 8, (192, 96)).astype(np.float16)

    arguments: list[Argument] = [
        a,
        b,
        np.zeros((128, 192), np.float32),
        np.int32(192),
        np.int32(96),
    ]
    *_, out = launch(compiler, "gemm", arguments, (3, 2, 1), (256, 1, 1))

    assert np.array_equal(
        out, a.astype(np.float32) @ b.astype(np.float32).T
    )  # whole numbers: exact


def test_two_runs_have_the_same_times_and_the_same_order(compiler: Compiler) -> None:
    groups = 500
    data = random().random(groups * 256, np.float32)

    def run() -> Array:
        arguments: list[Argument] = [
            np.zeros((groups * 4, 4), np.uint64),
            data,
            np.zeros(1, np.uint32),
        ]
        return launch(compiler, "times", arguments, (groups, 1, 1), (256, 1, 1))[0]

    first, second = run(), run()

    assert first.tobytes() == second.tobytes()
    begin, end, ticket, _ = first.T
    assert (end > begin).all()
    assert begin.min() > 2_100_000_000
    assert len(set(ticket.tolist())) == groups * 4
    assert len(set((end - begin).tolist())) > 1  # contention and loop counts show


def test_a_later_launch_is_later(compiler: Compiler) -> None:
    data = np.zeros(256, np.float32)
    arguments: list[Argument] = [np.zeros((4, 4), np.uint64), data, np.zeros(1, np.uint32)]
    one = Launch(compiler.hip(SOURCE), "times", arguments, (1, 1, 1), (256, 1, 1))

    first, second = (arrays[0] for arrays in launch_kernels([one, one], compiler.target).arrays)

    assert second[:, 0].min() > first[:, 1].max()


def test_the_legacy_multiply_add_of_gfx90a_makes_nothing_of_zero_times_anything() -> None:
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 0x7f800000
  v_mov_b32 v3, 0x7fc00000
  v_mov_b32 v4, 0x00000001
  v_mad_legacy_f32 v6, 0, v2, 2.0
  v_mad_legacy_f32 v7, v3, 0, 2.0
  v_mad_legacy_f32 v8, v4, v2, 2.0
  v_mad_legacy_f32 v9, v2, -1.0, 2.0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v1, v[6:9], s[4:5]
"""
    code_object = any_compiler("gfx90a").assemble(AsmKernel(body).source("gfx90a"))

    (out,) = launch_kernel(Launch(code_object, "test_kernel", [np.ones(4, np.float32)]), "gfx90a")

    # Denormals count as zeros, too.
    assert out.tolist() == [2.0, 2.0, 2.0, -np.inf]


def test_the_unfused_multiply_add_of_gfx90a_rounds_twice() -> None:
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 0x3f800001
  v_mov_b32 v3, 0xbf800002
  v_mov_b32 v4, 0xbf800002
  v_mad_f32 v6, v2, v2, v3
  v_mac_f32 v4, v2, v2
  v_madak_f32 v7, v2, v2, 0xbf800002
  v_mad_f32 v8, v2, -v2, 2.0 mul:4
  s_waitcnt lgkmcnt(0)
  global_store_dwordx3 v1, v[6:8], s[4:5]
  global_store_dword v1, v4, s[4:5] offset:12
"""
    code_object = any_compiler("gfx90a").assemble(AsmKernel(body).source("gfx90a"))

    (out,) = launch_kernel(Launch(code_object, "test_kernel", [np.ones(4, np.float32)]), "gfx90a")

    # (1 + u)^2 - (1 + 2u): a fused one would keep u * u.
    assert out.tolist() == [0.0, 0.0, float(np.float32(4) * (1 - 2.0**-22)), 0.0]
