"""LDS instructions meet the same patterns of addresses again, and others in between."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, fault_of, launch_kernels

TARGET = "gfx942"
COPIES = ("baseline", "avx2", "")
LANES = 64
LANE = np.arange(LANES)
ALL = 2**64 - 1
LDS_BYTES = 8192
UPPER = 4096
"""Reads are below, what atomics add up is above."""
ROWS = 12
"""Of results: seven of data and five of times."""

Words = npt.NDArray[np.uint32]

# s[4:5]: 64 addresses and EXEC of each round, 512 bytes apart; s[6:7]: its rows of results.
# Dword d of LDS is 3 * d + 1 at first.
_FILL = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 63, v0
  v_lshlrev_b32 v1, 2, v0
  v_mul_u32_u24 v2, 3, v0
  v_add_u32 v2, 1, v2
  v_mov_b32 v3, v1
  s_mov_b32 s12, 32
fill:
  ds_write_b32 v3, v2
  v_add_u32 v3, 0x100, v3
  v_add_u32 v2, 192, v2
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 fill
  s_waitcnt lgkmcnt(0)
"""
_ROUND = """
  s_mov_b32 s12, {rounds}
again:
  global_load_dword v8, v1, s[4:5]
  s_load_dwordx2 s[8:9], s[4:5], 0x100
{clear}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_mov_b64 exec, s[8:9]
{timed}
  s_mov_b64 exec, -1
{store}
  s_add_u32 s4, s4, 0x200
  s_addc_u32 s5, s5, 0
  s_add_u32 s6, s6, {result_bytes}
  s_addc_u32 s7, s7, 0
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  s_waitcnt vmcnt(0)
"""
_TIMED = """
  s_memtime s[16:17]
  s_waitcnt lgkmcnt(0)
  {instruction}
  s_waitcnt lgkmcnt(0)
  s_memtime s[18:19]
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s{time}, s18, s16
"""
_INSTRUCTIONS = (
    "ds_read2_b32 v[20:21], v8 offset1:16",
    "ds_read_b64 v[22:23], v8 offset:8",
    "ds_read_b32 v24, v8 offset:4",
    "ds_add_u32 v8, v0 offset:4096",
    "ds_add_rtn_u32 v26, v8, v0 offset:4096",
)


@dataclass(frozen=True)
class Round:
    """One way to address LDS."""

    addresses: Words
    exec_mask: int = ALL

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        return np.array([bool(self.exec_mask >> lane & 1) for lane in range(LANES)])


def kernel(rounds: int) -> AsmKernel:
    timed = "".join(
        _TIMED.format(instruction=text, time=20 + k) for k, text in enumerate(_INSTRUCTIONS)
    )
    clear = "\n".join(f"  v_mov_b32 v{register}, -1" for register in range(20, 27))
    times = "".join(f"  v_mov_b32 v{27 + k}, s{20 + k}\n" for k in range(len(_INSTRUCTIONS)))
    store = times + "\n".join(
        f"  global_store_dword v1, v{20 + row}, s[6:7] offset:{256 * row}" for row in range(ROWS)
    )
    body = _FILL + _ROUND.format(
        rounds=rounds, clear=clear, timed=timed, store=store, result_bytes=256 * ROWS
    )
    return AsmKernel(body, 2, lds=LDS_BYTES, vgprs=40)


def run_rounds(rounds: list[Round], copy: str) -> Words:
    """Shape (rounds, ROWS, LANES)."""
    given = np.zeros((len(rounds), 128), np.uint32)
    for row, one in zip(given, rounds, strict=True):
        row[:LANES] = one.addresses
        row[LANES : LANES + 2] = one.exec_mask & 0xFFFFFFFF, one.exec_mask >> 32
    code_object = any_compiler(TARGET).assemble(kernel(len(rounds)).source(TARGET))
    results = np.zeros((len(rounds), ROWS, LANES), np.uint32)
    launch = Launch(code_object, "test_kernel", [given, results])
    outcome = launch_kernels([launch], TARGET, {"KTRACE_SOFT_LANES": copy})
    assert outcome.statuses == [0], outcome.errors
    return outcome.arrays[0][1]


def tiles(base: int, row: int, within: int) -> Words:
    """Four rows of 16 lanes."""
    return (base + LANE // 16 * row + LANE % 16 * within).astype(np.uint32)


def all_rounds() -> list[Round]:
    random = np.random.default_rng(5)
    anywhere = random.integers(0, 380, LANES).astype(np.uint32) * 8
    nearly = tiles(64, 0, 8)
    nearly[37] += 8
    ways = [
        tiles(0, 0, 8),  # the same row for all
        tiles(512, 0, 8),
        tiles(128, 264, 0),  # one place for each row
        tiles(0, 256, 8),
        nearly,
        tiles(0, 136, 8),  # a run
        tiles(8, 16 * 40, 40),  # steps
        anywhere,
        anywhere + np.uint32(8),
        tiles(1024, 0, 0),
        random.permutation(tiles(0, 136, 8)),
    ]
    masks = (ALL, ALL, 2**48 - 1, 0x00FF_F0F0_0000_FFFF)
    return [
        Round(ways[int(random.integers(len(ways)))], masks[int(random.integers(len(masks)))])
        for _ in range(120)
    ]


def waiting(places: Words, active: npt.NDArray[np.bool_], banks: int, shared: bool) -> int:
    """Cycles that lanes wait for a bank: as many lanes at once as there are banks."""
    total = 0
    for first in range(0, LANES, banks):
        group = slice(first, first + banks)
        wanted = places[group][active[group]]
        wanted = np.unique(wanted) if shared else wanted
        total += max(int(np.bincount(wanted % banks, minlength=1).max()) - 1, 0)
    return total


def expected_reads(one: Round, dword: int) -> Words:
    value = 3 * (one.addresses // 4 + np.uint32(dword)) + 1
    return np.where(one.active, value, 0xFFFFFFFF).astype(np.uint32)


@pytest.mark.parametrize("copy", COPIES)
def test_each_round_reads_and_adds_at_its_own_addresses(copy: str) -> None:
    rounds = all_rounds()

    results = run_rounds(rounds, copy)

    sums = 3 * np.arange(UPPER // 4, 2 * UPPER // 4, dtype=np.int64) + 1
    for number, (one, rows) in enumerate(zip(rounds, results, strict=True)):
        for row, dword in enumerate((0, 16, 2, 3, 1)):
            assert np.array_equal(rows[row], expected_reads(one, dword)), (number, row)
        np.add.at(sums, one.addresses[one.active] // 4, LANE[one.active])
        for lane in LANE[one.active]:
            place = one.addresses[lane] // 4
            assert rows[6, lane] == sums[place], (number, lane)
            sums[place] += lane


@pytest.mark.parametrize("copy", COPIES)
def test_conflicts_take_as_long_whatever_was_met_before(copy: str) -> None:
    free = Round(tiles(0, 128, 8) // np.uint32(2))
    rounds = [free, *all_rounds()]

    results = run_rounds(rounds, copy)

    times = results[:, 7:, 0].astype(np.int64) - results[0, 7:, 0]
    for number, (one, waited) in enumerate(zip(rounds, times, strict=True)):
        dwords, active = one.addresses // np.uint32(4), one.active
        reads = waiting(dwords, active, 32, shared=True)
        pairs = waiting(dwords // np.uint32(2), active, 16, shared=True)
        atomics = waiting(dwords, active, 32, shared=False)
        wanted = [2 * reads, pairs, reads, atomics, atomics]
        assert waited.tolist() == pytest.approx(wanted, abs=1), number  # units have slots of two


@pytest.mark.parametrize("copy", COPIES)
def test_a_pattern_met_before_may_leave_lds(copy: str) -> None:
    # Tiles of 16 dwords; from the third time on the last of them, and only that, is outside.
    text = """
  v_and_b32 v2, 15, v0
  v_lshlrev_b32 v2, 2, v2
  v_lshrrev_b32 v3, 4, v0
  v_lshl_add_u32 v2, v3, 7, v2
  s_mov_b32 s12, 4
again:
  {instruction}
  v_add_u32 v2, 64, v2
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  s_waitcnt lgkmcnt(0)
"""

    def fault(instruction: str) -> str:
        source = AsmKernel(text.format(instruction=instruction), 0, lds=512 + 60).source(TARGET)
        launch = Launch(any_compiler(TARGET).assemble(source), "test_kernel", [])
        return fault_of(launch, TARGET, {"KTRACE_SOFT_LANES": copy})

    outside = "LDS access out of range: 4 bytes at 0x23c of 572 allocated, lane 63"
    assert outside in fault("ds_read_b32 v8, v2")
    assert outside in fault("ds_write_b32 v2, v0")
    assert outside in fault("ds_read2_b32 v[8:9], v2 offset1:0")
    assert outside in fault("ds_add_u32 v2, v0")
