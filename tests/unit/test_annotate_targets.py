"""The targets that compilers of Python kernels write into their code objects."""

from __future__ import annotations

import msgpack
import pytest

from ktrace_cli.code_object.metadata import read_metadata


@pytest.mark.parametrize(
    ("triple", "target"),
    [
        ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("amdgcn-amd-amdhsa-unknown-gfx942", "gfx942"),
        ("amdgpu9.50-amd-amdhsa-unknown-gfx950", "gfx950"),
        ("amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("gfx942", "gfx942"),
        ("", ""),
    ],
)
def test_a_target_is_what_follows_the_triple(triple: str, target: str) -> None:
    note = msgpack.packb({"amdhsa.target": triple, "amdhsa.kernels": []})

    assert read_metadata(memoryview(note)).target == target
