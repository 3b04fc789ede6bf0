"""The rarer LDS instructions: exchanges, and the transposing read of 6-bit elements."""

import struct

import numpy as np

from support.buffer_kernel import run_on_buffer
from support.vector_kernel import LANES


def test_lds_exchanges() -> None:
    text = """
  v_lshlrev_b32 v1, 4, v0
  ds_write2_b32 v1, v0, v1 offset0:0 offset1:3
  v_mov_b32 v3, 0x80000005
  v_mov_b32 v4, 0x7
  s_waitcnt lgkmcnt(0)
  ds_wrxchg2_rtn_b32 v[20:21], v1, v3, v4 offset0:0 offset1:3
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v6, 0x80000009
  v_mov_b32 v7, 0x11
  ds_write_b32 v1, v4 offset:4
  s_waitcnt lgkmcnt(0)
  ds_condxchg32_rtn_b64 v[22:23], v1, v[6:7]
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v24, v1
  ds_read_b32 v25, v1 offset:4
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v24, s[4:5]
  global_store_dword v1, v25, s[4:5] offset:4
"""

    after, loaded = run_on_buffer(text, bytes(1024), lds=1024)

    assert loaded.tolist() == [[n, 16 * n, 0x80000005, 7] for n in range(LANES)]
    # Only the value whose top bit is set was written, without that bit.
    assert [struct.unpack_from("<2I", after, 16 * n) for n in range(LANES)] == [(9, 7)] * LANES


def test_six_bit_elements_are_transposed_in_groups_of_sixteen_lanes() -> None:
    # Each lane's 12 bytes are 16 elements; lane l gets element l % 16 of each lane of its group.
    generator = np.random.default_rng(3)
    elements = generator.integers(0, 64, (LANES, 16))
    rows = [sum(int(e) << (6 * k) for k, e in enumerate(lane)) for lane in elements]
    text = """
  v_mul_u32_u24 v1, 12, v0
  global_load_dwordx3 v[8:10], v1, s[4:5]
  v_lshlrev_b32 v1, 4, v0
  s_waitcnt vmcnt(0)
  ds_write_b96 v1, v[8:10] offset:16
  s_waitcnt lgkmcnt(0)
  ds_read_b96_tr_b6 v[20:22], v1 offset:16
"""

    _, loaded = run_on_buffer(
        text, b"".join(row.to_bytes(12, "little") for row in rows), lds=2048, target="gfx950"
    )

    whole = [int(a) | int(b) << 32 | int(c) << 64 for a, b, c, _ in loaded]
    got = np.array([[row >> (6 * k) & 63 for k in range(16)] for row in whole])
    np.testing.assert_array_equal(
        got.reshape(4, 16, 16), elements.reshape(4, 16, 16).transpose(0, 2, 1)
    )
