"""Launch FlyDSL's kernels as its users do, and read its own trace.

    flydsl_live.py FOLDER COUNT

`decoded.json` is what FlyDSL's own decoder and exporter make of COUNT sums and a product, or why
they make nothing of it; two more sums follow, which nobody reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from flydsl_buffer import slices_and_marks
from flydsl_kernels import SIZE, N, add, gemm, random
from torch_on_hip import on_device

# isort: split
from flydsl.expr import ktrace
from flydsl.expr.rocdl import ktrace_emit


def read() -> dict[str, Any]:
    """What FlyDSL says of its buffer, which it empties then in any case."""
    try:
        records = ktrace_emit.current_buffer().read_records()
        return {"shown": slices_and_marks(records), "summary": ktrace.summary()}
    except RuntimeError as error:
        try:
            ktrace.summary()
        except RuntimeError:
            return {"refused": str(error)}
        raise


def main(folder: Path, count: int) -> None:
    a, b, c = random(N, seed=1), random(N, seed=2), on_device(torch.zeros(N))
    left = random(SIZE, SIZE, dtype=torch.float16, seed=3)
    right = random(SIZE, SIZE, dtype=torch.float16, seed=4)
    product = on_device(torch.zeros(SIZE, SIZE))
    for _ in range(count):
        add(a, b, c)
    if count > 1:
        gemm(left, right, product)
    (folder / "decoded.json").write_text(json.dumps(read()))
    for _ in range(2):
        add(a, b, c)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
