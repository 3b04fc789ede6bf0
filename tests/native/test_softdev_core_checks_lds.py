"""KTRACE_SOFT_CHECK on LDS that nothing wrote: which bytes each instruction reads and writes."""

import re
from collections.abc import Iterable

import numpy as np

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernels

BEGIN = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_and_b32 s9, s5, 0xffff
  s_movk_i32 s10, 0x1000
  s_mov_b32 s11, 0x20000
  s_mov_b64 s[20:21], src_shared_base
  v_mov_b32 v5, s21
  v_mov_b32 v11, 0
  s_mov_b64 exec, 1
"""
AREA = 1024  # bytes of LDS for each instruction that is tried
# What is read at an offset of 8: text, and which bytes of LDS.
READS = {
    "ds_read_b32 v10, v1 offset:8": range(8, 12),
    "ds_read_b64 v[10:11], v1 offset:8": range(8, 16),
    "ds_read_b96 v[10:12], v1 offset:8": range(8, 20),
    "ds_read_b128 v[10:13], v1 offset:8": range(8, 24),
    "ds_read_u8 v10, v1 offset:8": range(8, 9),
    "ds_read_i8 v10, v1 offset:8": range(8, 9),
    "ds_read_u8_d16 v10, v1 offset:8": range(8, 9),
    "ds_read_u8_d16_hi v10, v1 offset:8": range(8, 9),
    "ds_read_i8_d16 v10, v1 offset:8": range(8, 9),
    "ds_read_i8_d16_hi v10, v1 offset:8": range(8, 9),
    "ds_read_u16 v10, v1 offset:8": range(8, 10),
    "ds_read_i16 v10, v1 offset:8": range(8, 10),
    "ds_read_u16_d16 v10, v1 offset:8": range(8, 10),
    "ds_read_u16_d16_hi v10, v1 offset:8": range(8, 10),
    "ds_read2_b32 v[10:11], v1 offset0:2 offset1:3": range(8, 16),
    "ds_read2_b64 v[10:13], v1 offset0:1 offset1:2": range(8, 24),
    "ds_read2st64_b32 v[10:11], v1 offset1:1": (*range(4), *range(256, 260)),
    "ds_read2st64_b64 v[10:13], v1 offset1:1": (*range(8), *range(512, 520)),
    "ds_read_addtid_b32 v10 offset:8": range(8, 12),
    "ds_add_u32 v1, v2 offset:8": range(8, 12),
    "ds_add_rtn_u64 v[10:11], v1, v[2:3] offset:8": range(8, 16),
    "ds_max_f64 v1, v[2:3] offset:8": range(8, 16),
    "ds_add_f32 v1, v2 offset:8": range(8, 12),
    "ds_add_f64 v1, v[2:3] offset:8": range(8, 16),
    "ds_pk_add_rtn_f16 v10, v1, v2 offset:8": range(8, 12),
    "ds_wrap_rtn_b32 v10, v1, v2, v3 offset:8": range(8, 12),
    "ds_cmpst_b64 v1, v[2:3], v[6:7] offset:8": range(8, 16),
    "ds_wrxchg_rtn_b32 v10, v1, v2 offset:8": range(8, 12),
    "ds_wrxchg2_rtn_b32 v[10:11], v1, v2, v3 offset0:2 offset1:3": range(8, 16),
    "ds_wrxchg2st64_rtn_b64 v[10:13], v1, v[2:3], v[6:7] offset1:1": (
        *range(8), *range(512, 520),
    ),
    "ds_condxchg32_rtn_b64 v[10:11], v1, v[2:3] offset:8": range(8, 16),
    "ds_append v10 offset:8": range(8, 12),
    "ds_consume v10 offset:8": range(8, 12),
    "flat_load_dwordx3 v[10:12], v[4:5] offset:8": range(8, 20),
    "flat_load_ubyte v10, v[4:5] offset:8": range(8, 9),
    "flat_load_short_d16_hi v10, v[4:5] offset:8": range(8, 10),
    "flat_atomic_add v[4:5], v2 offset:8": range(8, 12),
    "flat_atomic_add_x2 v[4:5], v[2:3] offset:8": range(8, 16),
}  # fmt: skip
WRITES = {
    "ds_write_b32 v1, v2 offset:8": range(8, 12),
    "ds_write_b64 v1, v[2:3] offset:8": range(8, 16),
    "ds_write_b96 v1, v[2:4] offset:8": range(8, 20),
    "ds_write_b128 v1, v[6:9] offset:8": range(8, 24),
    "ds_write_b8 v1, v2 offset:8": range(8, 9),
    "ds_write_b8_d16_hi v1, v2 offset:8": range(8, 9),
    "ds_write_b16 v1, v2 offset:8": range(8, 10),
    "ds_write_b16_d16_hi v1, v2 offset:8": range(8, 10),
    "ds_write2_b32 v1, v2, v3 offset0:2 offset1:3": range(8, 16),
    "ds_write2_b64 v1, v[2:3], v[6:7] offset0:1 offset1:2": range(8, 24),
    "ds_write2st64_b32 v1, v2, v3 offset1:1": (*range(4), *range(256, 260)),
    "ds_write2st64_b64 v1, v[2:3], v[6:7] offset1:1": (*range(8), *range(512, 520)),
    "ds_write_addtid_b32 v2 offset:8": range(8, 12),
    "flat_store_dwordx2 v[4:5], v[2:3] offset:8": range(8, 16),
    "flat_store_byte v[4:5], v2 offset:8": range(8, 9),
    "flat_store_short_d16_hi v[4:5], v2 offset:8": range(8, 10),
    "global_load_lds_dword v11, s[4:5] offset:8": range(8, 12),
    "global_load_lds_ubyte v11, s[4:5] offset:8": range(8, 12),
    "buffer_load_dword off, s[8:11], 0 offset:8 lds": range(8, 12),
}
NO_ACCESS = (
    "ds_bpermute_b32 v10, v1, v2",
    "ds_permute_b32 v10, v1, v2",
    "ds_swizzle_b32 v10, v2 offset:0x8055",
    "ds_nop",
)


def at(place: int, *lines: str) -> str:
    """Lines for an area of their own: it begins at v1, at M0, and for FLAT at v[4:5]."""
    base = f"  s_mov_b32 m0, {place * AREA}\n  v_mov_b32 v1, m0\n  v_mov_b32 v4, m0\n"
    return base + "".join(f"  {line}\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n" for line in lines)


def filled(places: Iterable[int]) -> list[str]:
    return [f"ds_write_b8 v1, v11 offset:{place}" for place in places]


def findings(body: str, target: str = "gfx942") -> list[tuple[str, int]]:
    """Mnemonic and byte of every finding about LDS that nothing wrote; there are no others."""
    kernel = AsmKernel(BEGIN + body, arguments=1, lds=65536)
    code_object = any_compiler(target).assemble(kernel.source(target))
    launch = Launch(code_object, "test_kernel", [np.zeros(1024, np.uint32)])
    outcome = launch_kernels([launch], target, {"KTRACE_SOFT_CHECK": "1"})
    assert outcome.statuses == [0], outcome.errors
    place = r"wave 0, pc \S+ \[[0-9a-f ]+ (\w+)\]"
    finding = r": reads LDS that nothing wrote: byte (\w+), lane \d+\n"
    told = re.findall(place + finding, outcome.errors)
    counted = 1 + min(len(told), 20) if len(told) > 1 else len(told)  # in all, and of each
    assert len(outcome.errors.splitlines()) == len(told) + counted, outcome.errors
    return [(mnemonic, int(byte, 16)) for mnemonic, byte in told]


def test_each_instruction_that_reads_lds_is_told_of_its_last_byte() -> None:
    body = "".join(
        at(k, *filled(list(places)[:-1]), text) for k, (text, places) in enumerate(READS.items())
    )

    told = findings(body)

    assert told == [
        (text.split()[0], k * AREA + max(places)) for k, (text, places) in enumerate(READS.items())
    ]


def test_what_was_written_may_be_read_by_every_instruction() -> None:
    body = "".join(at(k, *filled(places), text) for k, (text, places) in enumerate(READS.items()))

    assert findings(body + at(len(READS), *NO_ACCESS)) == []


def test_each_instruction_that_writes_lds_writes_its_bytes_and_no_others() -> None:
    body, expected = "", []
    for k, (text, places) in enumerate(WRITES.items()):
        around = sorted({place + 1 for place in places} - set(places))
        reads = [f"ds_read_u8 v10, v1 offset:{place}" for place in (*places, *around)]
        body += at(k, text, *reads)
        expected += [("ds_read_u8", k * AREA + place) for place in around]

    assert findings(body) == expected


def test_only_active_lanes_read_and_they_may_read_what_others_wrote() -> None:
    halves = """
  s_mov_b64 exec, -1
  v_lshlrev_b32 v1, 2, v0
  v_cmp_gt_u32 vcc, 32, v0
  s_mov_b64 exec, vcc
  ds_write_b32 v1, v0
  ds_read_b32 v10, v1
  s_not_b64 exec, exec
  v_add_u32 v2, -128, v1
  ds_read_b32 v11, v2
"""

    assert findings(halves) == []
    assert findings(halves.replace("-128", "-124")) == [("ds_read_b32", 128)]


def test_gfx950_reads_matrices_and_loads_wide() -> None:
    reads = {f"ds_read_b64_tr_b{bits} v[12:13], v1 offset:8": range(8, 16) for bits in (4, 8, 16)}
    reads["ds_read_b96_tr_b6 v[12:14], v1 offset:8"] = range(8, 20)
    loads = {
        "global_load_lds_dwordx4 v11, s[4:5] offset:16": range(16, 32),
        "buffer_load_dwordx3 off, s[8:11], 0 offset:8 lds": range(8, 20),
    }
    body = "".join(
        at(k, *filled(list(places)[:-1]), text) for k, (text, places) in enumerate(reads.items())
    )
    for k, (text, places) in enumerate(loads.items(), len(reads)):
        checks = [f"ds_read_u8 v10, v1 offset:{place}" for place in (*places, max(places) + 1)]
        body += at(k, text, *checks)

    told = findings(body, "gfx950")

    assert [byte for _, byte in told] == [15, 1039, 2063, 3091, 4128, 5140]
