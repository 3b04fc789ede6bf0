"""Which GPUs there are, and whether this user may use them."""

from __future__ import annotations

from pathlib import Path

from ktrace_cli.doctor.findings import Finding, State
from ktrace_cli.doctor.machine import Machine
from ktrace_cli.launch.device import Arch
from ktrace_cli.wording import listed

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_KFD = "/dev/kfd"
_MOST_DIGITS = 20  # of 64 bits
_SOFT = "`ktrace run --device soft` traces on the software device"


def gpus(machine: Machine) -> list[Finding]:
    """Examine the GPUs that the kernel driver knows, and the devices that lead to them."""
    known = _topology(machine)
    if not machine.at(_KFD).exists():
        return [*known, _without_driver(any(one.facts for one in known))]
    if not known:
        known = [Finding("GPU", State.PROBLEM, f"{_KFD} is there, but no GPU", _SOFT)]
    elif not any(one.state is State.OK for one in known):
        targets = listed(arch.value for arch in Arch)
        text = f"none here is a {targets}, for which kernels can be annotated"
        known.append(Finding("GPU", State.PROBLEM, text, _SOFT))
    return [*known, *_rights(machine)]


def _topology(machine: Machine) -> list[Finding]:
    folder = machine.at(_NODES)
    numbered = [node for node in folder.glob("[0-9]*") if _is_number(node.name)]
    nodes = sorted(numbered, key=lambda node: int(node.name))
    return [found for node in nodes if (found := _gpu(node))]


def _gpu(node: Path) -> Finding | None:
    """Examine a node; None for a CPU."""
    try:
        properties = _properties(
            (node / "properties").read_text(encoding="ascii", errors="replace")
        )
    except OSError as error:
        text = f"node {node.name} is not shown to this container or job: {error.strerror}"
        return Finding("GPU", State.NOTE, text)
    number = properties.get("gfx_target_version", 0)
    if not number or not properties.get("simd_count", 0):
        return None
    target = target_name(number)
    facts: dict[str, str | int] = {"node": int(node.name), "target": target}
    if target in [arch.value for arch in Arch]:
        return Finding("GPU", State.OK, f"node {node.name} is a {target}", facts=facts)
    text = f"node {node.name} is a {target}, for which no kernel can be annotated"
    return Finding("GPU", State.NOTE, text, facts=facts)


def _properties(text: str) -> dict[str, int]:
    pairs = [line.split() for line in text.splitlines()]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and _is_number(pair[1])}


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def target_name(number: int) -> str:
    """Write the driver's number of a target, 90402, as the compiler's name of it, gfx942."""
    major, minor, step = number // 10000, number // 100 % 100, number % 100
    return f"gfx{major}{minor:x}{step:x}"


def _without_driver(has_gpus: bool) -> Finding:
    if has_gpus:
        return Finding(
            _KFD,
            State.NOTE,
            "it is not there, so that `ktrace run` uses the software device",
            "start the container with `--device=/dev/kfd --device=/dev/dri`",
        )
    text = "no AMD GPU here: `ktrace run` uses the software device, whose times are modelled"
    return Finding("GPU", State.NOTE, text)


def _rights(machine: Machine) -> list[Finding]:
    nodes = sorted(machine.at("/dev/dri").glob("renderD*"))
    found = [_right(machine, path) for path in (machine.at(_KFD), *nodes)]
    if not nodes:
        fix = "start the container with `--device=/dev/dri`"
        found.append(Finding("/dev/dri", State.PROBLEM, "it has no renderD*, which HIP needs", fix))
    may_use_one = any(one.state is State.OK for one in found[1:])
    return [_softened(one) if number and may_use_one else one for number, one in enumerate(found)]


def _softened(finding: Finding) -> Finding:
    """Take what hinders one GPU of several as a note."""
    if finding.state is not State.PROBLEM:
        return finding
    return Finding(finding.subject, State.NOTE, finding.text, finding.fix, finding.facts)


def _right(machine: Machine, path: Path) -> Finding:
    shown = machine.shown(path)
    if machine.rights.may_use(path):
        return Finding(shown, State.OK, "this user may read and write it")
    group = machine.rights.group_of(path)
    facts = {"group": group}
    if group.isdecimal():
        text = f"this user may not use it: it is group {group}'s, which has no name here"
        fix = f"start the container with `--group-add {group}`"
    elif machine.rights.user and machine.rights.user in machine.rights.members_of(group):
        text = f"this login may not use it: it began before the user was in group {group}"
        fix = "log out and in again"
    else:
        text = f"this user may not use it: it is group {group}'s"
        fix = f"`sudo usermod -aG {group} $USER` and log in again; in a container, "
        fix += f"`--group-add {group}`"
    return Finding(shown, State.PROBLEM, text, fix, facts)
