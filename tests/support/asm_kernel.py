"""Wrap assembly text into a code object's source: one kernel with descriptor and metadata.

The kernel begins with s[0:1] = address of the arguments, s2, s3, s4 = workgroup ids, v0 = packed
work-item ids.
"""

from dataclasses import dataclass

_SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.amdhsa_code_object_version {version}
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
  s_endpgm
.size {name}, .-{name}

.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_vgpr_workitem_id 2
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  {enable_scratch}
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_accum_offset {accum_offset}
  .amdhsa_next_free_sgpr 96
{directives}
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: {kernarg}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 1024
    .args:
{arguments}
...
.end_amdgpu_metadata
"""


@dataclass(frozen=True)
class AsmKernel:
    """One kernel in assembly; all its arguments are 8-byte addresses or numbers."""

    body: str
    arguments: int = 1
    lds: int = 0  # bytes
    scratch: int = 0  # bytes per lane
    vgprs: int = 64
    name: str = "test_kernel"
    version: int = 5  # of the code object format
    directives: str = ""  # more of the descriptor's

    def source(self, target: str) -> str:
        """The whole assembly text for a target."""
        arguments = "\n".join(
            f"      - {{.size: 8, .offset: {8 * k}, .value_kind: by_value}}"
            for k in range(self.arguments)
        )
        return _SOURCE.format(
            target=target,
            version=self.version,
            name=self.name,
            body=self.body,
            lds=self.lds,
            scratch=self.scratch,
            enable_scratch=_scratch_directive(target, self.scratch),
            vgprs=self.vgprs,
            accum_offset=min((self.vgprs + 3) // 4 * 4, 256),
            directives=self.directives,
            kernarg=8 * self.arguments,
            arguments=arguments,
        )


def _scratch_directive(target: str, scratch: int) -> str:
    if not scratch:
        return ""
    if target == "gfx90a":
        return ".amdhsa_system_sgpr_private_segment_wavefront_offset 1"
    return ".amdhsa_enable_private_segment 1"
