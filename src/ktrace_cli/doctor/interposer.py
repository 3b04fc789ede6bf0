"""Whether the native libraries load: into a child process, and into the given program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from ktrace_cli.doctor.findings import Finding, State
from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.environment import SESSION_DIR, VERSION
from ktrace_cli.launch.native import INTERPOSER, Session, make_session
from ktrace_cli.launch.preloadable import elf_loader, interpreter_of
from ktrace_cli.launch.program import Program
from ktrace_cli.timeline.native import load_reader

_MAPS = "print(open('/proc/self/maps').read())"
_COUNT = """
import ctypes, sys
count = ctypes.c_int()
answer = ctypes.CDLL(sys.argv[1]).hipGetDeviceCount(ctypes.byref(count))
print(answer, count.value)
"""
_LIMIT_S = 60
_GLIBC_LOADER = "ld-linux-x86-64.so.2"
_HIP = re.compile(r"^\s*(libamdhip64\.so\S*) => (.+?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
_REMEDIES = {
    "it is statically linked": "link it dynamically to glibc",
    "it is setuid": "run a copy of it that is not setuid",
    "it is setgid": "run a copy of it that is not setgid",
    "it has file capabilities": "run a copy of it, which has none",
    "it is a 32-bit program": "build it for x86-64",
}


def native_libraries() -> list[Finding]:
    """Load the interposer into a child process as `ktrace run` does, and what else is native."""
    try:
        with make_session(software_device=True) as session:
            return [_interposer(session), _software_device(session), reader()]
    except KtraceError as error:
        missing = Finding("interposer", State.PROBLEM, f"{error.what}: {error.why}", error.fix)
        return [missing, reader()]


def _interposer(session: Session) -> Finding:
    done = _run([sys.executable, "-I", "-S", "-c", _MAPS], {"LD_PRELOAD": str(session.interposer)})
    if INTERPOSER not in done.stdout:
        why = next(iter(done.stderr.splitlines()), "the loader left it out without a word")
        text = f"it was not loaded into {sys.executable}: {why}"
        fix = "ktrace needs glibc 2.17 or newer on x86-64"
        return Finding("interposer", State.PROBLEM, text, fix)
    if refusal := _refusal(session):
        fix = "install ktrace again, or unset KTRACE_NATIVE_DIR"
        return Finding("interposer", State.PROBLEM, refusal, fix)
    return Finding("interposer", State.OK, "it can be loaded into a child process")


def _refusal(session: Session) -> str:
    """Say why the interposer would not trace what this ktrace starts; "" if it would."""
    names = {
        "LD_PRELOAD": f"{session.interposer}:{session.software_device}",
        SESSION_DIR: str(session.folder),
        VERSION: version("ktrace"),
    }
    said = _count_devices(session, names).stderr.splitlines()
    wanted = f"ktrace: {INTERPOSER} is version "
    refusal = next((line for line in said if line.startswith(wanted)), "")
    return refusal.removeprefix("ktrace: ").removesuffix(": the program runs untraced")


def _software_device(session: Session) -> Finding:
    names = {"LD_LIBRARY_PATH": str(session.software_device.parent)}
    done = _count_devices(session, names)
    answer, _, count = done.stdout.strip().partition(" ")
    if done.returncode == 0 and answer == "0":
        text = "it can be loaded"
        return Finding("software device", State.OK, text, facts={"devices": int(count)})
    why = next(iter(done.stderr.splitlines()[-1:]), f"hipGetDeviceCount returned {answer}")
    return Finding("software device", State.PROBLEM, f"it cannot be used: {why}")


def reader() -> Finding:
    """Load what decodes recordings: without it they can be made, but not read."""
    try:
        load_reader()
    except KtraceError as error:
        return Finding("reader", State.PROBLEM, f"{error.what}: {error.why}", error.fix)
    return Finding("reader", State.OK, "recordings can be decoded")


def _count_devices(session: Session, names: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", _COUNT, str(session.software_device)]
    return _run(command, names)


def in_program(program: Program) -> list[Finding]:
    """Examine whether the interposer will be loaded into a program, and which HIP it is linked to.

    The program does not run: its dynamic loader lists what it would load, and ends.
    """
    facts = {"program": program.path}
    if why := program.not_preloadable:
        text = f"the interposer cannot be loaded into {program.path}: {why}"
        return [Finding("program", State.PROBLEM, text, _remedy(why), facts)]
    executed = _executed(Path(program.path))
    if executed is None:
        text = f"{program.path}: what its interpreter loads is not known before it runs"
        return [Finding("program", State.NOTE, text, facts=facts)]
    try:
        with make_session(software_device=False) as session:
            names = {"LD_PRELOAD": str(session.interposer), "LD_TRACE_LOADED_OBJECTS": "1"}
            listed = _run([str(executed)], names)
    except KtraceError:  # a finding of its own
        text = f"{program.path}: whether the interposer can be loaded is not known: there is none"
        return [Finding("program", State.NOTE, text, facts=facts)]
    if INTERPOSER not in listed.stdout:
        why = next(iter((listed.stderr or listed.stdout).splitlines()), "its loader says nothing")
        text = f"the interposer is not loaded into {program.path}: {why}"
        return [Finding("program", State.PROBLEM, text, _remedy(why), facts)]
    loaded = f"the interposer can be loaded into {program.path}"
    return [Finding("program", State.OK, loaded, facts=facts), *_linked(listed.stdout)]


def _remedy(why: str) -> str:
    return _REMEDIES.get(why, "run it on a system with glibc 2.17 or newer")


def _executed(path: Path) -> Path | None:
    """Return the ELF program that will run; None if glibc's loader will not load it."""
    for _ in range(5):
        try:
            with path.open("rb") as file:
                head = file.read(64 * 1024)
        except OSError:
            return None
        interpreter = interpreter_of(head)
        if interpreter is None:
            return path if (elf_loader(head) or "").endswith(_GLIBC_LOADER) else None
        path = interpreter
    return None


def _linked(listed: str) -> list[Finding]:
    """Tell which HIP the program is linked to; most Python programs load theirs later."""
    found = []
    for name, path in _HIP.findall(listed):
        if path == "not found":
            fix = "add ROCm's lib folder to LD_LIBRARY_PATH; the software device stands in for it"
            found.append(Finding("program", State.NOTE, f"it needs {name}: not found", fix))
        else:
            text = f"it is linked to {name}, {path}"
            found.append(Finding("program", State.OK, text, facts={"hip": path}))
    return found


def _run(command: Sequence[str], names: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command; one that cannot be run or does not end is one that said why."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    try:
        return subprocess.run(
            command,
            env={**environment, **names},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"no answer within {_LIMIT_S} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, -1, "", error.strerror or str(error))
