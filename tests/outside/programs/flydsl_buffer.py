"""Launch FlyDSL's kernels, and save the buffer in which they wrote, as it is on the device.

    flydsl_buffer.py FOLDER

`buffer.bin`, `names.json`, and in `decoded.json` what FlyDSL's own decoder and exporter make of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from flydsl_kernels import SIZE, N, add, gemm, random  # first: it lets torch pass for HIP's
from torch_on_hip import on_device

# isort: split
from flydsl.compiler.backends import _rocm_ktrace_trace as exporter
from flydsl.expr import ktrace
from flydsl.expr.ktrace_common import name_table
from flydsl.expr.rocdl import ktrace_emit

SLOT = 32


def slices_and_marks(records: list[dict[str, Any]]) -> list[list[Any]]:
    """Name, begin and length of all that FlyDSL shows, but what it adds for waves."""
    timeline = exporter.build_timeline(records, name_table())
    slices = [[s["name"], s["start"], s["end"] - s["start"], s["payload"]]
              for s in timeline["slices"] if s["name"] != "Wave Span"]  # fmt: skip
    return slices + [[m["name"], m["ts"], -1, m["payload"]] for m in timeline["instants"]]


def main(folder: Path) -> None:
    a, b, c = random(N, seed=1), random(N, seed=2), on_device(torch.zeros(N))
    left = random(SIZE, SIZE, dtype=torch.float16, seed=3)
    right = random(SIZE, SIZE, dtype=torch.float16, seed=4)
    product = on_device(torch.zeros(SIZE, SIZE))
    with ktrace.capture("all", out_dir=str(folder)):
        for _ in range(3):
            add(a, b, c)
        gemm(left, right, product)
        torch.cuda.synchronize()
        buffer = ktrace_emit.current_buffer()
        whole = buffer._read(0, (buffer.capacity_slots + 1) * SLOT, "reading the buffer")
        records = buffer.read_records()
    (folder / "buffer.bin").write_bytes(whole)
    (folder / "names.json").write_text(json.dumps(name_table()))
    (folder / "decoded.json").write_text(json.dumps(slices_and_marks(records)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
