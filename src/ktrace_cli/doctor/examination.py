"""All that `ktrace doctor` examines, in its order."""

from __future__ import annotations

from ktrace_cli.doctor.findings import Finding
from ktrace_cli.doctor.gpus import gpus
from ktrace_cli.doctor.hip import hip_libraries
from ktrace_cli.doctor.instructions import instructions
from ktrace_cli.doctor.interposer import in_program, native_libraries
from ktrace_cli.doctor.machine import Machine
from ktrace_cli.doctor.packages import packages
from ktrace_cli.doctor.tools import tools
from ktrace_cli.launch.device import DeviceChoice
from ktrace_cli.launch.program import Program


def examine(
    program: Program | None = None,
    machine: Machine | None = None,
    device: DeviceChoice = DeviceChoice.AUTO,
) -> list[Finding]:
    """Examine the machine, the program that shall be traced on it, and the device if it is soft."""
    here = machine or Machine()
    return [
        *native_libraries(),
        *(instructions() if device is DeviceChoice.SOFT else ()),
        *(in_program(program) if program else ()),
        *hip_libraries(here),
        *gpus(here),
        *tools(here),
        *packages(here),
    ]
