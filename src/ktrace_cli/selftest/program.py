"""The program that measures: `python -m ktrace_cli.selftest.program PART FOLDER SETTINGS`.

A process of its own, under the interposer or not. One step that fails does not keep the others
from being tried; what HIP says of it is part of the answer.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import orjson

from ktrace_cli.selftest import kernels
from ktrace_cli.selftest.answer import EVERYTHING, Answer, write_answer
from ktrace_cli.selftest.hip import Array, Hip, HipError
from ktrace_cli.selftest.probing import PROBES, Probe, Step
from ktrace_cli.selftest.settings import Settings
from ktrace_cli.selftest.tracing import POLLED, TRACED

PARTS = {
    "bare": (kernels.MARKERS, PROBES),
    "traced": (kernels.MARKERS, TRACED),
    "polling": (kernels.POLLING, POLLED),
}
_MOST_SECONDS = 300
_OURS = ("KTRACE_SESSION_DIR", "KTRACE_VERSION", "KTRACE_OUTPUT", "KTRACE_WORDS", "KTRACE_SOFT_")


def main(part: str, folder: Path, settings: Settings) -> None:
    """Try all steps of a part and write the answer."""
    _forget_wishes()
    signal.alarm(_MOST_SECONDS)  # a device that hangs shall not keep the other parts from ending
    code_object, steps = PARTS[part]
    try:
        probe = Probe(Hip(settings.device_index), settings, code_object)
    except HipError as error:
        write_answer(folder, Answer(errors={EVERYTHING: str(error)}))
        return
    arrays: dict[str, Array] = {}
    errors: dict[str, str] = {}
    for name, step in steps.items():
        arrays |= _try(name, step, probe, errors)
    write_answer(folder, Answer(probe.facts, arrays, errors))


def _try(name: str, step: Step, probe: Probe, errors: dict[str, str]) -> dict[str, Array]:
    try:
        return step(probe)
    except HipError as error:
        errors[name] = str(error)
        return {}


def _forget_wishes() -> None:
    """What the user set for `ktrace run`, such as filters of kernels, is not meant for this.

    The interposer reads its variables at the first call of HIP.
    """
    for name in [name for name in os.environ if name.startswith("KTRACE_")]:
        if not name.startswith(_OURS):
            del os.environ[name]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Settings(**orjson.loads(sys.argv[3])))
