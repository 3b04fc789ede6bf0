"""How many waves fit, by LLVM's rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import CodeObjectError
from ktrace_cli.kernel_code.occupancy import (
    RULES_BY_PROCESSOR,
    KernelResources,
    Need,
    Occupancy,
    combined_vgprs,
    occupancy,
    processor_of,
)


def fits(
    vgprs: int, sgprs: int = 32, lds: int = 0, workgroup: int = 256, target: str = "gfx942"
) -> Occupancy:
    return occupancy(KernelResources(vgprs, sgprs, lds, workgroup), target)


def limits(found: Occupancy) -> dict[str, int]:
    return {limit.name: limit.waves for limit in found.limits}


def test_144_and_136_registers_are_one_wave_and_256_are_two_on_gfx942():
    found = fits(combined_vgprs(144, 136))

    assert (found.waves_per_simd, found.limited_by) == (1, "vgpr")
    assert found.next_step is not None
    assert found.next_step.waves_per_simd == 2
    assert found.next_step.needs == (Need("vgpr", 280, 256),)
    assert found.next_step.needs[0].excess == 24
    assert fits(256).waves_per_simd == 2
    assert fits(257).waves_per_simd == 1


def test_a_flash_attention_kernel_on_gfx950_is_bound_by_its_registers():
    found = fits(248, sgprs=112, lds=49152, target="gfx950:sramecc+:xnack-")

    assert (found.processor, found.waves_per_simd, found.limited_by) == ("gfx950", 2, "vgpr")
    assert limits(found) == {"vgpr": 2, "lds": 3, "sgpr": 7, "workgroup": 8, "waves": 8}
    assert found.next_step is not None
    assert found.next_step.needs == (Need("vgpr", 248, 168),)


def test_the_same_kernel_on_gfx942_is_bound_by_its_lds():
    found = fits(248, sgprs=112, lds=49152, target="gfx942")

    assert (found.waves_per_simd, found.limited_by) == (1, "lds")


# LLVM's VGPR steps of gfx90a and later: 512 registers in granules of 8, 8 waves at most.
@pytest.mark.parametrize(
    ("vgprs", "waves"),
    [(0, 8), (1, 8), (64, 8), (65, 7), (72, 7), (73, 6), (80, 6), (81, 5), (96, 5), (97, 4),
     (128, 4), (129, 3), (168, 3), (169, 2), (256, 2), (257, 1), (512, 1)],
)  # fmt: skip
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_registers_are_given_in_granules_of_eight(target, vgprs, waves):
    assert fits(vgprs, target=target).waves_per_simd == waves


@pytest.mark.parametrize(("sgprs", "waves"), [(0, 8), (96, 8), (97, 7), (112, 7)])
def test_scalar_registers_are_given_in_granules_of_sixteen(sgprs, waves):
    assert limits(fits(32, sgprs=sgprs))["sgpr"] == waves


# 65,536 B in granules of 512, and 163,840 B in granules of 1,280.
@pytest.mark.parametrize(
    ("target", "lds", "workgroups"),
    [("gfx90a", 16384, 4), ("gfx942", 16385, 3), ("gfx942", 65536, 1), ("gfx942", 65537, 0),
     ("gfx950", 65537, 2), ("gfx950", 81920, 2), ("gfx950", 81921, 1), ("gfx950", 163840, 1),
     ("gfx950", 163841, 0), ("gfx950", 54400, 2), ("gfx950", 53760, 3)],
)  # fmt: skip
def test_lds_is_given_in_granules_of_the_target(target, lds, workgroups):
    assert fits(32, lds=lds, target=target).workgroups_per_cu == workgroups


def test_dynamic_lds_counts_with_the_static():
    found = occupancy(KernelResources(32, 32, 8192, 256, dynamic_lds_bytes=8192), "gfx942")

    assert (found.workgroups_per_cu, found.limited_by) == (4, "lds")
    assert found.next_step is not None
    assert found.next_step.needs == (Need("lds", 16384, 12800),)


def test_a_workgroup_of_sixteen_waves_fits_whole_or_not_at_all():
    # 80 registers let 6 waves onto a SIMD, and each workgroup takes 4 of every SIMD.
    found = fits(80, workgroup=1024)

    assert (found.waves_per_simd, found.workgroups_per_cu, found.waves_per_cu) == (4, 1, 16)
    assert found.limited_by == "vgpr"
    assert found.next_step is not None
    assert (found.next_step.waves_per_simd, found.next_step.needs) == (8, (Need("vgpr", 80, 64),))
    assert fits(136, workgroup=1024).workgroups_per_cu == 0


def test_waves_that_whole_workgroups_leave_over_are_the_workgroups_fault():
    # 32 slots of a compute unit hold six workgroups of five waves.
    found = fits(32, workgroup=320)

    assert (found.workgroups_per_cu, found.waves_per_cu) == (6, 30)
    assert (found.limited_by, found.next_step) == ("workgroup", None)


def test_workgroups_of_one_wave_need_no_barrier():
    assert fits(32, workgroup=64).workgroups_per_cu == 32
    assert fits(32, workgroup=65).workgroups_per_cu == 16


def test_at_the_most_of_the_target_nothing_limits():
    found = fits(64)

    assert (found.waves_per_simd, found.limited_by, found.next_step) == (8, "waves", None)


def test_accumulation_registers_begin_at_a_multiple_of_four():
    assert combined_vgprs(41, 8) == 52
    assert combined_vgprs(41, 0) == 41


def test_the_processor_is_found_in_every_spelling_of_a_target():
    assert processor_of("gfx942:sramecc+:xnack-") == "gfx942"
    assert processor_of("amdgcn-amd-amdhsa--gfx90a:xnack-") == "gfx90a"
    assert processor_of("amdgpu9.42-amd-amdhsa-unknown-gfx950") == "gfx950"
    assert processor_of("gfx9-4-generic:xnack+") == "gfx9-4-generic"
    assert processor_of("unknown (machine 0x60)") == "unknown (machine 0x60)"


def test_a_target_without_rules_is_refused_by_name():
    with pytest.raises(CodeObjectError) as problem:
        fits(32, target="gfx1100")

    assert problem.value.what == "cannot compute the occupancy on gfx1100"
    assert "gfx90a, gfx940, gfx941, gfx942, gfx950" in problem.value.why


@given(
    vgprs=st.integers(0, 512),
    sgprs=st.integers(0, 112),
    lds=st.integers(0, 170_000),
    workgroup=st.integers(1, 1024),
    target=st.sampled_from(sorted(RULES_BY_PROCESSOR)),
)
def test_meeting_the_needs_of_the_next_step_reaches_it(vgprs, sgprs, lds, workgroup, target):
    found = fits(vgprs, sgprs, lds, workgroup, target)

    assert found.workgroups_per_cu == min(limit.workgroups for limit in found.limits)
    assert 0 <= found.waves_per_simd <= 8
    if found.next_step is None:
        return
    have = {"vgpr": vgprs, "sgpr": sgprs, "lds": lds}
    have |= {need.name: need.most for need in found.next_step.needs}
    reached = fits(have["vgpr"], have["sgpr"], have["lds"], workgroup, target)
    assert reached.waves_per_simd == found.next_step.waves_per_simd > found.waves_per_simd
    for need in found.next_step.needs:
        more = {**have, need.name: need.most + 1}
        missed = fits(more["vgpr"], more["sgpr"], more["lds"], workgroup, target)
        assert missed.waves_per_simd < found.next_step.waves_per_simd
