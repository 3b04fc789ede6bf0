"""Which HIP a run uses: the machine's own, or the software device."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError

KFD = Path("/dev/kfd")


class DeviceChoice(str, Enum):
    """What `--device` takes."""

    AUTO = "auto"
    SOFT = "soft"
    HARDWARE = "hardware"


class Arch(str, Enum):
    """What `--arch` takes: the GPUs that the software device can be."""

    GFX90A = "gfx90a"
    GFX942 = "gfx942"
    GFX950 = "gfx950"


def is_software(choice: DeviceChoice, kfd: Path = KFD) -> bool:
    """Decide whether a run uses the software device.

    Raises:
        KtraceError: there is a GPU driver but this user may not open it. That is never simulated.
    """
    if choice is not DeviceChoice.AUTO:
        return choice is DeviceChoice.SOFT
    if not kfd.exists():
        return True
    if not os.access(kfd, os.R_OK | os.W_OK):
        raise KtraceError(
            f"cannot use the GPU: no permission for {kfd}",
            why="the GPU's driver is there, but this user is in none of its groups",
            fix="`sudo usermod -aG render,video $USER` and log in again, or `--device soft`",
            status=ExitStatus.RUN_FAILED,
        )
    return False
