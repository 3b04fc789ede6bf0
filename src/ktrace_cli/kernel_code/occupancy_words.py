"""What all commands call the limits of occupancy, and what must be freed."""

from __future__ import annotations

from typing import Final

from ktrace_cli.kernel_code.occupancy import Need, Occupancy, Step
from ktrace_cli.units import counted

_LIMIT_WORDS: Final = {
    "vgpr": "VGPRs",
    "lds": "LDS",
    "sgpr": "SGPRs",
    "workgroup": "workgroup size",
    "waves": "hardware",
}


def limit_words(name: str) -> str:
    """Say what a limit is called in reports."""
    return _LIMIT_WORDS.get(name, name)


def limits_words(found: Occupancy) -> str:
    """Say what each limit alone would allow."""
    limits = ", ".join(f"{limit_words(each.name)} {each.waves}" for each in found.limits)
    return f"waves per SIMD by each limit alone: {limits}"


def need_words(need: Need) -> str:
    """Say what must be freed of one resource."""
    unit = "B of LDS" if need.name == "lds" else limit_words(need.name)
    return f"at most {need.most:,} {unit} ({need.excess:,} fewer)"


def step_words(step: Step) -> str:
    """Say what the next step needs."""
    needs = " and ".join(need_words(need) for need in step.needs)
    return f"{counted(step.waves_per_simd, 'wave needs', 'waves need')} {needs}"
