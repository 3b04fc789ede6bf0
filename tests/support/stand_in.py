"""Builds a stand-in HIP from sources of tests/support: a library with HIP's name."""

from pathlib import Path

from support.built_once import ROOT, compile_once

SUPPORT = Path(__file__).parent


def build_stand_in(folder: Path, *sources: str) -> Path:
    """Compile `sources` to `folder`/libamdhip64.so.7; skip the test without a compiler."""
    include = f"-I{ROOT / 'preload' / 'include'}"
    options = ("-std=c++17", "-O1", "-fPIC", "-shared", include)
    return compile_once([SUPPORT / name for name in sources], folder / "libamdhip64.so.7", *options)
