"""Programs put together at random leave the same memory and times with any number of threads.

Workgroups write to memory of their own, and to shared memory only with atomics and stores of the
agent's scope: what they find there, and when, is part of what they write.
"""

import random

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernels

# s[4:5]: shared memory, of which v1 chooses a dword; s[6:7]: all memory of the groups' own, where
# v11 and s27 are the group's. v4 takes in all that a wave learns. v5, v6: 0 and 1.
PIECES = {
    "arithmetic": """
  v_mul_lo_u32 v4, v4, v9
  v_xor_b32 v4, v4, v1
""",
    "load": """
  global_load_dword v2, v1, s[4:5] offset:{offset}
  s_waitcnt vmcnt(0)
  v_add_u32 v4, v4, v2
""",
    "barriers": """
  ds_write_b32 v1, v4
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v10
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_add_u32 v4, v4, v3
""",
    "sleep": "  s_sleep {pause}\n",
    "own memory": """
  global_store_dword v11, v4, s[6:7]
  global_load_dword v3, v11, s[6:7] offset:512
  s_waitcnt vmcnt(0)
  v_add_u32 v4, v4, v3
""",
    "ticket": """
  s_mov_b64 s[30:31], exec
  s_mov_b64 exec, 1
  global_atomic_add v7, v5, v6, s[4:5] offset:{offset} sc0
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, s[30:31]
  v_readfirstlane_b32 s22, v7
  v_add_u32 v4, s22, v4
""",
    "sum of floats": """
  v_cvt_f32_u32 v8, v4
  global_atomic_add_f32 v1, v8, s[4:5] offset:2048
""",
    "exchange": """
  global_atomic_swap v7, v1, v4, s[4:5] offset:1024 sc0
  s_waitcnt vmcnt(0)
  v_add_u32 v4, v4, v7
""",
    "telling": "  global_store_dword v1, v4, s[4:5] offset:1024 sc1\n",
    "asking": """
  global_load_dword v2, v1, s[4:5] offset:1024 sc1
  s_waitcnt vmcnt(0)
  v_add_u32 v4, v4, v2
""",
    "fence": """
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  buffer_inv sc1
""",
    "clock": """
  s_memtime s[24:25]
  s_waitcnt lgkmcnt(0)
  v_add_u32 v4, s24, v4
""",
    "scalar store": """
  v_readfirstlane_b32 s26, v4
  s_store_dword s26, s[6:7], s27
  s_dcache_wb
""",
}
# Groups go round 1 to 16 times.
BEGIN = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mul_i32 s8, s2, {stride}
  s_and_b32 s8, s8, {mask}
  s_add_u32 s8, s8, 1
  v_lshlrev_b32 v1, 2, v0
  v_and_b32 v1, 0xfc, v1
  v_xor_b32 v10, 0x3c, v1
  v_mov_b32 v4, s2
  v_mov_b32 v5, 0
  v_mov_b32 v6, 1
  v_mov_b32 v9, 0x19660d
  s_lshl_b32 s28, s2, 11
  v_lshlrev_b32 v11, 2, v0
  v_add_u32 v11, s28, v11
  s_add_u32 s27, s28, 2044
  s_waitcnt lgkmcnt(0)
.Lloop:
"""
END = """
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lloop
  s_memtime s[24:25]
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v12, s24
  global_store_dword v11, v4, s[6:7]
  global_store_dword v11, v12, s[6:7] offset:1024
"""
TARGETS = ("gfx942", "gfx950")


def program(choose: random.Random) -> str:
    kinds = choose.sample(sorted(PIECES), choose.randint(2, 7))
    pieces = [
        PIECES[choose.choice(kinds)].format(
            offset=choose.choice((0, 256, 512)), pause=choose.randint(0, 20)
        )
        for _ in range(choose.randint(2, 10))
    ]
    begin = BEGIN.format(stride=choose.choice((1, 3, 37)), mask=choose.choice((0, 1, 3, 15)))
    return begin + "".join(pieces) + END


@pytest.mark.parametrize("seed", range(8))
def test_a_random_program_does_not_notice_threads(seed: int) -> None:
    choose = random.Random(seed)
    target, groups, block = TARGETS[seed % 2], choose.choice((9, 64, 1000)), 64 << seed % 3
    body = program(choose)
    if target == "gfx950":
        body = body.replace(PIECES["scalar store"], PIECES["clock"])
    source = AsmKernel(body, arguments=2, lds=1024).source(target)
    given = [np.arange(1024, dtype=np.uint32), np.zeros(groups * 512, np.uint32)]
    code_object = any_compiler(target).assemble(source)
    launch = Launch(code_object, "test_kernel", given, (groups, 1, 1), (block, 1, 1))

    outcomes = [
        launch_kernels([launch, launch], target, {"KTRACE_SOFT_THREADS": threads})
        for threads in ("1", "2", "5")
    ]

    for outcome in outcomes:
        assert outcome.statuses == [0, 0], outcome.errors
        for dispatch, alone in zip(outcome.arrays, outcomes[0].arrays, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(dispatch, alone, strict=True))
    assert (outcomes[0].arrays[0][1].reshape(groups, 512)[:, 256] > 0).all()  # they all ran
