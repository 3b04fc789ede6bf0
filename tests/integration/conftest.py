"""Fixtures of tests that run whole commands."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.ktrace_command import Ktrace, run_ktrace


@pytest.fixture
def ktrace(tmp_path: Path) -> Ktrace:
    """Run a ktrace command in an empty folder."""
    return partial(run_ktrace, tmp_path)
