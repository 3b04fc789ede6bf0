"""How near the kernels of a recording are to their next occupancy: by their code and launches."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ktrace_cli.code_object.files import read_file
from ktrace_cli.kernel_code.occupancy import occupancy, resources_of, rules_of
from ktrace_cli.model import Timeline
from ktrace_cli.planning.evidence import NextStep


def recorded_steps(path: Path, timeline: Timeline) -> dict[str, NextStep]:
    """Return the next step of occupancy of each kernel that has one, by its mangled name.

    Launches of one kernel may differ: its first one counts.

    Raises:
        KtraceError: the recording cannot be read.
    """
    own = {
        kernel.name: (kernel.resources, found.code_object.target)
        for found in read_file(path).found
        for kernel in found.code_object.kernels
    }
    steps = {}
    for number, kernel in enumerate(timeline.kernels):
        rows = np.flatnonzero(timeline.dispatches["kernel"] == number)
        resources, target = own.get(kernel.mangled, (None, ""))
        if resources is None or rules_of(target) is None or not len(rows):
            continue
        launch = timeline.dispatches[rows[0]]
        size, shared = int(launch["block"].prod()), int(launch["shared_bytes"])
        found = occupancy(resources_of(resources, size, shared), target)
        if found.next_step is not None and found.waves_per_simd:
            needs = tuple((need.name, need.used, need.most) for need in found.next_step.needs)
            step = found.next_step.waves_per_simd
            steps[kernel.mangled] = NextStep(step, found.waves_per_simd, needs, ())
    return steps
