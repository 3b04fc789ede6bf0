"""Buffer instructions with formats, swizzled buffers, and loads into LDS."""

import struct

import numpy as np
import pytest

from support.buffer_kernel import run_on_buffer
from support.vector_kernel import LANES

IDENTITY = 0xFAC  # components 0, 1, 2, 3 to x, y, z, w
BYTES = bytes(range(0x81, 0x91))


ALL = 0xFFFFFFFF  # records


def described(data: int, number: int, selectors: int = IDENTITY) -> tuple[int, int, int]:
    """A descriptor with a format."""
    return 0, ALL, data << 15 | number << 12 | selectors


def f32(*values: float) -> list[int]:
    return [int(word) for word in np.array(values, np.float32).view(np.uint32)]


def test_a_formatted_load_takes_format_and_order_from_the_descriptor() -> None:
    # 8_8_8_8 as unsigned fractions, components in reverse, then 0 and 1 for x and y.
    load = "  buffer_load_format_xyzw v[20:23], off, s[8:11], 0 offset:4"
    memory = bytes(4) + bytes([0, 51, 102, 255])

    _, plain = run_on_buffer(load, memory, described(10, 0))
    _, reverse = run_on_buffer(load, memory, described(10, 0, 0o4567))
    _, constant = run_on_buffer(load, memory, described(10, 4, 0o4510))

    assert plain[0].tolist() == f32(0, 0.2, 0.4, 1)
    assert reverse[63].tolist() == f32(1, 0.4, 0.2, 0)
    assert constant[0].tolist() == [0, 1, 51, 0]


# DATA_FORMAT, NUM_FORMAT, the bytes, and what x, y, z, w are then.
FORMATS = [
    (1, 4, b"\x81", [0x81, 0, 0, 1]),
    (1, 5, b"\x81", [0xFFFFFF81, 0, 0, 1]),
    (1, 1, b"\x81", f32(-1, 0, 0, 1)),
    (1, 1, b"\x80", f32(-1, 0, 0, 1)),
    (1, 2, b"\x81", f32(129, 0, 0, 1)),
    (1, 3, b"\x81", f32(-127, 0, 0, 1)),
    (2, 7, struct.pack("<e", -1.5), f32(-1.5, 0, 0, 1)),
    (3, 0, b"\xff\x00", f32(1, 0, 0, 1)),
    (4, 7, struct.pack("<f", 3.25), f32(3.25, 0, 0, 1)),
    (5, 5, b"\xff\xff\x01\x00", [0xFFFFFFFF, 1, 0, 1]),
    (6, 7, struct.pack("<I", 0x3C0 | 0x3E0 << 11 | 0x200 << 22), f32(1, 1.5, 2, 1)),
    (7, 7, struct.pack("<I", 0x1E0 | 0x3C0 << 10 | 0x400 << 21), f32(1, 1, 2, 1)),
    (8, 4, struct.pack("<I", 1 | 2 << 2 | 3 << 12 | 4 << 22), [1, 2, 3, 4]),
    (9, 4, struct.pack("<I", 1 | 2 << 10 | 3 << 20 | 3 << 30), [1, 2, 3, 3]),
    (9, 5, struct.pack("<I", 1 | 2 << 10 | 3 << 20 | 3 << 30), [1, 2, 3, 0xFFFFFFFF]),
    (11, 4, struct.pack("<2I", 5, 6), [5, 6, 0, 1]),
    (12, 7, struct.pack("<4e", 1, 2, 3, 4), f32(1, 2, 3, 4)),
    (13, 7, struct.pack("<3f", 1, 2, 3), f32(1, 2, 3, 1)),
    (14, 4, struct.pack("<4I", 1, 2, 3, 4), [1, 2, 3, 4]),
]


def test_typed_loads_and_stores_of_every_format() -> None:
    loads, stores = [], []
    for n, (data, number, _, _) in enumerate(FORMATS):
        options = f"s[8:11], 0 format:[{data_name(data)},{number_name(number)}] offset:{16 * n}"
        moved = options.replace("offset:", "offset:1024+")
        loads.append(
            f"  tbuffer_load_format_xyzw v[20:23], off, {options}\n  s_waitcnt vmcnt(0)\n"
            f"  tbuffer_store_format_xyzw v[20:23], off, {moved}"
        )
        stores.append(
            f"  v_mov_b32 v3, {16 * n}\n  s_mov_b64 exec, 1\n"
            + "".join(
                f"  global_store_dword v3, v{20 + k}, s[6:7] offset:{4 * k}\n" for k in range(4)
            )
            + "  s_mov_b64 exec, -1"
        )
    memory = b"".join(content.ljust(16, b"\xee") for _, _, content, _ in FORMATS)
    text = "\n".join(line for pair in zip(loads, stores, strict=True) for line in pair)
    text += "\n  s_endpgm"

    after, loaded = run_on_buffer(text, memory.ljust(1024, b"\xee") + bytes([0xEE]) * 1024)

    assert loaded[: len(FORMATS)].tolist() == [wanted for _, _, _, wanted in FORMATS]
    # Written back, every format gives its own bytes: but -128/127 is -1, which is written as -127.
    stored = [content.replace(b"\x80", b"\x81") if number == 1 else content
              for _, number, content, _ in FORMATS]  # fmt: skip
    assert after[1024 : 1024 + len(memory)] == b"".join(c.ljust(16, b"\xee") for c in stored)


def data_name(number: int) -> str:
    names = ("", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2",
             "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32",
             "32_32_32_32")  # fmt: skip
    return f"BUF_DATA_FORMAT_{names[number]}"


def number_name(number: int) -> str:
    names = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "", "FLOAT")
    return f"BUF_NUM_FORMAT_{names[number]}"


def test_half_components_are_packed() -> None:
    formats = "format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UNORM]"
    text = f"""
  tbuffer_load_format_d16_xyz v[20:21], off, s[8:11], 0 {formats}
  s_waitcnt vmcnt(0)
  tbuffer_store_format_d16_xyzw v[20:21], off, s[8:11], 0 {formats} offset:4
  buffer_load_format_d16_hi_x v22, off, s[8:11], 0
"""

    after, loaded = run_on_buffer(text, bytes([255, 0, 51, 102, 9, 9, 9, 9]), described(10, 0))

    assert loaded[0].tolist() == [0x00003C00, 0x77773266, 0x3C007777, 0x77777777]
    # 0x7777 is 30576: more than 1.
    assert after[4:] == bytes([255, 0, 51, 255])


def test_what_lies_outside_reads_as_zero_and_is_not_written() -> None:
    uint = "format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_UINT]"
    text = f"""
  tbuffer_load_format_xy v[20:21], v1, s[8:11], 0 {uint} offen
  tbuffer_store_format_x v0, v1, s[8:11], 0 {uint} offen
"""

    after, loaded = run_on_buffer(text, bytes([7]) * 256, (0, 32, 0))

    assert loaded[:8, 0].tolist() == [0x07070707] * 8
    assert loaded[8:, :2].tolist() == [[0, 0]] * 56
    assert after == b"".join(struct.pack("<I", k) for k in range(8)) + bytes([7]) * 224


def test_a_format_that_is_none_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="data format 0 with number format 0 is no format"):
        run_on_buffer("  buffer_load_format_x v20, off, s[8:11], 0", bytes(16))


def swizzled(index: int, offset: int, stride: int, *, indices: int, element: int) -> int:
    """The byte of an offset in a record where `indices` records keep their elements together."""
    whole = index // indices * stride + offset // element * element
    return whole * indices + index % indices * element + offset % element


@pytest.mark.parametrize(("indices", "element"), [(8, 4), (16, 4), (32, 8), (64, 16)])
def test_a_swizzled_buffer_interleaves_the_elements_of_records(indices: int, element: int) -> None:
    stride = 32
    # Record n's dword k is n * 100 + k.
    memory = bytearray(stride * LANES)
    for index in range(LANES):
        for k in range(stride // 4):
            place = swizzled(index, 4 * k, stride, indices=indices, element=element)
            struct.pack_into("<I", memory, place, index * 100 + k)
    upper = 1 << 31 | stride << 16
    last = {8: 0, 16: 1, 32: 2, 64: 3}[indices] << 21 | {4: 1, 8: 2, 16: 3}[element] << 19
    text = """
  buffer_load_dword v20, v0, s[8:11], 0 idxen offset:20
  v_mov_b32 v3, 24
  v_mov_b32 v2, v0
  buffer_load_dword v21, v[2:3], s[8:11], 0 idxen offen
  s_mov_b32 s10, 8
  buffer_load_dword v22, v0, s[8:11], 0 idxen
"""

    _, loaded = run_on_buffer(text, bytes(memory), (upper, LANES, last))

    assert loaded[:, 0].tolist() == [100 * n + 5 for n in range(LANES)]
    assert loaded[:, 1].tolist() == [100 * n + 6 for n in range(LANES)]
    assert loaded[:, 2].tolist() == [100 * n if n < 8 else 0 for n in range(LANES)]


def test_the_lane_can_be_added_to_the_index() -> None:
    memory = b"".join(struct.pack("<2I", n, n + 1000) for n in range(LANES))

    _, loaded = run_on_buffer(
        "  buffer_load_dword v20, off, s[8:11], 0 offset:4", memory, (8 << 16, ALL, 1 << 23)
    )

    assert loaded[:, 0].tolist() == [n + 1000 for n in range(LANES)]


LOAD_LDS = """
  s_mov_b32 m0, 64
  buffer_load_{kind} off, s[8:11], 0 offset:12 lds
  s_waitcnt vmcnt(0)
  ds_read_b32 v20, v1 offset:76
"""


@pytest.mark.parametrize(
    ("kind", "value"),
    [("ubyte", 0x8D), ("sbyte", 0xFFFFFF8D), ("ushort", 0x8E8D), ("sshort", 0xFFFF8E8D),
     ("dword", 0x908F8E8D)],
)  # fmt: skip
def test_loads_into_lds_fill_a_dword_a_lane_behind_m0_and_the_offset(kind: str, value: int) -> None:
    _, loaded = run_on_buffer(LOAD_LDS.format(kind=kind), BYTES, lds=1024)

    assert loaded[:, 0].tolist() == [value] * LANES


@pytest.mark.parametrize(
    ("kind", "first"),
    [("ubyte", 0x80), ("sbyte", 0xFFFFFF80), ("ushort", 0x8D80), ("sshort", 0xFFFF8D80),
     ("dword", 0x908F8D80)],
)  # fmt: skip
def test_loads_from_scratch_into_lds_take_each_lanes_own(kind: str, first: int) -> None:
    text = f"""
  v_add_u32 v5, 0x908f8d80, v0
  scratch_store_dword off, v5, off offset:12
  s_waitcnt vmcnt(0)
  s_mov_b32 m0, 64
  scratch_load_lds_{kind} off, off offset:12
  s_waitcnt vmcnt(0)
  ds_read_b32 v20, v1 offset:76
"""

    _, loaded = run_on_buffer(text, BYTES, lds=1024, scratch=16)

    assert loaded[:, 0].tolist() == list(range(first, first + LANES))


@pytest.mark.parametrize("kind", ["ubyte", "sbyte", "ushort", "sshort", "dword"])
def test_global_loads_into_lds_do_the_same(kind: str) -> None:
    values = {"ubyte": 0x8D, "sbyte": 0xFFFFFF8D, "ushort": 0x8E8D, "sshort": 0xFFFF8E8D,
              "dword": 0x908F8E8D}  # fmt: skip
    text = f"""
  s_mov_b32 m0, 64
  v_mov_b32 v3, 0
  global_load_lds_{kind} v3, s[4:5] offset:12
  s_waitcnt vmcnt(0)
  ds_read_b32 v20, v1 offset:76
"""

    _, loaded = run_on_buffer(text, BYTES, lds=1024)

    assert loaded[:, 0].tolist() == [values[kind]] * LANES
