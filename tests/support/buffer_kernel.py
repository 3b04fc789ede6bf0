"""Run assembly on a buffer: with its descriptor in scalar registers, and four results a lane."""

import numpy as np

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernel
from support.vector_kernel import LANES, Words

# s[8:11] becomes the descriptor of the first argument, s[6:7] the address of the second.
DESCRIPTOR = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_or_b32 s9, s5, {upper:#x}
  s_mov_b32 s10, {records:#x}
  s_mov_b32 s11, {last:#x}
"""
STORE = "  v_lshlrev_b32 v2, 4, v0\n" + "".join(
    f"  global_store_dword v2, v{20 + k}, s[6:7] offset:{4 * k}\n" for k in range(4)
)


def run_on_buffer(
    text: str,
    memory: bytes,
    descriptor: tuple[int, int, int] = (0, 0xFFFFFFFF, 0),
    *,
    lds: int = 0,
    scratch: int = 0,
    target: str = "gfx942",
) -> tuple[bytes, Words]:
    """Give the buffer afterwards, and v[20:23] of each lane.

    Args:
        text: v0 and v1 are the lane and four times the lane.
        memory: the buffer.
        descriptor: what its second dword has besides the address, and the third and the fourth.
        lds: bytes.
        scratch: bytes of each lane.
        target: gfx942 or gfx950.
    """
    upper, records, last = descriptor
    body = DESCRIPTOR.format(upper=upper, records=records, last=last)
    clear = "".join(f"  v_mov_b32 v{20 + k}, 0x77777777\n" for k in range(4))
    body += f"{clear}{text}\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n{STORE}"
    kernel = AsmKernel(body, arguments=2, lds=lds, scratch=scratch)
    code_object = any_compiler(target).assemble(kernel.source(target))
    buffer, results = np.frombuffer(memory, np.uint8), np.zeros((LANES, 4), np.uint32)
    launch = Launch(code_object, kernel.name, (buffer.copy(), results))
    after, loaded = launch_kernel(launch, target)
    return after.tobytes(), loaded
