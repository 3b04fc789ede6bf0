"""The thread trace that docs/reference/cli-hotspots.md shows: an annotated kernel with a loop."""

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


def write_example(folder: Path) -> None:
    """Write the bundle, its code object and the kernel trace beside it."""
    folder.mkdir()
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
            EventSource(1, "load", Kind.PHASE, kernel="gemm", offset=8),
            EventSource(2, "mma", Kind.PHASE, kernel="gemm", offset=24),
            EventSource(3, "store", Kind.PHASE, kernel="gemm", offset=64),
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
    lines = [
        ("s_load_dwordx4 s[0:3], s[4:5], 0x0", 4),
        ("s_waitcnt lgkmcnt(0)", 4),
        ("buffer_load_dwordx4 v[20:23], v40, s[0:3], 0 offen", 7),
        ("s_waitcnt vmcnt(0)", 7),
        ("ds_write_b128 v41, v[20:23]", 7),
        ("s_barrier", 6),
        ("ds_read_b128 v[24:27], v42", 8),
        ("s_waitcnt lgkmcnt(0)", 8),
        ("v_mfma_f32_32x32x8_f16 v[0:15], v[24:25], v[26:27], v[0:15]", 8),
        ("v_add_u32_e32 v40, 64, v40", 4),
        ("s_add_i32 s8, s8, -1", 6),
        ("s_cmp_lg_u32 s8, 0", 6),
        ("s_cbranch_scc1 65526", 6),
        ("s_nop 7", 4),
        ("s_nop 1", 4),
        ("v_cvt_f16_f32_e32 v0, v0", 9),
        ("buffer_store_short v0, v43, s[0:3], 0 offen", 9),
        ("s_endpgm", 4),
    ]
    rows = [made.add(text, f"{_SOURCE}:{line}") for text, line in lines]
    for simd in range(4):
        made.run(_steps(rows, simd), simd=simd, begin=4_000 + 4 * simd)
    return made


def _steps(rows: list[int], simd: int) -> list[Step]:
    steps = [Step(rows[0], gap=240), Step(rows[1], 420 + 8 * simd, on=[rows[0]])]
    for number in range(_ROUNDS):
        steps += [
            Step(rows[2]), Step(rows[3], 560 - 20 * number, on=[rows[2]]), Step(rows[4], gap=8),
            Step(rows[5], 40 + 12 * simd), Step(rows[6]), Step(rows[7], 64, on=[rows[6]]),
            Step(rows[8], 8), *(Step(row) for row in rows[9:13]),
        ]  # fmt: skip
    return [*steps, Step(rows[13], 28), Step(rows[14], 4), Step(rows[15], 8), Step(rows[16], 20),
            Step(rows[17])]  # fmt: skip
