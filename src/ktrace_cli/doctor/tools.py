"""Which tools of others are at hand: rocprofv3, its trace decoder, a disassembler."""

from __future__ import annotations

from ktrace_cli.doctor.findings import Finding, State
from ktrace_cli.doctor.machine import Machine

_DECODER = "librocprof-trace-decoder.so*"


def tools(machine: Machine) -> list[Finding]:
    """Look for tools that complete what ktrace shows; none is needed to trace."""
    return [_rocprofv3(machine), _trace_decoder(machine), _disassembler(machine)]


def _rocprofv3(machine: Machine) -> Finding:
    if path := machine.which("rocprofv3"):
        return _found(machine.shown(path), "rocprofv3")
    text = "not found; `ktrace merge` puts its traces beside recordings"
    return Finding("rocprofv3", State.NOTE, text, "install ROCm's rocprofiler-sdk")


def _trace_decoder(machine: Machine) -> Finding:
    subject = "rocprof-trace-decoder"
    named = machine.environment.get("ROCPROF_ATT_LIBRARY_PATH", "")
    folders = [machine.at(part) for part in named.split(":") if part.startswith("/")]
    found = [path for folder in folders for path in sorted(folder.glob(_DECODER))]
    if found := found or machine.libraries(_DECODER):
        return _found(machine.shown(found[0]), subject)
    text = "its library is not found; `rocprofv3 --att` needs it to decode instruction traces"
    fix = "install rocprof-trace-decoder, or let ROCPROF_ATT_LIBRARY_PATH name its folder"
    return Finding(subject, State.NOTE, text, fix)


def _disassembler(machine: Machine) -> Finding:
    for pattern in ("llvm-objdump", "llvm-objdump-[0-9]*", "amdclang*"):
        if path := machine.which(pattern):
            return _found(machine.shown(path), "disassembler")
    text = "no llvm-objdump and no amdclang, which show the instructions of a code object"
    return Finding("disassembler", State.NOTE, text, "install ROCm's llvm, or llvm-19 and lld-19")


def _found(path: str, subject: str) -> Finding:
    return Finding(subject, State.OK, path, facts={"path": path})
