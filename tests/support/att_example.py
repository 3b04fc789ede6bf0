"""The thread trace that docs/reference/cli-hotspots.md shows: an annotated kernel with a loop."""

from collections.abc import Iterator
from pathlib import Path

from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.trace_file.layout import Kind
from support.att import AttBundle, Launched, Step, write_kernel_trace
from support.code_object import EventSource, KernelSource, make_code_object

_SOURCE = "/home/me/gemm.py"
_TEXT = """\
import kernels


@kernels.kernel
def gemm(a, b, c):
    for k in range(0, K, 32):
        tile = load(a, b, k)
        acc = mma(tile, acc)
    store(c, acc)
"""
_ROUNDS = 8
_EVENTS = ("load", "mma", "store")


def _marker(number: int) -> list[tuple[str, int]]:
    """What a KTRACE_PHASE is compiled to."""
    return [
        (f"{_EVENTS[number - 1]}:", 0),
        ("s_cmp_lg_u64 exec, s[2:3]", 6),
        (f"s_cbranch_scc1 slow{number}", 6),
        ("s_memtime vcc", 6),
        ("s_waitcnt lgkmcnt(0)", 6),
        (f"s_mov_b32 vcc_hi, 0x{Kind.PHASE << 27 | number:x}", 6),
        ("s_buffer_store_dwordx2 vcc, s[12:15], s19", 6),
        ("s_add_u32 s19, s19, 8", 6),
        (f"done{number}:", 0),
    ]


def _slow(number: int) -> list[tuple[str, int]]:
    return [
        (f"slow{number}:", 0),
        ("s_cmp_eq_u64 s[2:3], 0", 6),
        (f"s_cbranch_scc1 done{number}", 6),
        (f"s_branch done{number}", 6),
    ]


_LISTING = [
    ("s_load_dwordx4 s[0:3], s[4:5], 0x0", 4),
    ("s_waitcnt lgkmcnt(0)", 4),
    ("loop:", 0),
    *_marker(1),
    ("buffer_load_dwordx4 v[20:23], v40, s[0:3], 0 offen", 7),
    ("s_waitcnt vmcnt(0)", 7),
    ("ds_write_b128 v41, v[20:23]", 7),
    ("s_barrier", 6),
    *_marker(2),
    ("ds_read_b128 v[24:27], v42", 8),
    ("s_waitcnt lgkmcnt(0)", 8),
    ("v_mfma_f32_32x32x8_f16 v[0:15], v[24:25], v[26:27], v[0:15]", 8),
    ("s_add_i32 s8, s8, -1", 6),
    ("s_cmp_lg_u32 s8, 0", 6),
    ("s_cbranch_scc1 loop", 6),
    *_marker(3),
    ("s_nop 7", 4),
    ("s_nop 1", 4),
    ("v_cvt_f16_f32_e32 v0, v0", 9),
    ("buffer_store_short v0, v43, s[0:3], 0 offen", 9),
    ("s_endpgm", 4),
    *_slow(1),
    *_slow(2),
    *_slow(3),
]


def _offset_by_label() -> dict[str, int]:
    offsets, offset = {}, 0
    for text, _ in _LISTING:
        if text.endswith(":"):
            offsets[text[:-1]] = offset
        else:
            offset += 4
    return offsets


def write_example(folder: Path) -> None:
    """Write the bundle, its code object and the kernel trace beside it."""
    folder.mkdir()
    offsets = _offset_by_label()
    image = make_code_object(
        [
            KernelSource(
                "gemm",
                unit_key=0x11,
                metadata={
                    ".vgpr_count": 136, ".agpr_count": 0, ".sgpr_count": 40,
                    ".max_flat_workgroup_size": 256, ".group_segment_fixed_size": 18_432,
                },
            )
        ],
        [
            EventSource(number, name, Kind.PHASE, kernel="gemm", offset=offsets[name])
            for number, name in enumerate(_EVENTS, 1)
        ],
    )  # fmt: skip
    (folder / "4021_gfx942_code_object_id_4.out").write_bytes(image)
    write_kernel_trace(
        folder / "4021_kernel_trace.csv", Launched(7, "gemm", 18_432, 136, 0, 40, 256)
    )
    code = read_code_object(image).kernels[0].code or range(0)
    _bundle(code.start).write(folder / "ui_output_agent_4021_dispatch_7")


def _bundle(base: int) -> AttBundle:
    made = AttBundle("gemm", base)
    made.sources = {_SOURCE: _TEXT}
    offsets = _offset_by_label()
    for text, line in _LISTING:
        mnemonic, _, target = text.partition(" ")
        words = (offsets.get(target, 0) - (made.address - base + 4)) // 4
        shown = f"{mnemonic} {words & 0xFFFF}" if target in offsets else text
        if not text.endswith(":"):
            made.add(shown, f"{_SOURCE}:{line}")
    rows = {str(row[0]).partition(" ")[0]: number for number, row in enumerate(made.rows)}
    first = {str(row[0]): number for number, row in reversed(list(enumerate(made.rows)))}
    for simd in range(4):
        made.run(list(_steps(made, (rows, first), simd)), simd=simd, begin=4_000 + 4 * simd)
    return made


def _steps(
    made: AttBundle, named: tuple[dict[str, int], dict[str, int]], simd: int
) -> Iterator[Step]:
    """Walk through the listing as a wave does, with what each instruction costs it."""
    last, first = named
    begin = first["s_cmp_lg_u64 exec, s[2:3]"]
    loop_end = first["s_cmp_lg_u32 s8, 0"] + 1
    load = last["buffer_load_dwordx4"]
    order = [*range(1, begin), *(list(range(begin, loop_end + 1)) * _ROUNDS)]
    order += range(loop_end + 1, last["s_endpgm"] + 1)
    for row in order:
        text, before = made.rows[row][0], made.rows[row - 1][0]
        if text == "s_waitcnt vmcnt(0)":
            yield Step(row, 540 + 16 * simd, on=[load])
        elif text == "s_waitcnt lgkmcnt(0)":
            stall = {"s_memtime vcc": 48, "ds_read_b128 v[24:27], v42": 64}.get(before, 420)
            yield Step(row, stall, on=[row - 1])
        elif text.startswith("s_load"):
            yield Step(row, gap=240)
        else:
            stalls = {"s_barrier": 40 + 12 * simd, "v_mfma_f32_32x32x8_f16": 8, "s_nop": 24,
                      "buffer_store_short": 20}  # fmt: skip
            yield Step(row, stalls.get(text.partition(" ")[0], 0))
