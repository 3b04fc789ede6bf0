"""The pytest plugin: `pytest --ktrace` records what tests launch. Without it it loads nothing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Generator

import pytest

from ktrace_cli.pytest_plugin.names import DEVICES, MARKER, SESSION_DIR

_MARKER_HELP = (
    f"{MARKER}(max={{'PHASE': '50us'}}, mean=…, p50=…, p90=…, p95=…, p99=…,"
    " min_count={'PHASE': 1}, kernel='PATTERN', unit='ns', require=False): with --ktrace, fail if"
    " phases of the kernels that the test's call launches take longer or are fewer;"
    " require: skip the test without --ktrace"
)
_WORKER = "PYTEST_XDIST_WORKER"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("ktrace", "phases inside AMD GPU kernels")
    group.addoption(
        "--ktrace",
        action="store_true",
        help="run the tests under ktrace, and record what each of them launches",
    )
    group.addoption(
        "--ktrace-out",
        metavar="DIR",
        default=None,
        help="with --ktrace: the folder of the recordings (default: ktrace_out)",
    )
    group.addoption(
        "--ktrace-device",
        choices=DEVICES,
        default=None,
        help="with --ktrace: the machine's GPU, or the software device (default: auto)",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Start all over under ktrace, before anything is captured or any conftest.py is loaded."""
    given = early_config.known_args_namespace
    if given.ktrace and not _runs_nothing(given) and not _is_worker():
        from ktrace_cli.pytest_plugin.restart import Wanted, ensure_traced  # noqa: PLC0415

        wanted = Wanted(given.ktrace_out, given.ktrace_device)
        ensure_traced(wanted, early_config.invocation_params.args)
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to take down sections where tests run under ktrace."""
    config.addinivalue_line("markers", _MARKER_HELP)
    session = os.environ.get(SESSION_DIR)
    if not config.option.ktrace or _runs_nothing(config.option):
        return
    if not session:
        raise pytest.UsageError(
            "--ktrace: this process does not run under ktrace\n"
            "  why: workers on other machines do not inherit ktrace's environment\n"
            "  try: run the workers here, or start pytest under `ktrace run` there"
        )
    from ktrace_cli.pytest_plugin.recorder import Recorder  # noqa: PLC0415 - loads numpy

    config.pluginmanager.register(Recorder(config, session), "ktrace-recorder")


def _runs_nothing(options: argparse.Namespace) -> bool:
    return bool(options.help or options.version or options.collectonly)


def _is_worker() -> bool:
    """Tell a worker of pytest-xdist from a pytest that a test in such a worker starts."""
    return _WORKER in os.environ and sys.argv[0] == "-c"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests that require to be traced where they are not."""
    if config.option.ktrace:
        return
    for item in items:
        if any(mark.kwargs.get("require") for mark in item.iter_markers(MARKER)):
            item.add_marker(pytest.mark.skip(reason="needs `pytest --ktrace`"))
