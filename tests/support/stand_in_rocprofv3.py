"""A rocprofv3 that reads its job as strictly as the real one should, and writes what it is told to.

put_rocprofv3(folder, kernels={"gemm(float*)": 3}, full_below=200 << 20)

It runs the program, as the real one does. A key that the real one would drop is an error here.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

HELP = """usage: rocprofv3 [options] -- <app>
  -i INPUT, --input INPUT
  --kernel-trace [BOOL]
  --pmc [PMC ...]
  --advanced-thread-trace, --att [BOOL]
"""
# What a job may name, and that has no value on a bare command line.
KEYS = {
    "pmc", "kernel_trace", "hip_trace", "sys_trace", "stats", "truncate_kernels",
    "kernel_include_regex", "kernel_exclude_regex", "kernel_iteration_range", "output_file",
    "output_directory", "output_format", "advanced_thread_trace", "att_target_cu",
    "att_simd_select", "att_buffer_size", "att_shader_engine_mask", "att_gpu_index",
    "att_library_path", "att_perfcounters", "att_perfcounter_ctrl", "att_activity",
}  # fmt: skip
_SETTINGS = "STAND_IN_ROCPROFV3"


def put_rocprofv3(folder: Path, **settings: Any) -> dict[str, str]:
    """Put one into a folder; returns the environment in which it is found.

    Settings: `kernels` (launches by name), `full_below` (a buffer of fewer bytes is full), `says`
    (lines for stderr), `exits` (a status, negative for a signal, before anything is written),
    `fails_late` (a status after it was),
    `breaks` (numbers of passes that write nothing), `counters` (values by name), `target`, `help`.
    """
    folder.mkdir(exist_ok=True)
    tool = folder / "rocprofv3"
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {__file__} "$@"\n')
    tool.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, _SETTINGS: json.dumps(settings)}


def main(arguments: list[str]) -> int:
    settings = json.loads(os.environ[_SETTINGS])
    if arguments == ["--help"]:
        sys.stdout.write(settings.get("help", HELP))
        return 0
    assert (arguments[0], arguments[2]) == ("-i", "--"), arguments
    document = json.loads(Path(arguments[1]).read_text())
    (job,) = document["jobs"]
    if unknown := {*document, *job} - KEYS - {"jobs"}:
        sys.stderr.write(f"[rocprofv3] Fatal error: the real one drops {sorted(unknown)}" + "\n")
        return 1
    status = subprocess.run(arguments[3:], check=False).returncode
    for line in settings.get("says", []):
        sys.stderr.write(line + "\n")
    if (exits := settings.get("exits", status)) < 0:
        os.kill(os.getpid(), -exits)
    if not exits:
        _write(job, settings)
    return int(exits) or int(settings.get("fails_late", 0))


def _write(job: dict[str, Any], settings: dict[str, Any]) -> None:
    assert job["output_directory"].startswith("/")
    assert "%pid%" in job["output_file"]
    folder = Path(job["output_directory"])
    prefix = job["output_file"].replace("%pid%", str(os.getpid()))
    kernels = settings.get("kernels", {})
    chosen = [k for k in kernels if re.search(job.get("kernel_include_regex", ""), k)]
    number = int(folder.name.rpartition("_")[2]) if folder.name.startswith("pass_") else 0
    if job.get("pmc") and number not in settings.get("breaks", []):
        assert sum(name.startswith("TCC_") for name in job["pmc"]) <= 4
        _write_counters(folder / "pass_1" / prefix, job["pmc"], chosen, settings)
    if job.get("kernel_trace"):
        _write_kernels(folder / prefix, kernels, settings)
    if job.get("advanced_thread_trace"):
        _trace(job, folder, {k: kernels[k] for k in chosen}, settings)


def _write_counters(
    prefix: Path, counters: list[str], chosen: list[str], settings: dict[str, Any]
) -> None:
    from support.counter_files import counter_rows, write_counters

    values = settings.get("counters", {})
    rows = [
        row
        for kernel in chosen
        for row in counter_rows(
            [{name: values.get(name, 0) for name in counters}] * settings["kernels"][kernel],
            kernel=kernel,
        )
    ]
    path = Path(f"{prefix}_counter_collection.csv")
    write_counters(path, rows, target=settings.get("target", "gfx942"))


def _write_kernels(prefix: Path, kernels: dict[str, int], settings: dict[str, Any]) -> None:
    from support.host_traces import agent_csv, kernel_csv, kernel_row

    names = [name for name, count in kernels.items() for _ in range(count)]
    rows = [
        kernel_row(name, 1000 * n, 1000 * n + 500, correlation=n) for n, name in enumerate(names, 1)
    ]
    Path(f"{prefix}_kernel_trace.csv").write_text(kernel_csv(rows))
    Path(f"{prefix}_agent_info.csv").write_text(agent_csv(settings.get("target", "gfx942")))


def _trace(
    job: dict[str, Any], folder: Path, kernels: dict[str, int], settings: dict[str, Any]
) -> None:
    first = int(re.findall(r"\d+", job["kernel_iteration_range"])[0])
    for number, (name, count) in enumerate(kernels.items(), 1):
        if count < first:
            continue
        if int(job["att_buffer_size"], 0) < settings.get("full_below", 0):
            sys.stderr.write("W20260101 Thread trace buffer full!" + "\n")
        bundle = folder / f"ui_output_agent_5002_dispatch_{number}"
        write_bundle(bundle, name)


def write_bundle(bundle: Path, kernel: str) -> None:
    """A decoded trace of two instructions in one wave."""
    bundle.mkdir(parents=True)
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    rows = [
        [f"; {kernel}", 0, 0, kernel, 1, 4096, 0, 0, 0, 0],
        ["global_load_dwordx4 v[0:3], v[0:1], off", 0, 1, "k.py:7", 1, 4096, 1, 8, 4, 0],
        ["s_waitcnt vmcnt(0)", 0, 2, "k.py:8", 1, 4104, 1, 404, 400, 0],
        ["s_endpgm", 0, 3, "k.py:9", 1, 4108, 1, 4, 0, 0],
    ]
    code = {"code": rows, "version": "3.0.0", "header": header}
    (bundle / "code.json").write_text(json.dumps(code))
    wave = {"0": ["se0_sm0_sl0_wv0.json", 0, 416]}
    names = {"gfxv": "vega", "gfxip": 9, "wave_filenames": {"0": {"0": {"0": wave}}}}
    (bundle / "filenames.json").write_text(json.dumps(names))
    instructions = [[0, 4, 4, 8, 1], [8, 9, 400, 404, 2], [412, 11, 0, 4, 3]]
    content = {
        "name": "SE0", "duration": 416, "num_stitched": 3, "num_insts": 3,
        "wave": {"cu": 1, "id": 0, "simd": 0, "slot": 0, "begin": 0, "end": 416,
                 "instructions": instructions, "timeline": [[2, 416]], "waitcnt": [[2, [[1, 0]]]]},
    }  # fmt: skip
    (bundle / "se0_sm0_sl0_wv0.json").write_text(json.dumps(content))
    occupancy = {"0": [[0, 1, 0, 0, 1, 1], [416, 1, 0, 0, 0, 1]], "dispatches": {"1": kernel}}
    (bundle / "occupancy.json").write_text(json.dumps(occupancy))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main(sys.argv[1:]))
