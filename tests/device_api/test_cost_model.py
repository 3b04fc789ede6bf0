"""What markers cost in instructions, registers and waits, and that cost-model.md says so."""

import pytest

from device_api.assembly import Listing, Way
from device_api.build import ENABLE, HEADERS, INCLUDE
from device_api.cost_model import (
    PAGE,
    loop_costs,
    marker_costs,
    section_of,
    sections_of,
    title_of,
)
from support.compile_kernel import Compiler


def test_the_page_is_what_is_measured(compiler: Compiler) -> None:
    sections = sections_of(PAGE.read_text())
    title = title_of(compiler)
    if title not in sections:
        pytest.skip(f"the page has {', '.join(sections)}, not {title}")

    assert section_of(compiler) == sections[title]


def test_the_page_covers_every_target() -> None:
    titles = sections_of(PAGE.read_text())

    assert [title.split(".")[0] for title in titles] == [
        "gfx90a, clang 19",
        "gfx942, clang 19",
        "gfx942, clang 22",
        "gfx950, clang 22",
    ]


# Without the s_nop that LLVM 22 puts between asm blocks: the same for every compiler.
INSTRUCTIONS = {
    "`MARK`, `PUSH`, `POP`, `PHASE`, `GROUP`": (7, 2, 1),
    "`PUSH` and `POP`": (14, 4, 2),
    "`RANGE`": (15, 3, 2),
    "`START`": (8, 2, 1),
    "`START` and `STOP`": (19, 4, 2),
    "`ANCHOR`": (23, 5, 1),
}


def test_markers_cost_these_instructions_scalar_accesses_and_waits(compiler: Compiler) -> None:
    costs = {cost.name: cost for cost in marker_costs(compiler)}

    assert {
        name: (costs[name].instructions - costs[name].nops, costs[name].smem, costs[name].waits)
        for name in INSTRUCTIONS
    } == INSTRUCTIONS


def test_a_marker_of_a_wave_that_is_not_recorded_costs_four_instructions(
    compiler: Compiler,
) -> None:
    cost = marker_costs(compiler)[0]

    assert (cost.not_recorded, cost.partly_active) == (4, 18)


def test_words_that_are_written_back_at_once_wait_for_memory_three_times_more(
    compiler: Compiler,
) -> None:
    cost = marker_costs(compiler)[0]

    # s_waitcnt, s_dcache_wb, s_waitcnt, and the branch back
    assert cost.eager == cost.partly_active + 4


def test_a_ring_adds_two_instructions_per_word(compiler: Compiler) -> None:
    costs = {cost.name: cost for cost in marker_costs(compiler)}

    assert {name: costs[name].ring - costs[name].instructions for name in INSTRUCTIONS} == {
        "`MARK`, `PUSH`, `POP`, `PHASE`, `GROUP`": 2,
        "`PUSH` and `POP`": 4,
        "`RANGE`": 2,
        "`START`": 2,
        "`START` and `STOP`": 4,
        "`ANCHOR`": 6,
    }


SIMPLE = (
    HEADERS
    + """
extern "C" __global__ void k(int* out, unsigned n KTRACE_PARAM) {
  KTRACE_WAVE(t);
  _Pragma("clang loop unroll(disable)") for (unsigned i = 0; i < n; ++i) {
    asm volatile("s_nop 13");
    KTRACE_MARK(t, "x");
  }
  out[0] = 1;
}
"""
)


def _marker(compiler: Compiler, way: Way, *options: str) -> list[str]:
    """List what SIMPLE's marker executes; the loop's own three instructions follow it."""
    text = compiler.hip_assembly(SIMPLE, "-O3", ENABLE, *options, includes=[INCLUDE]).read_text()
    listing = Listing(text, "k")
    opcodes = [one.opcode for one in listing.longest_cycle(listing.find("s_nop", "13"), way)]
    assert opcodes[0] == "s_nop"
    assert opcodes[-3:] == ["s_add_i32", "s_cmp_eq_u32", "s_cbranch_scc0"]
    return opcodes[1:-3]


def test_the_fast_path_is_these_seven_instructions(compiler: Compiler) -> None:
    assert _marker(compiler, Way.RECORDED) == [
        "s_cmp_lg_u64",
        "s_cbranch_scc1",
        "s_memtime",
        "s_waitcnt",
        "s_mov_b32",
        "s_buffer_store_dwordx2",
        "s_add_u32",
    ]


def test_the_fast_path_of_a_ring_is_these_nine_instructions(compiler: Compiler) -> None:
    assert _marker(compiler, Way.RECORDED, "-DKTRACE_RING") == [
        "s_cmp_lg_u64",
        "s_cbranch_scc1",
        "s_memtime",
        "s_waitcnt",
        "s_mov_b32",
        "s_and_b32",
        "s_or_b32",
        "s_buffer_store_dwordx2",
        "s_add_u32",
    ]


def test_the_eager_path_is_in_memory_before_it_goes_on(compiler: Compiler) -> None:
    assert _marker(compiler, Way.EAGER)[-7:] == [
        "s_buffer_store_dwordx2",
        "s_cmp_eq_u64",
        "s_cbranch_scc0",
        "s_waitcnt",
        "s_dcache_wb",
        "s_waitcnt",
        "s_branch",
    ]


def test_the_filtered_path_reads_no_clock_and_stores_nothing(compiler: Compiler) -> None:
    assert _marker(compiler, Way.NOT_RECORDED) == [
        "s_cmp_lg_u64",
        "s_cbranch_scc1",
        "s_cmp_eq_u64",
        "s_cbranch_scc1",
    ]


def test_polling_waits_for_the_clock_alone(compiler: Compiler) -> None:
    assert _marker(compiler, Way.RECORDED, "-DKTRACE_POLL_CLOCK") == [
        "s_cmp_lg_u64",
        "s_cbranch_scc1",
        "s_mov_b64",
        "s_memtime",
        "s_cmp_eq_u32",
        "s_cbranch_scc1",
        "s_cmp_eq_u32",
        "s_cbranch_scc1",
        "s_mov_b32",
        "s_buffer_store_dwordx2",
        "s_add_u32",
    ]


def test_uniform_code_gets_no_vector_instruction(compiler: Compiler) -> None:
    text = compiler.hip_assembly(SIMPLE, "-O3", ENABLE, includes=[INCLUDE]).read_text()
    listing = Listing(text, "k")

    cycle = listing.longest_cycle(listing.find("s_nop", "13"))

    assert not [one for one in cycle if one.opcode.startswith("v_")]


def test_the_scheduler_keeps_mfma_between_its_markers(compiler: Compiler) -> None:
    """LLVM 22 moves four of them before the scheduler sees the code: no marker can forbid that."""
    costs = {cost.name: cost for cost in loop_costs(compiler)}
    moves = "clang 22" in title_of(compiler)

    assert costs["4 markers"].mfma == ("16, 0, 12, 4" if moves else "16, 0, 16, 0")
    assert costs["2 `RANGE`s"].mfma == costs["4 markers"].mfma


def test_waits_of_the_pipelined_loop(compiler: Compiler) -> None:
    costs = {cost.name: cost for cost in loop_costs(compiler)}
    polled = costs["4 markers, `KTRACE_POLL_CLOCK`"]

    assert [costs[f"{n} markers"].full_by_markers for n in (0, 2, 4)] == [0, 2, 4]
    assert [costs[f"{n} markers"].made_full > 0 for n in (0, 2, 4)] == [False, True, True]
    assert (polled.full_by_markers, polled.made_full, polled.drained) == (0, 0, 0)
