"""The one table of instruction classes: which unit an instruction keeps busy, or waits for."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Final


class InstructionClass(str, Enum):
    """What an instruction is, for mixes and stalls; the value is its name in JSON."""

    S_NOP = "s_nop"
    WAIT_VM = "wait_vm"
    WAIT_LGKM = "wait_lgkm"
    WAIT_VM_LGKM = "wait_vm_lgkm"
    WAIT_OTHER = "wait_other"
    BARRIER = "barrier"
    VMEM_LOAD = "vmem_load"
    VMEM_STORE = "vmem_store"
    VMEM_ATOMIC = "vmem_atomic"
    LDS = "lds"
    SMEM = "smem"
    MFMA = "mfma"
    VALU = "valu"
    SALU = "salu"
    BRANCH = "branch"
    MESSAGE = "message"
    OTHER = "other"

    @property
    def is_wait(self) -> bool:
        """Whether it waits for counters."""
        return self in _WAITS


_WAITS: Final = frozenset(
    {
        InstructionClass.WAIT_VM,
        InstructionClass.WAIT_LGKM,
        InstructionClass.WAIT_VM_LGKM,
        InstructionClass.WAIT_OTHER,
    }
)
# Of gfx9 to gfx11 and of gfx12, which has a counter for each kind of access.
_VM_COUNTERS: Final = frozenset({"vmcnt", "vscnt", "loadcnt", "storecnt", "samplecnt", "bvhcnt"})
_LGKM_COUNTERS: Final = frozenset({"lgkmcnt", "dscnt", "kmcnt"})

# The first that a mnemonic begins with is taken: longer ones stand before shorter ones.
_BY_PREFIX: Final = (
    ("s_nop", InstructionClass.S_NOP),
    ("s_barrier", InstructionClass.BARRIER),
    ("s_sendmsg", InstructionClass.MESSAGE),
    ("s_endpgm", InstructionClass.MESSAGE),
    ("s_ttracedata", InstructionClass.MESSAGE),
    ("s_trap", InstructionClass.MESSAGE),
    ("s_branch", InstructionClass.BRANCH),
    ("s_cbranch", InstructionClass.BRANCH),
    ("s_setpc", InstructionClass.BRANCH),
    ("s_swappc", InstructionClass.BRANCH),
    ("s_call", InstructionClass.BRANCH),
    ("s_rfe", InstructionClass.BRANCH),
    ("s_subvector_loop", InstructionClass.BRANCH),
    ("s_load", InstructionClass.SMEM),
    ("s_store", InstructionClass.SMEM),
    ("s_buffer_", InstructionClass.SMEM),
    ("s_scratch_", InstructionClass.SMEM),
    ("s_atomic", InstructionClass.SMEM),
    ("s_dcache", InstructionClass.SMEM),
    ("s_gl1_inv", InstructionClass.SMEM),
    ("s_memtime", InstructionClass.SMEM),
    ("s_memrealtime", InstructionClass.SMEM),
    ("s_prefetch", InstructionClass.SMEM),
    ("s_get_waveid_in_workgroup", InstructionClass.SMEM),
    ("s_code_end", InstructionClass.OTHER),
    ("s_icache_inv", InstructionClass.OTHER),
    ("s_sleep", InstructionClass.OTHER),
    ("s_setprio", InstructionClass.OTHER),
    ("s_sethalt", InstructionClass.OTHER),
    ("s_setkill", InstructionClass.OTHER),
    ("s_wakeup", InstructionClass.OTHER),
    ("s_incperflevel", InstructionClass.OTHER),
    ("s_decperflevel", InstructionClass.OTHER),
    ("s_inst_prefetch", InstructionClass.OTHER),
    ("s_set_inst_prefetch", InstructionClass.OTHER),
    ("s_clause", InstructionClass.OTHER),
    ("s_delay_alu", InstructionClass.OTHER),
    ("s_", InstructionClass.SALU),
    ("ds_", InstructionClass.LDS),
    ("lds_", InstructionClass.LDS),
    ("v_mfma", InstructionClass.MFMA),
    ("v_smfmac", InstructionClass.MFMA),
    ("v_wmma", InstructionClass.MFMA),
    ("v_swmmac", InstructionClass.MFMA),
    ("v_", InstructionClass.VALU),
)
_VECTOR_MEMORY: Final = (
    "buffer_", "tbuffer_", "global_", "flat_", "scratch_", "image_", "cluster_", "tensor_",
)  # fmt: skip
# What a mnemonic of vector memory has in it.
_BY_ACCESS: Final = (
    (("_atomic",), InstructionClass.VMEM_ATOMIC),
    (("_store", "_save"), InstructionClass.VMEM_STORE),
    (("_load", "_sample", "_gather", "_get_", "_bvh", "_msaa", "_prefetch"),
     InstructionClass.VMEM_LOAD),
)  # fmt: skip
_COUNTER: Final = re.compile(r"\b([a-z]{2,6}cnt)\(")
_NUMBER: Final = re.compile(r"^(?:0x[0-9a-f]{1,8}|\d{1,10})$")


@lru_cache(maxsize=16384)
def classify(text: str) -> InstructionClass:
    """Return the class of an instruction from its disassembly: `ds_read_b64 v[0:1], v2`."""
    mnemonic, _, operands = text.strip().lower().partition(" ")
    if mnemonic.startswith("s_wait"):
        return _wait_class(waited_counters(f"{mnemonic} {operands}"))
    for prefix, of_prefix in _BY_PREFIX:
        if mnemonic.startswith(prefix):
            return of_prefix
    if mnemonic.startswith(_VECTOR_MEMORY):
        for parts, of_access in _BY_ACCESS:
            if any(part in mnemonic for part in parts):
                return of_access
    return InstructionClass.OTHER


def waited_counters(text: str) -> tuple[str, ...]:
    """Return the counters that a wait names, ("vmcnt", "lgkmcnt"); () for others."""
    mnemonic, _, operands = text.strip().lower().partition(" ")
    if mnemonic == "s_waitcnt":
        operands = operands.partition("//")[0].strip()
        if _NUMBER.match(operands):
            return _counters_of_number(int(operands, 0))
        return tuple(_COUNTER.findall(operands))
    for prefix in ("s_waitcnt_", "s_wait_"):
        if mnemonic.startswith(prefix):
            return tuple(mnemonic.removeprefix(prefix).split("_"))
    return ()


def _counters_of_number(number: int) -> tuple[str, ...]:
    """Read the immediate of gfx9's s_waitcnt; a counter at its maximum is not waited for."""
    vector = number & 0xF | number >> 10 & 0x30
    export, local = number >> 4 & 7, number >> 8 & 15
    counts = (("vmcnt", vector, 63), ("expcnt", export, 7), ("lgkmcnt", local, 15))
    return tuple(name for name, count, most in counts if count < most)


def _wait_class(counters: tuple[str, ...]) -> InstructionClass:
    is_vector = not _VM_COUNTERS.isdisjoint(counters)
    is_local = not _LGKM_COUNTERS.isdisjoint(counters)
    if is_vector and is_local:
        return InstructionClass.WAIT_VM_LGKM
    if is_vector:
        return InstructionClass.WAIT_VM
    return InstructionClass.WAIT_LGKM if is_local else InstructionClass.WAIT_OTHER
