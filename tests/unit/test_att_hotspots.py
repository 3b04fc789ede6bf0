"""Hotspots of bundles that are made: sums, waits, phases, occupancy."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ktrace_cli.att.hotspots import MARKERS, Request, analyse
from ktrace_cli.att.results import Hotspots
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.kernel_code.disassembler import disassemble
from ktrace_cli.trace_file.layout import Kind
from support.att import AttBundle, Launched, Step, write_agents, write_kernel_trace
from support.code_object import EventSource, KernelSource, make_code_object

ROOT = Path(__file__).parents[2]
BUNDLE = "out/ui_output_agent_7_dispatch_3"
MFMA = "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]"
IMAGE = make_code_object(
    [
        KernelSource(
            "kernel",
            unit_key=0x11,
            metadata={
                ".vgpr_count": 136, ".agpr_count": 0, ".sgpr_count": 40,
                ".max_flat_workgroup_size": 256, ".group_segment_fixed_size": 1000,
            },
        )
    ],
    [
        EventSource(1, "load", Kind.PHASE, kernel="kernel", offset=8),
        EventSource(2, "mma", Kind.PHASE, kernel="kernel", offset=16),
    ],
)  # fmt: skip
CODE = read_code_object(IMAGE).kernels[0].code or range(0)


def made_of(tmp_path: Path, bundle: AttBundle, **request: object) -> Hotspots:
    bundle.write(tmp_path / BUNDLE)
    return analyse(Request(tmp_path / BUNDLE, **request))  # type: ignore[arg-type]


def test_stall_and_idle_are_added_up_by_class_line_and_instruction(tmp_path: Path) -> None:
    bundle = AttBundle()
    load = bundle.add("s_load_dword s4, s[0:1], 0x3c", "/a/k.py:5")
    wait = bundle.add("s_waitcnt lgkmcnt(0)", "/a/k.py:5")
    use = bundle.add("v_add_u32_e32 v0, s4, v0", "/a/k.py:6")
    for simd in (0, 1):
        steps = [Step(load, issue=4, gap=20), Step(wait, 90, 0, on=[load]), Step(use, 8, 4)]
        bundle.run(steps, simd=simd)

    found = made_of(tmp_path, bundle)

    totals = found.totals
    assert (totals.hit, totals.latency, totals.stall, totals.idle) == (6, 212, 196, 40)
    assert [(row.kind.value, row.sums.stall, row.sums.idle) for row in found.by_class] == [
        ("wait_lgkm", 180, 0),
        ("valu", 16, 0),
        ("smem", 0, 40),
    ]
    assert [(row.frame.line, row.sums.stall) for row in found.by_source] == [(5, 180), (6, 16)]
    assert found.by_instruction[0].text == "s_waitcnt lgkmcnt(0)"
    assert [(row.kind.value, row.on, row.count, row.stall) for row in found.waits] == [
        ("wait_lgkm", "smem", 2, 180)
    ]
    assert found.quality == ()
    assert (found.faults, found.others) == ({}, ())


def test_a_combined_wait_is_split_by_what_it_waited_for(tmp_path: Path) -> None:
    bundle = AttBundle()
    load = bundle.add("global_load_dword v1, v[2:3], off")
    read = bundle.add("ds_read_b32 v4, v5")
    wait = bundle.add("s_waitcnt vmcnt(0) lgkmcnt(0)")
    bundle.run(
        [
            Step(load), Step(wait, 100, on=[load]), Step(read), Step(wait, 40, on=[read]),
            Step(wait, 3), Step(load), Step(read), Step(wait, 70, on=[load, read]),
        ]
    )  # fmt: skip

    found = made_of(tmp_path, bundle)

    assert [(row.on, row.count, row.stall) for row in found.waits] == [
        ("vmem_load", 1, 100),
        ("lds + vmem_load", 1, 70),
        ("lds", 1, 40),
        ("", 1, 3),
    ]
    assert [(row.instruction.text.split()[0], row.stall) for row in found.awaited] == [
        ("ds_read_b32", 110),
        ("global_load_dword", 100),
    ]


def test_inlined_code_counts_at_its_innermost_line(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.sources = {"/a/k.hip": "a\nb\nc\n"}
    one = bundle.add("v_exp_f32_e32 v0, v1", "/a/math.h:9 -> /a/k.hip:2")
    other = bundle.add("v_exp_f32_e32 v2, v3", "/a/math.h:9 -> /a/k.hip:3")
    own = bundle.add("v_add_f32_e32 v2, v3, v0", "/a/k.hip:2")
    bundle.run([Step(one, 8), Step(other, 40), Step(own, 2)])

    found = made_of(tmp_path, bundle, context=1)

    first, second = found.by_source
    assert (first.frame.text, first.sums.stall) == ("/a/math.h:9", 48)
    assert [frame.text for frame in first.inlined_into] == ["/a/k.hip:3"]
    assert (second.frame.text, second.snippet) == ("/a/k.hip:2", ((1, "a"), (2, "b"), (3, "c")))


def test_the_line_of_a_decorator_is_set_aside(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.sources = {"/k.py": "import x\n@triton.jit\ndef k():\n    y = 1\n"}
    rows = [
        bundle.add("v_add_f32_e32 v0, v1, v2", "/k.py:2"),
        bundle.add("s_waitcnt vmcnt(0)", "/k.py:2"),
        bundle.add("v_mul_f32_e32 v0, v1, v2", "/k.py:4"),
    ]
    bundle.run([Step(row, 10) for row in rows])

    found = made_of(tmp_path, bundle)

    assert {row.frame.line: row.artefact for row in found.by_source} == {
        2: "it declares the kernel (`@triton.jit`)",
        4: "",
    }
    assert found.source_coverage.stall_set_aside == pytest.approx(20 / 30)


def annotated(steps: Sequence[tuple[str, int]]) -> AttBundle:
    bundle = AttBundle(base=CODE.start)
    rows = [bundle.add(text) for text, _ in steps]
    bundle.run([Step(row, stall) for row, (_, stall) in zip(rows, steps, strict=True)])
    return bundle


def test_stalls_are_joined_with_phases_by_the_markers_addresses(tmp_path: Path) -> None:
    bundle = annotated(
        [
            ("s_mov_b32 s0, 0", 1), ("s_nop 0", 2),
            ("global_load_dword v1, v[2:3], off", 10), ("s_waitcnt vmcnt(0)", 300),
            (MFMA, 4), ("v_add_f32_e32 v0, v1, v2", 60), ("s_endpgm", 0),
        ]
    )  # fmt: skip
    bundle.write(tmp_path / BUNDLE)
    (tmp_path / "out/1_gfx942_code_object_id_4.out").write_bytes(IMAGE)

    found = analyse(Request(tmp_path / BUNDLE))

    assert [(row.name, row.sums.stall, row.sums.hit) for row in found.by_phase] == [
        ("load", 310, 2),
        ("mma", 64, 3),
        ("", 3, 2),
    ]
    assert MARKERS not in {row.name for row in found.by_phase}
    matrix = {row.name: row.matrix for row in found.by_phase}["mma"]
    assert matrix is not None
    # Issued after 4 cycles of stall; 72 cycles until the phase ends.
    assert (matrix.issued, matrix.cycles, matrix.busy) == (1, 76, 32.0)
    assert (found.target.processor, found.target.why) == (
        "gfx942",
        "by the ELF header of 1_gfx942_code_object_id_4.out",
    )


def test_a_code_object_gives_resources_and_a_launch_gives_dynamic_lds(tmp_path: Path) -> None:
    bundle = annotated([("v_mov_b32_e32 v7, 0", 0), ("s_endpgm", 0)])
    bundle.write(tmp_path / BUNDLE)
    image = tmp_path / "kernel.co"
    image.write_bytes(IMAGE)
    launch = Launched(lds=33_792, vgprs=999, sgprs=999, workgroup=256)
    write_kernel_trace(tmp_path / "out/5_kernel_trace.csv", launch, Launched(dispatch=4))

    found = analyse(Request(tmp_path / BUNDLE, code_object=image))

    resources = found.needs.resources
    assert (resources.vgprs, resources.sgprs, resources.workgroup_size) == (136, 40, 256)
    assert (resources.lds_bytes, resources.dynamic_lds_bytes) == (1_000, 32_792)
    assert found.occupancy is not None
    assert (found.occupancy.waves_per_simd, found.occupancy.limited_by) == (1, "lds")


@pytest.mark.parametrize(
    ("target", "vgprs", "accum", "in_code", "expected"),
    [
        ("gfx950", 124, 0, "v[240:241]", 248),  # half of the truth
        ("gfx950", 248, 0, "v[240:241]", 248),  # of a release that counts right
        ("gfx942", 128, 64, "v[100:103]", 192),
        ("gfx942", 16, 0, "v[100:103]", 104),  # the code knows better
    ],
)
def test_registers_by_a_kernel_trace(
    tmp_path: Path, target: str, vgprs: int, accum: int, in_code: str, expected: int
) -> None:
    bundle = AttBundle()
    bundle.run([Step(bundle.add(f"v_mov_b64_e32 {in_code}, 0"))])
    bundle.write(tmp_path / BUNDLE)
    launch = Launched(vgprs=vgprs, accum=accum)
    write_kernel_trace(tmp_path / "out/5_kernel_trace.csv", launch)
    write_agents(tmp_path / "out/5_agent_info.csv", target)

    found = analyse(Request(tmp_path / BUNDLE))

    assert found.needs.resources.vgprs == expected
    assert found.target.why == "by 5_agent_info.csv"


def test_without_any_launch_registers_alone_bound_the_occupancy(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.run([Step(bundle.add("v_mfma_f32_16x16x8_xf32 a[12:15], v[0:1], v[2:3], a[12:15]"))])

    found = made_of(tmp_path, bundle)

    assert found.target.processor == "gfx942"
    assert found.needs.resources.vgprs == 4 + 16
    assert found.needs.unknown == ("the workgroup's size", "LDS", "SGPRs")
    assert found.occupancy is not None
    assert (found.occupancy.waves_per_simd, found.occupancy.limited_by) == (8, "waves")


def test_what_two_targets_have_tells_neither(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.run([Step(bundle.add("v_cvt_f32_fp8_e32 v70, v71")), Step(bundle.add(MFMA))])

    found = made_of(tmp_path, bundle)

    assert found.target.processor == ""
    assert found.target.why.endswith("`v_cvt_f32_fp8_e32` is of gfx942 or gfx950")
    assert (found.occupancy, found.simds[0].matrix) == (None, None)
    assert found.faults == {"unknown_matrix": 1}


def test_what_is_not_known_of_gfx12_is_not_made_up(tmp_path: Path) -> None:
    bundle = AttBundle()
    rows = [
        bundle.add(text) for text in ("s_wait_loadcnt 0x0", "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0")
    ]
    bundle.run([Step(row, 10) for row in rows])

    found = made_of(tmp_path, bundle)

    assert (found.target.processor, found.occupancy) == ("gfx12", None)
    assert {row.kind.value: row.sums.stall for row in found.by_class} == {
        "wait_lgkm": 20,
        "wait_vm": 10,
    }


def test_two_kernels_of_a_bundle_are_kept_apart(tmp_path: Path) -> None:
    bundle = AttBundle("_Z4fillPf")
    small = bundle.add("v_mov_b32_e32 v0, 0")
    bundle.begin_kernel("_Z4gemmPf", 0x2000)
    large = bundle.add(MFMA)
    bundle.begin_kernel("helper", 0x3000)
    called = bundle.add("v_exp_f32_e32 v0, v1")
    bundle.run([Step(small, 7)])
    bundle.run([Step(large, 100), Step(called, 11)], slot=1)

    found = made_of(tmp_path, bundle)
    other = analyse(Request(tmp_path / BUNDLE, kernel="fill"))

    assert (found.kernel, found.totals.stall, found.waves and found.waves.count) == ("gemm", 111, 1)
    assert [(one.name, one.latency) for one in found.others] == [("fill", 11)]
    assert (other.kernel, other.totals.stall) == ("fill", 7)


def test_padding_is_told_by_what_ran_before_it(tmp_path: Path) -> None:
    bundle = AttBundle()
    matrix = bundle.add(MFMA)
    away = bundle.add("v_mov_b32_e32 v60, 0")
    nop = bundle.add("s_nop 9")
    use = bundle.add("v_max_f32_e32 v40, v3, v4")
    compare = bundle.add("v_cmp_gt_f32_e32 vcc, v1, v2")
    short = bundle.add("s_nop 1")
    select = bundle.add("v_cndmask_b32_e32 v9, v8, v7, vcc")
    bundle.run(
        [
            Step(matrix), Step(nop, 36), Step(use), Step(compare), Step(short, 8),
            Step(select), Step(away), Step(matrix), Step(nop, 30), Step(use),
        ]
    )  # fmt: skip
    (tmp_path / "out").mkdir()
    write_agents(tmp_path / "out/5_agent_info.csv", "gfx942")

    found = made_of(tmp_path, bundle)

    assert [
        (one.producer, one.consumer, one.hit, one.wait_states, one.needed, one.stall)
        for one in found.padding
    ] == [
        ("v_mfma_f32_32x32x8_f16", "v_max_f32_e32", 2, 10, 11, 66),
        ("v_cmp_gt_f32_e32", "v_cndmask_b32_e32", 1, 2, None, 8),
    ]


def test_balance_and_residency(tmp_path: Path) -> None:
    bundle = AttBundle()
    row = bundle.add("v_mov_b32_e32 v0, 0")
    bundle.run([Step(row, 96)], simd=0, slot=0, begin=1_000)
    bundle.run([Step(row, 296)], simd=0, slot=1, begin=1_050)
    bundle.run([Step(row, 196)], simd=1, slot=0, begin=1_350)

    found = made_of(tmp_path, bundle)

    spread = found.waves
    assert spread is not None
    assert (spread.count, spread.least, spread.mean, spread.most) == (3, 100, 200.0, 300)
    assert spread.slowest == "se0_sm0_sl1_wv1.json"
    assert [(one.place, one.waves, one.cycles, one.stall) for one in found.simds] == [
        ((0, 1, 0), 2, 400, 392),
        ((0, 1, 1), 1, 200, 196),
    ]
    assert found.observed is not None
    assert (found.observed.waves, found.observed.cus, found.observed.most_per_simd) == (3, 1, 2)


def test_the_gemm_samples_phases_are_found_in_the_disassembly_of_a_trace(tmp_path: Path) -> None:
    path = ROOT / "samples/gemm/gemm.gfx942.co"
    try:
        code = disassemble(path.read_bytes(), "gfx942", path.name)
    except CodeObjectError as problem:
        pytest.skip(problem.why)
    bundle = AttBundle("_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE")
    for one in code.instructions:
        bundle.address = one.address
        bundle.add(one.text, size=one.size)
    is_matrix = [row[0].startswith("v_mfma") for row in bundle.rows]
    bundle.run([Step(row, 12 * is_matrix[row]) for row in range(1, len(bundle.rows))])

    found = made_of(tmp_path, bundle, code_object=path)

    assert found.kernel == "gemm<64, 32>"
    mixes = {
        row.name: {one.kind.value: one.sums.hit for one in row.by_class} for row in found.by_phase
    }
    assert (mixes["mma > k_tile"]["mfma"], mixes["mma > k_tile"]["lds"]) == (8, 6)
    assert mixes["wait"]["barrier"] == 1
    assert mixes["store"]["vmem_store"] == 32
    assert sum(mix.get("mfma", 0) for mix in mixes.values()) == 8
    assert next(row for row in found.by_phase if row.sums.stall).name == "mma > k_tile"
    assert mixes[MARKERS]["smem"] > 50
    assert found.notes == ()


def test_rocprofv3s_json_tells_the_agent_and_the_whole_lds(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.run([Step(bundle.add("v_mov_b32_e32 v30, 0"))])
    bundle.write(tmp_path / BUNDLE)
    agents = [
        {"type": 1, "name": "EPYC", "id": {"handle": 5}},
        {"type": 2, "name": "gfx90a", "id": {"handle": 6}},
        {"type": 2, "name": "gfx950", "id": {"handle": 7}},
    ]
    symbol = {"kernel_id": 2, "formatted_kernel_name": "kernel(float*)", "arch_vgpr_count": 32,
              "accum_vgpr_count": 0, "sgpr_count": 48}  # fmt: skip
    info = {"dispatch_id": 3, "kernel_id": 2, "group_segment_size": 66_000,
            "workgroup_size": {"x": 64, "y": 4, "z": 1}}  # fmt: skip
    tool = {
        "agents": agents,
        "kernel_symbols": [symbol],
        "buffer_records": {"kernel_dispatch": [{"dispatch_info": info}]},
    }
    results = tmp_path / "out/host/5_results.json"
    results.parent.mkdir()
    results.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))

    found = analyse(Request(tmp_path / BUNDLE))

    assert (found.target.processor, found.target.why) == ("gfx950", "by 5_results.json")
    resources = found.needs.resources
    assert (resources.vgprs, resources.sgprs, resources.lds_bytes) == (32, 48, 66_000)
    assert (resources.workgroup_size, found.needs.unknown) == (256, ())
    assert found.occupancy is not None
    assert (found.occupancy.waves_per_simd, found.occupancy.limited_by) == (2, "lds")


def test_launches_that_differ_are_not_guessed_at(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.run([Step(bundle.add("v_mov_b32_e32 v30, 0"))])
    bundle.write(tmp_path / BUNDLE)
    write_kernel_trace(tmp_path / "out/5_kernel_trace.csv", Launched(vgprs=40))
    write_kernel_trace(tmp_path / "out/6_kernel_trace.csv", Launched(vgprs=48))

    found = analyse(Request(tmp_path / BUNDLE))

    assert found.needs.unknown == ("the workgroup's size", "LDS", "SGPRs")
    assert found.faults == {"ambiguous_launches": 2}


def test_several_kinds_of_gpus_leave_it_to_the_instructions(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.run([Step(bundle.add("v_prng_b32_e32 v1, v2"))])
    bundle.write(tmp_path / BUNDLE)
    write_agents(tmp_path / "out/5_agent_info.csv", "gfx942", "gfx950")

    found = analyse(Request(tmp_path / BUNDLE))

    assert (found.target.processor, found.target.is_certain) == ("gfx950", False)
    assert found.target.why == (
        "the agent tables name gfx942, gfx950; `v_prng_b32_e32` is of gfx950"
    )
