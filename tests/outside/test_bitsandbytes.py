"""bitsandbytes 0.50.2 as PyPI has it: host and device code by hipcc, for each of its ROCms.

Its Python functions are called, with a CPU build of PyTorch under them (programs/torch_on_hip.py).
What they return is compared with formulas in numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from outside.optimizers import check_step
from outside.quantization import NF4, TABLES, is_nearest, largest, nibbles, per_block, rounded
from outside.running import TARGETS, Outside, Results, need

Array = npt.NDArray[Any]

# Half of the distance between neighbours, relative to the value.
ROUNDING = {"fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8}
TOO_OLD = ("6.4", "gfx950")
ROCM = ("6.4", "7.0", "7.1", "7.2", "7.14", "7.15")
# Each build holds code for both targets but ROCm 6.4's, which is older than gfx950.
BUILDS = [
    *((version, target) for version in ROCM for target in TARGETS if (version, target) != TOO_OLD),
    ("7.2", "gfx90a"),
]


@pytest.fixture(scope="module", params=BUILDS, ids="-".join)
def build(request: pytest.FixtureRequest, outside: Callable[[], Outside], blas: Path) -> Results:
    """Everything that one build computed on one target, and its version of ROCm under `rocm`."""
    need("bitsandbytes", "torch")
    version, target = request.param
    program = ("bitsandbytes_kernels.py", version)
    results = outside().results(target, *program, LD_LIBRARY_PATH=str(blas))
    return {**results, "rocm": np.array(version)}


def groups(results: Results, *beginning: str) -> Iterator[tuple[list[str], dict[str, Array]]]:
    """Give the arrays that share a name, by their last part."""
    names = sorted({name.rpartition("/")[0] for name in results})
    for name in names:
        parts = name.split("/")
        if parts[: len(beginning)] == list(beginning):
            arrays = {
                key.rpartition("/")[2]: array
                for key, array in results.items()
                if key.rpartition("/")[0] == name
            }
            yield parts, arrays


def test_four_bit_codes_are_the_nearest_and_come_back_exactly(build: Results) -> None:
    seen = 0
    for (_, table_name, kind, blocksize), arrays in groups(build, "4bit"):
        x, table = arrays["x"], TABLES[table_name]
        chosen = table[nibbles(arrays["codes"], len(x))]
        scale = per_block(arrays["absmax"], int(blocksize), len(x))
        assert (arrays["absmax"] == largest(x, int(blocksize))).all()
        assert is_nearest(x / scale, chosen, table)
        assert (arrays["y"] == rounded(chosen * scale, kind)).all()
        seen += 1
    assert seen == 18


def test_eight_bit_codes_are_the_nearest_and_come_back_exactly(build: Results) -> None:
    seen = 0
    for (_, kind, blocksize), arrays in groups(build, "8bit"):
        x, table = arrays["x"], arrays["code"]
        chosen = table[arrays["codes"]]
        scale = per_block(arrays["absmax"], int(blocksize), len(x))
        assert (arrays["absmax"] == largest(x, int(blocksize))).all()
        assert is_nearest(x / scale, chosen, table)
        assert (arrays["y"] == rounded(chosen * scale, kind)).all()
        seen += 1
    assert seen == 9


def test_products_with_four_bit_weights_are_those_of_numpy(build: Results) -> None:
    seen = 0
    for (_, table_name, kind), arrays in groups(build, "product"):
        scale = per_block(arrays["absmax"], 64, 96 * 256)
        weight = (TABLES[table_name][nibbles(arrays["codes"], 96 * 256)] * scale).reshape(96, 256)
        weight = weight.astype(np.float64)
        row, rows = arrays["row"].astype(np.float64), arrays["rows"].astype(np.float64)
        error = 4 * ROUNDING[kind]
        allowed = error * (np.abs(row) @ np.abs(weight).T) + error
        assert (np.abs(arrays["gemv"] - row @ weight.T) <= allowed).all()
        allowed = error * (np.abs(rows) @ np.abs(weight).T) + error
        difference = np.abs(arrays["gemm"] - (rows @ weight.T + arrays["bias"]))
        if build["rocm"] == "6.4":
            # This build adds the lanes' sums up as integers: its compiler knows the exchange of
            # lanes (DPP) for 32-bit integers alone, and v_cvt_i32_f32 stands before each of four.
            assert 1 < difference.max() < 16
        else:
            assert (difference <= allowed).all()
        seen += 1
    assert seen == 6


def test_scales_that_are_quantized_themselves_come_back_within_a_step(build: Results) -> None:
    arrays = next(arrays for _, arrays in groups(build, "nested"))
    chosen = NF4[nibbles(arrays["codes"], 64 * 300)].reshape(300, 64)
    scale = largest(arrays["x"], 64)
    found = (arrays["y"].reshape(300, 64) * chosen).sum(1) / (chosen * chosen).sum(1)
    assert np.abs(found - scale).max() < 0.02 * np.abs(scale - scale.mean()).max()


def test_int8_rows_are_scaled_by_their_largest_element(build: Results) -> None:
    for (_, threshold), arrays in groups(build, "int8"):
        if threshold == "back":
            continue
        x, is_outlier = arrays["x"], np.zeros(arrays["x"].shape, bool)
        if float(threshold):
            is_outlier = np.abs(x) >= float(threshold)
        assert (arrays["columns"] == np.flatnonzero(is_outlier.any(0))).all()
        assert len(arrays["columns"]) == (152 if float(threshold) else 0)
        kept = np.where(is_outlier, 0, x)
        stats = np.abs(kept).max(1)
        wanted = np.rint(kept * (127 / stats[:, None]))
        wanted[:, is_outlier.any(0)] = 0
        assert (arrays["stats"] == stats).all()
        difference = np.abs(arrays["rows"].astype(int) - wanted)
        assert difference.max() <= 1
        assert (difference == 0).mean() > 0.99


def test_int8_products_come_back_with_the_scales_of_rows_and_columns(build: Results) -> None:
    arrays = next(arrays for parts, arrays in groups(build, "int8", "back"))
    scale = arrays["rows"][:, None].astype(np.float64) * arrays["columns"] / (127 * 127)
    wanted = arrays["x"] * scale + arrays["bias"]
    assert (np.abs(arrays["y"] - wanted) <= 2 * ROUNDING["fp16"] * np.abs(wanted) + 1e-3).all()


def test_managed_memory_is_filled_and_multiplied(build: Results) -> None:
    arrays = next(arrays for _, arrays in groups(build, "managed"))
    assert (arrays["factor"] == np.arange(1000)).all()
    assert (arrays["x"] == np.float32(3.5) * np.arange(1000, dtype=np.float32)).all()


def test_optimizers_take_the_steps_of_their_formulas(build: Results) -> None:
    seen = 0
    for (_, name, bits, kind, step), arrays in groups(build, "optimizer"):
        prefix = f"state optimizer/{name}/{bits}/{kind}/{step}"
        before, after = (
            {
                key.rpartition("/")[2]: build[key]
                for key in build
                if key.startswith(f"{prefix}/{at}/")
            }
            for at in ("before", "after")
        )
        check_step(name, int(step), arrays, before, after, ROUNDING[kind])
        seen += 1
    assert seen == 44


def test_a_build_without_code_for_the_target_is_told_so(
    outside: Callable[[], Outside], blas: Path
) -> None:
    need("bitsandbytes", "torch")
    runner = outside()

    with pytest.raises(AssertionError) as told:
        runner.results("gfx950", "bitsandbytes_kernels.py", "6.4", LD_LIBRARY_PATH=str(blas))

    assert "no code object for gfx950; there are gfx1030," in str(told.value)
    assert "Error no kernel image is available for execution on the device" in str(told.value)
