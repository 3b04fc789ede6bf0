"""Call bitsandbytes' own Python functions, and save what went in and what came out.

bitsandbytes_kernels.py ROCM_VERSION RESULTS.npz
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch_on_hip import pass_for_hip, take_kernels_of_cuda

pass_for_hip(sys.argv[1])
take_kernels_of_cuda()

import bitsandbytes  # noqa: E402
from bitsandbytes import functional  # noqa: E402

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
RESULTS: dict[str, Any] = {}
N = 4096 + 96  # the last block is not full
FULL_BLOCKS = 4096 + 256  # AdEMAMix with 8 bits takes its second scales from the wrong place for N
OPTIMIZERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "adam": (bitsandbytes.optim.Adam, {}),
    "adamw": (bitsandbytes.optim.AdamW, {"weight_decay": 0.05}),
    "sgd": (bitsandbytes.optim.SGD, {"momentum": 0.9}),
    "rmsprop": (bitsandbytes.optim.RMSprop, {}),
    "adagrad": (bitsandbytes.optim.Adagrad, {}),
    "lion": (bitsandbytes.optim.Lion, {"weight_decay": 0.05}),
    "ademamix": (bitsandbytes.optim.AdEMAMix, {"weight_decay": 0.05}),
}


def save(name: str, **tensors: torch.Tensor) -> None:
    """Keep tensors under `name/key`; numpy has no bfloat16, and float32 holds it exactly."""
    for key, tensor in tensors.items():
        is_float = tensor.dtype in (torch.bfloat16, torch.float16)
        RESULTS[f"{name}/{key}"] = (tensor.float() if is_float else tensor).detach().numpy().copy()


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def four_bits() -> None:
    for kind in ("nf4", "fp4"):
        for name, dtype in DTYPES.items():
            for blocksize in (64, 256, 4096) if name == "fp32" else (32, 64, 2048):
                x = normal(N, dtype=dtype, seed=blocksize)
                codes, state = functional.quantize_4bit(x, blocksize=blocksize, quant_type=kind)
                y = functional.dequantize_4bit(codes, state)
                save(f"4bit/{kind}/{name}/{blocksize}", x=x, codes=codes, absmax=state.absmax, y=y)


def eight_bits() -> None:
    code = functional.create_dynamic_map()
    for name, dtype in DTYPES.items():
        for blocksize in (64, 256, 4096):
            x = normal(N, dtype=dtype, seed=blocksize + 1)
            codes, state = functional.quantize_blockwise(x, code=code, blocksize=blocksize)
            y = functional.dequantize_blockwise(codes, state)
            key = f"8bit/{name}/{blocksize}"
            save(key, x=x, code=code, codes=codes, absmax=state.absmax, y=y)


def products() -> None:
    for kind in ("nf4", "fp4"):
        for name, dtype in DTYPES.items():
            weight, bias = normal(96, 256, dtype=dtype, seed=2), normal(96, dtype=dtype, seed=3)
            codes, state = functional.quantize_4bit(weight, blocksize=64, quant_type=kind)
            row = normal(1, 256, dtype=dtype, seed=4)
            rows = normal(2, 256, dtype=dtype, seed=5)
            kept = {"codes": codes, "absmax": state.absmax, "bias": bias, "row": row, "rows": rows}
            gemv = functional.gemv_4bit(row, codes.t(), state=state)
            gemm = bitsandbytes.matmul_4bit(rows, codes.t(), quant_state=state, bias=bias)
            save(f"product/{kind}/{name}", **kept, gemv=gemv, gemm=gemm)


def nested() -> None:
    x = normal(64 * 300)
    arguments = {"blocksize": 64, "quant_type": "nf4"}
    codes, state = functional.quantize_4bit(x, compress_statistics=True, **arguments)
    save("nested", x=x, codes=codes, y=functional.dequantize_4bit(codes, state))


def int8() -> None:
    x = normal(16, 300, dtype=torch.float16, seed=6) * 3
    for threshold in (0.0, 6.0):
        rows, stats, columns = functional.int8_vectorwise_quant(x, threshold=threshold)
        columns = torch.empty(0, dtype=torch.int64) if columns is None else columns
        save(f"int8/{threshold:g}", x=x, rows=rows, stats=stats, columns=columns)
    product = torch.randint(-20000, 20000, (16, 300), generator=torch.Generator().manual_seed(7))
    product = product.to(torch.int32)
    row_stats, column_stats = normal(16, seed=8).abs(), normal(300, seed=9).abs()
    bias = normal(300, dtype=torch.float16, seed=10)
    y = functional.int8_mm_dequant(product, row_stats, column_stats, bias=bias)
    save("int8/back", x=product, rows=row_stats, columns=column_stats, bias=bias, y=y)


def managed() -> None:
    x = functional.get_paged(1000)
    functional.fill(x, 3.5)
    functional._mul(x, factor := functional.get_paged(1000).copy_(torch.arange(1000)))
    save("managed", x=x, factor=factor)


def optimizers() -> None:
    for name, (make, arguments) in OPTIMIZERS.items():
        for bits in (32, 8):
            for kind in DTYPES if name in ("adam", "lion") else ("fp32",):
                key = f"optimizer/{name}/{bits}/{kind}"
                two_steps(key, make, {**arguments, "optim_bits": bits}, DTYPES[kind])


def two_steps(key: str, make: Callable[..., Any], arguments: Any, dtype: torch.dtype) -> None:
    count = FULL_BLOCKS if "/ademamix/8/" in key else N
    parameter = torch.nn.Parameter(normal(count, dtype=dtype, seed=11))
    optimizer = make([parameter], lr=1e-2, **arguments)
    for step in (1, 2):
        parameter.grad = normal(count, dtype=dtype, seed=11 + step)
        save(f"{key}/{step}", p=parameter, g=parameter.grad)
        keep_state(f"state {key}/{step}/before", optimizer.state[parameter])
        optimizer.step()
        save(f"{key}/{step}", q=parameter)
        keep_state(f"state {key}/{step}/after", optimizer.state[parameter])


def keep_state(key: str, state: dict[str, Any]) -> None:
    save(key, **{name: each for name, each in state.items() if isinstance(each, torch.Tensor)})


if __name__ == "__main__":
    for part in (four_bits, eight_bits, products, nested, int8, managed, optimizers):
        part()
    np.savez(sys.argv[2], **RESULTS)
