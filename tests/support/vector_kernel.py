"""Run single vector instructions on the software device, 64 lanes at a time.

Every operation becomes a kernel: each lane loads its record of input dwords into v8, v9, ..., the
operation's own text runs, and chosen registers are stored. The launches happen in a child process,
because the software device takes its target from the environment.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from support.compile_kernel import any_compiler

Words = npt.NDArray[np.uint32]

LANES = 64
LANE_CODES = ("", "avx2", "baseline")
"""Values of KTRACE_SOFT_LANES: the copies of the code over lanes, where the processor has them."""
FIRST_INPUT = 8  # v8
STANDARD_INPUTS = 8  # a, b, c and the old destination d, 64 bits each
# The registers of the standard inputs, by the names that texts use.
REGISTERS = {
    "a": "v8", "b": "v10", "c": "v12", "d": "v14",
    "aa": "v[8:9]", "bb": "v[10:11]", "cc": "v[12:13]", "dd": "v[14:15]",
    "m": "s[20:21]",
}  # fmt: skip
# d, the mask in s[20:21], a and b afterwards.
STANDARD_OUTPUTS = ("v14", "v15", "s20", "s21", "v8", "v9", "v10", "v11")

_KERNEL = """
.globl {name}
.p2align 8
.type {name},@function
{name}:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  s_lshl_b32 s3, s2, 6
  v_add_u32 v0, s3, v0
  v_mul_u32_u24 v1, {input_bytes}, v0
  v_mul_u32_u24 v2, {output_bytes}, v0
  s_mov_b64 s[20:21], 0
  s_waitcnt lgkmcnt(0)
{loads}
  s_waitcnt vmcnt(0)
{text}
  s_nop 15
  s_nop 15
  s_mov_b64 exec, -1
{stores}
  s_endpgm
.size {name}, .-{name}

.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 512
  .amdhsa_accum_offset 256
  .amdhsa_next_free_sgpr 32
  .amdhsa_float_denorm_mode_32 3
.end_amdhsa_kernel
.text
"""

_METADATA = """
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 512
    .agpr_count: 256
    .max_flat_workgroup_size: 64
    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}}
"""


@dataclass(frozen=True)
class Operation:
    """One instruction under test, with what has to stand around it."""

    text: str  # assembly; {a}, {b}, {c}, {d}, {aa}, ... and {m} name the standard registers
    input_dwords: int = STANDARD_INPUTS  # per lane, in v8 and up
    outputs: tuple[str, ...] = STANDARD_OUTPUTS
    nan_bits: int = 0  # width of the floats whose NaNs are alike: which one is handed on is open


def run_operations(
    target: str, operations: Sequence[Operation], inputs: Sequence[Words]
) -> list[Words]:
    """Run operations[k] on inputs[k], shape (n, input_dwords); give arrays (n, outputs) back.

    Every copy of the software device's code over lanes runs them, and each must give the same bits.

    Args:
        target: gfx90a, gfx942 or gfx950.
        operations: one kernel each, all in one code object.
        inputs: n is filled up to whole waves with copies of the last record.
    """
    source = _source(target, operations)
    code_object = any_compiler(target).assemble(source)
    requests = [
        (f"op{k}", _whole_waves(array), len(operation.outputs))
        for k, (operation, array) in enumerate(zip(operations, inputs, strict=True))
    ]
    replies, *others = _launch_in_child(code_object, requests, {"KTRACE_SOFT_ARCH": target})
    for lanes, other in zip(LANE_CODES[1:], others, strict=True):
        for operation, fastest, reply in zip(operations, replies, other, strict=True):
            bits = [_comparable(words, operation.nan_bits) for words in (reply, fastest)]
            np.testing.assert_array_equal(*bits, f"{lanes}: {operation.text}")
    return [reply[: len(array)] for reply, array in zip(replies, inputs, strict=True)]


def _comparable(words: Words, nan_bits: int) -> Words:
    """The same words with one pattern for all NaNs of that width."""
    if not nan_bits:
        return words
    values = words.copy().view(f"f{nan_bits // 8}")
    values[np.isnan(values)] = np.nan
    return values.view(np.uint32)


def _whole_waves(array: Words) -> Words:
    missing = -len(array) % LANES
    return np.concatenate([array, np.repeat(array[-1:], missing, axis=0)]).astype(np.uint32)


def _source(target: str, operations: Sequence[Operation]) -> str:
    header = f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\n.amdhsa_code_object_version 5\n.text\n'
    kernels = [_kernel(f"op{k}", operation) for k, operation in enumerate(operations)]
    entries = "".join(_METADATA.format(name=f"op{k}") for k in range(len(operations)))
    metadata = f"---\namdhsa.version: [1, 2]\namdhsa.kernels:{entries}...\n"
    return f"{header}{''.join(kernels)}\n.amdgpu_metadata\n{metadata}.end_amdgpu_metadata\n"


def _kernel(name: str, operation: Operation) -> str:
    loads = [
        f"  global_load_dword v{FIRST_INPUT + k}, v1, s[4:5] offset:{4 * k}"
        for k in range(operation.input_dwords)
    ]
    stores = [
        f"  {_into_v4(register)}\n  global_store_dword v2, v4, s[6:7] offset:{4 * k}"
        for k, register in enumerate(operation.outputs)
    ]
    return _KERNEL.format(
        name=name,
        input_bytes=4 * operation.input_dwords,
        output_bytes=4 * len(operation.outputs),
        loads="\n".join(loads),
        text="  " + operation.text.format(**REGISTERS),
        stores="\n".join(stores),
    )


def _into_v4(register: str) -> str:
    move = "v_accvgpr_read_b32" if register.startswith("a") else "v_mov_b32"
    return f"{move} v4, {register}"


def _launch_in_child(
    code_object: Path, requests: list[tuple[str, Words, int]], environment: Mapping[str, str]
) -> list[list[Words]]:
    launcher = Path(__file__).with_name("launch_vector_kernels.py")
    done = subprocess.run(
        [sys.executable, str(launcher), str(library_path()), str(code_object), *LANE_CODES],
        input=pickle.dumps(requests),
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    replies: list[list[Words]] = pickle.loads(done.stdout)
    return replies


@cache
def library_path() -> Path:
    """The software device; skips the test where it is not built."""
    import pytest

    from ktrace_cli.errors import KtraceError
    from ktrace_cli.launch.native import SOFTWARE_DEVICE
    from ktrace_cli.libraries import native_library

    try:
        return native_library(SOFTWARE_DEVICE)
    except KtraceError as error:
        pytest.skip(f"{error.what}: {error.why}")
