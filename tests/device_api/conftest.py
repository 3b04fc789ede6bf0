"""The compilers and the device of the device API's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from device_api.launch import Device
from support.compile_kernel import Compiler, compilers_for

EVERY_COMPILER = [
    ("clang-19", "gfx90a"),
    ("clang-19", "gfx942"),
    ("ziglang", "gfx942"),
    ("ziglang", "gfx950"),
]


def _find(name: str, target: str) -> Compiler:
    for compiler in compilers_for(target):
        if compiler.name == name:
            return compiler
    pytest.skip(f"{name} for {target} is not installed")


@pytest.fixture(params=EVERY_COMPILER, ids="-".join)
def compiler(request: pytest.FixtureRequest) -> Compiler:
    return _find(*request.param)


class _Devices(dict[str, Device]):
    def __missing__(self, target: str) -> Device:
        return self.setdefault(target, Device(target))


@pytest.fixture(scope="session")
def _devices() -> Iterator[_Devices]:
    devices = _Devices()
    yield devices
    for device in devices.values():
        device.close()


@pytest.fixture
def device(compiler: Compiler, _devices: _Devices) -> Device:
    """A software device that runs what `compiler` makes."""
    return _devices[compiler.target]


@pytest.fixture(scope="session")
def patterns() -> str:
    return (Path(__file__).parent / "kernels" / "patterns.hip").read_text()
