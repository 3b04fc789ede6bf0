"""How many waves of a kernel fit on a SIMD at once, what limits them, and how far the next step is.

The rules are LLVM's (AMDGPUBaseInfo, IsaInfo; AMDGPUUsage for granules): they are about what is
allocated, not about what was measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ktrace_cli.code_object.contents import Resources
from ktrace_cli.errors import CodeObjectError


@dataclass(frozen=True)
class TargetRules:
    """What a compute unit of a target has, and in which pieces it gives it."""

    simds: int
    waves_per_simd: int
    vgprs_per_simd: int
    """For each lane, both register files together."""
    vgpr_granule: int
    sgprs_per_simd: int
    sgpr_granule: int
    lds_bytes: int
    """Of a compute unit; also the most that one workgroup can have."""
    lds_granule: int
    barriers: int
    """Of a compute unit. A workgroup of one wave needs none."""


_GFX90A: Final = TargetRules(
    simds=4, waves_per_simd=8, vgprs_per_simd=512, vgpr_granule=8, sgprs_per_simd=800,
    sgpr_granule=16, lds_bytes=65536, lds_granule=512, barriers=16,
)  # fmt: skip
_GFX950: Final = TargetRules(
    simds=4, waves_per_simd=8, vgprs_per_simd=512, vgpr_granule=8, sgprs_per_simd=800,
    sgpr_granule=16, lds_bytes=163840, lds_granule=1280, barriers=16,
)  # fmt: skip
RULES_BY_PROCESSOR: Final = {
    "gfx90a": _GFX90A,
    "gfx940": _GFX90A,
    "gfx941": _GFX90A,
    "gfx942": _GFX90A,
    "gfx950": _GFX950,
}
# Triples differ: amdgcn-amd-amdhsa--gfx942, amdgpu9.42-amd-amdhsa-unknown-gfx942.
_PROCESSOR: Final = re.compile(r"gfx[0-9a-f]+(?:-\d+)*(?:-generic)?")
ACCUM_GRANULE: Final = 4
"""AGPRs begin at a multiple of this many registers."""


@dataclass(frozen=True)
class KernelResources:
    """What one launch of a kernel needs."""

    vgprs: int
    """Of both files together: `combined_vgprs`."""
    sgprs: int
    """With VCC and the like, as `.sgpr_count` counts them; 0 if not known."""
    lds_bytes: int
    """Static, of a workgroup."""
    workgroup_size: int
    """In work-items."""
    dynamic_lds_bytes: int = 0
    """What the launch adds."""
    wavefront_size: int = 64


@dataclass(frozen=True)
class Limit:
    """What one resource alone would allow."""

    name: str
    """vgpr, lds, sgpr, workgroup or waves"""
    workgroups: int
    """Of a compute unit."""
    waves: int
    """Of its fullest SIMD, in whole workgroups."""


@dataclass(frozen=True)
class Need:
    """What must be freed of one resource for the next step."""

    name: str
    """vgpr, sgpr (registers) or lds (bytes of a workgroup)"""
    used: int
    most: int
    """The most that the next step allows."""

    @property
    def excess(self) -> int:
        """How much must be freed."""
        return self.used - self.most


@dataclass(frozen=True)
class Step:
    """The next occupancy above a kernel's own that freeing resources can reach."""

    waves_per_simd: int
    workgroups_per_cu: int
    needs: tuple[Need, ...]
    """All must be met; at least one."""


@dataclass(frozen=True)
class Occupancy:
    """How many waves of a kernel can be resident at once."""

    processor: str
    waves_per_simd: int
    """Of the fullest SIMD; 0 if not even one workgroup fits."""
    workgroups_per_cu: int
    waves_per_cu: int
    max_waves_per_simd: int
    limited_by: str
    """Name of the limit that binds. `waves` is the most that the target has."""
    limits: tuple[Limit, ...]
    """In the order vgpr, lds, sgpr, workgroup, waves."""
    next_step: Step | None
    """None at the target's most, or where only the workgroup's size is in the way."""

    def limit(self, name: str) -> Limit:
        """Return one limit by its name."""
        return next(limit for limit in self.limits if limit.name == name)


def combined_vgprs(vector: int, accumulation: int) -> int:
    """Return the registers of both files together, as gfx90a and later allocate them."""
    return _up(vector, ACCUM_GRANULE) + accumulation if accumulation else vector


def resources_of(
    resources: Resources, workgroup_size: int | None = None, dynamic_lds_bytes: int = 0
) -> KernelResources:
    """Return what a launch of a kernel needs; without a size, of the largest workgroup allowed."""
    return KernelResources(
        vgprs=resources.vgprs,
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        workgroup_size=workgroup_size or resources.max_workgroup_size or 1024,
        dynamic_lds_bytes=dynamic_lds_bytes,
        wavefront_size=resources.wavefront_size or 64,
    )


def processor_of(target: str) -> str:
    """Return gfx942 of `gfx942:sramecc+:xnack-` or `amdgcn-amd-amdhsa--gfx942`."""
    found = _PROCESSOR.search(target)
    return found[0] if found else target.partition(":")[0]


def rules_of(target: str) -> TargetRules | None:
    """Return the rules of a target, None if they are not known."""
    return RULES_BY_PROCESSOR.get(processor_of(target))


def occupancy(resources: KernelResources, target: str) -> Occupancy:
    """Compute the occupancy of a kernel.

    Args:
        resources: of one launch.
        target: a processor or target id: gfx942:sramecc+:xnack-

    Raises:
        CodeObjectError: the rules of this target are not known.
    """
    rules = rules_of(target)
    if rules is None:
        raise CodeObjectError(
            f"cannot compute the occupancy on {target}",
            why=f"ktrace knows the rules of {', '.join(RULES_BY_PROCESSOR)}",
            fix="give a code object for one of these",
        )
    waves = max(1, -(-resources.workgroup_size // resources.wavefront_size))
    by_name = _workgroups_by_limit(resources, rules, waves)
    most = rules.waves_per_simd
    limits = tuple(
        Limit(name, number, min(-(-number * waves // rules.simds), most))
        for name, number in by_name.items()
    )
    workgroups = min(by_name.values())
    return Occupancy(
        processor=processor_of(target),
        waves_per_simd=-(-workgroups * waves // rules.simds),
        workgroups_per_cu=workgroups,
        waves_per_cu=workgroups * waves,
        max_waves_per_simd=most,
        limited_by=_binding(by_name, workgroups),
        limits=limits,
        next_step=_next_step(resources, rules, waves, (workgroups, by_name["workgroup"])),
    )


def _workgroups_by_limit(
    resources: KernelResources, rules: TargetRules, waves: int
) -> dict[str, int]:
    """Return how many workgroups each resource alone allows on a compute unit."""
    slots = rules.waves_per_simd * rules.simds
    vgpr_waves = _waves_with(resources.vgprs, rules.vgprs_per_simd, rules.vgpr_granule)
    sgpr_waves = _waves_with(resources.sgprs, rules.sgprs_per_simd, rules.sgpr_granule)
    lds = _up(resources.lds_bytes + resources.dynamic_lds_bytes, rules.lds_granule)
    most = slots // waves
    return {
        "vgpr": min(vgpr_waves, rules.waves_per_simd) * rules.simds // waves,
        "lds": min(rules.lds_bytes // lds, most) if lds else most,
        "sgpr": min(sgpr_waves, rules.waves_per_simd) * rules.simds // waves,
        "workgroup": min(most, rules.barriers) if waves > 1 else most,
        # Up: where whole workgroups cannot fill all slots, it is their size that binds.
        "waves": -(-slots // waves),
    }


def _waves_with(registers: int, pool: int, granule: int) -> int:
    return pool // max(_up(registers, granule), granule)


def _binding(workgroups_by_limit: dict[str, int], workgroups: int) -> str:
    # At the most that the target has nothing of the kernel's is in the way.
    for name in ("waves", "workgroup", "vgpr", "lds", "sgpr"):
        if workgroups_by_limit[name] == workgroups:
            return name
    raise AssertionError("one of the limits is the smallest")


def _next_step(
    resources: KernelResources, rules: TargetRules, waves: int, bounds: tuple[int, int]
) -> Step | None:
    """Find the fewest workgroups with which the fullest SIMD holds more waves."""
    now, most = bounds
    now_per_simd = -(-now * waves // rules.simds)
    for workgroups in range(now + 1, most + 1):
        per_simd = -(-workgroups * waves // rules.simds)
        if per_simd > now_per_simd:
            return Step(per_simd, workgroups, _needs(resources, rules, per_simd, workgroups))
    return None


def _needs(
    resources: KernelResources, rules: TargetRules, per_simd: int, workgroups: int
) -> tuple[Need, ...]:
    vgprs = _down(rules.vgprs_per_simd // per_simd, rules.vgpr_granule)
    sgprs = _down(rules.sgprs_per_simd // per_simd, rules.sgpr_granule)
    lds = _down(rules.lds_bytes // workgroups, rules.lds_granule)
    needs = (
        Need("vgpr", resources.vgprs, vgprs),
        Need("lds", resources.lds_bytes + resources.dynamic_lds_bytes, lds),
        Need("sgpr", resources.sgprs, sgprs),
    )
    return tuple(need for need in needs if need.excess > 0)


def _up(number: int, granule: int) -> int:
    return -(-number // granule) * granule


def _down(number: int, granule: int) -> int:
    return number // granule * granule
