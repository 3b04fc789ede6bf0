"""The program that calls parts of the interposer on files and numbers."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.interposer_probe import build_probe

NATIVE = Path(__file__).parent


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run the probe with arguments; return what it prints. Any report of a sanitizer fails."""
    path = tmp_path_factory.mktemp("probe") / "probe"
    build_probe(path, *sorted(NATIVE.glob("interposer_probe*.cpp")))

    def run(*arguments: object, **environment: str) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("KTRACE_")}
        done = subprocess.run(
            [path, *map(str, arguments)],
            env={**own, "KTRACE_SESSION_DIR": "/tmp", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run
