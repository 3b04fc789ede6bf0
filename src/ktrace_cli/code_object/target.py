"""Names the GPU that a code object is for, from its ELF header."""

from __future__ import annotations

from typing import Final

from ktrace_cli.code_object.elf import ElfFile

_MACHINE_MASK: Final = 0xFF
_ABI_V3: Final = 1  # EI_ABIVERSION of code object version 3

# EF_AMDGPU_MACH_AMDGCN_* of the LLVM AMDGPU back end.
_PROCESSOR_BY_MACHINE: Final = {
    0x020: "gfx600",
    0x021: "gfx601",
    0x022: "gfx700",
    0x023: "gfx701",
    0x024: "gfx702",
    0x025: "gfx703",
    0x026: "gfx704",
    0x028: "gfx801",
    0x029: "gfx802",
    0x02A: "gfx803",
    0x02B: "gfx810",
    0x02C: "gfx900",
    0x02D: "gfx902",
    0x02E: "gfx904",
    0x02F: "gfx906",
    0x030: "gfx908",
    0x031: "gfx909",
    0x032: "gfx90c",
    0x033: "gfx1010",
    0x034: "gfx1011",
    0x035: "gfx1012",
    0x036: "gfx1030",
    0x037: "gfx1031",
    0x038: "gfx1032",
    0x039: "gfx1033",
    0x03A: "gfx602",
    0x03B: "gfx705",
    0x03C: "gfx805",
    0x03D: "gfx1035",
    0x03E: "gfx1034",
    0x03F: "gfx90a",
    0x040: "gfx940",
    0x041: "gfx1100",
    0x042: "gfx1013",
    0x043: "gfx1150",
    0x044: "gfx1103",
    0x045: "gfx1036",
    0x046: "gfx1101",
    0x047: "gfx1102",
    0x048: "gfx1200",
    0x049: "gfx1250",
    0x04A: "gfx1151",
    0x04B: "gfx941",
    0x04C: "gfx942",
    0x04E: "gfx1201",
    0x04F: "gfx950",
    0x051: "gfx9-generic",
    0x052: "gfx10-1-generic",
    0x053: "gfx10-3-generic",
    0x054: "gfx11-generic",
    0x055: "gfx1152",
    0x058: "gfx1153",
    0x059: "gfx12-generic",
    0x05A: "gfx1251",
    0x05F: "gfx9-4-generic",
}


def target_of(elf: ElfFile) -> str:
    """Return the target id, gfx942:sramecc+:xnack-, as far as the ELF header tells it."""
    machine = elf.flags & _MACHINE_MASK
    processor = _PROCESSOR_BY_MACHINE.get(machine, f"unknown (machine 0x{machine:02x})")
    if elf.abi_version < _ABI_V3:
        return processor
    if elf.abi_version == _ABI_V3:
        on_by_name = {"sramecc": elf.flags & 0x200, "xnack": elf.flags & 0x100}
        return processor + "".join(f":{name}+" for name, is_on in on_by_name.items() if is_on)
    # Two bits each: 0 unsupported, 1 any, 2 off, 3 on. "Any" is left out of a target id.
    setting_by_name = {"sramecc": elf.flags >> 10 & 3, "xnack": elf.flags >> 8 & 3}
    sign = {2: "-", 3: "+"}
    return processor + "".join(
        f":{name}{sign[setting]}" for name, setting in setting_by_name.items() if setting in sign
    )
