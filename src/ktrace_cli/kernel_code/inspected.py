"""All that is known of a code object's kernels: what they need, what fits, what their code is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ktrace_cli.code_object.contents import CodeObject, Kernel
from ktrace_cli.code_object.files import FoundCodeObject
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.kernel_code.descriptor import allocated_vgprs
from ktrace_cli.kernel_code.disassembler import disassemble
from ktrace_cli.kernel_code.inspection import KernelInspection, inspect_kernel
from ktrace_cli.kernel_code.machine_code import MachineCode
from ktrace_cli.kernel_code.occupancy import Occupancy, occupancy, resources_of, rules_of


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched, as far as occupancy depends on it."""

    workgroup_size: int
    """In work-items."""
    dynamic_lds_bytes: int
    origin: str
    """Where this is known from, in words."""


@dataclass(frozen=True)
class Assumptions:
    """What the user says about launches; what nobody says is the most that a kernel allows."""

    workgroup_size: int | None = None
    dynamic_lds_bytes: int | None = None
    launch_by_kernel: Mapping[str, Launch] = field(default_factory=dict)
    """What a recording says, by `.name`."""


@dataclass(frozen=True)
class InspectedKernel:
    """One kernel, and all that is known of it."""

    kernel: Kernel
    target: str
    launch: Launch
    occupancy: Occupancy | None
    """None on targets whose rules are not known."""
    allocated_vgprs: int | None
    """By the kernel descriptor; None where it was not found, or the target is not known."""
    code: KernelInspection | None
    """None where it was not disassembled."""

    @property
    def is_bound_by_allocation(self) -> bool:
        """Whether fewer waves fit than what the metadata names would allow."""
        if self.occupancy is None or not self.allocated_vgprs:
            return False
        launch, resources = self.launch, self.kernel.resources
        needed = resources_of(resources, launch.workgroup_size, launch.dynamic_lds_bytes)
        return self.occupancy.waves_per_cu < occupancy(needed, self.target).waves_per_cu


@dataclass(frozen=True)
class InspectedCodeObject:
    """One code object, and all that is known of its kernels."""

    origin: str
    code_object: CodeObject
    kernels: tuple[InspectedKernel, ...]
    """In the order of the metadata."""
    failure: CodeObjectError | None
    """Why nothing was disassembled."""


def inspect_annotated(found: FoundCodeObject, assumptions: Assumptions) -> InspectedCodeObject:
    """Inspect a code object; its machine code only if a kernel is annotated."""
    if any(kernel.is_annotated for kernel in found.code_object.kernels):
        return inspect_all(found, assumptions)
    return inspect_resources(found, assumptions)


def inspect_resources(found: FoundCodeObject, assumptions: Assumptions) -> InspectedCodeObject:
    """Inspect a code object without its machine code."""
    return _put_together(found, assumptions, None, None)


def inspect_all(found: FoundCodeObject, assumptions: Assumptions) -> InspectedCodeObject:
    """Inspect a code object with its machine code."""
    code: MachineCode | None = None
    failure: CodeObjectError | None = None
    if found.code_object.is_loadable and found.code_object.kernels:
        try:
            code = disassemble(found.image, found.code_object.target, found.origin)
        except CodeObjectError as problem:
            failure = problem  # everything that needs no instructions can still be told
    return _put_together(found, assumptions, code, failure)


def _put_together(
    found: FoundCodeObject,
    assumptions: Assumptions,
    code: MachineCode | None,
    failure: CodeObjectError | None,
) -> InspectedCodeObject:
    code_object = found.code_object
    is_known = rules_of(code_object.target) is not None
    allocated = allocated_vgprs(found.image, code_object.kernels) if is_known else {}
    kernels = tuple(
        InspectedKernel(
            kernel,
            code_object.target,
            launch := _launch(kernel, assumptions),
            _occupancy(kernel, launch, code_object.target, allocated.get(kernel.symbol, 0)),
            allocated.get(kernel.symbol),
            inspect_kernel(code, code_object, kernel) if code else None,
        )
        for kernel in code_object.kernels
    )
    return InspectedCodeObject(found.origin, code_object, kernels, failure)


def _launch(kernel: Kernel, assumptions: Assumptions) -> Launch:
    seen = assumptions.launch_by_kernel.get(kernel.name)
    origin = "as launched" if seen else "the most that it allows"
    size = seen.workgroup_size if seen else kernel.resources.max_workgroup_size or 1024
    dynamic = seen.dynamic_lds_bytes if seen else 0
    if assumptions.workgroup_size is not None:
        size, origin = assumptions.workgroup_size, "as asked for"
    if assumptions.dynamic_lds_bytes is not None:
        dynamic = assumptions.dynamic_lds_bytes
    return Launch(size, dynamic, seen.origin if seen and origin == "as launched" else origin)


def _occupancy(kernel: Kernel, launch: Launch, target: str, allocated: int) -> Occupancy | None:
    if rules_of(target) is None:
        return None
    needed = resources_of(kernel.resources, launch.workgroup_size, launch.dynamic_lds_bytes)
    by_need = occupancy(needed, target)
    # The compiler allocates more than is needed where it costs no wave: then what is needed tells
    # better what binds.
    by_allocation = occupancy(replace(needed, vgprs=max(needed.vgprs, allocated)), target)
    is_lower = by_allocation.waves_per_cu < by_need.waves_per_cu
    return by_allocation if is_lower else by_need
