"""Takes down which launches each phase of each test makes, and holds tests to their markers."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.here import OwnStatus
from ktrace_cli.launch.status import ProcessStatus
from ktrace_cli.pytest_plugin.checking import COPY_LIMIT_S, why_not_met
from ktrace_cli.pytest_plugin.ending import Ending
from ktrace_cli.pytest_plugin.launches import Launches
from ktrace_cli.pytest_plugin.names import MARKER
from ktrace_cli.pytest_plugin.requirements import Requirement, read_requirement
from ktrace_cli.pytest_plugin.writing import SectionWriter
from ktrace_cli.trace_file.sections import Section

_NEXT_PHASE = {"setup": "call", "call": "teardown"}


class _Process:
    """What is known of this process; a child of fork that goes on running tests begins anew."""

    def __init__(self, session: Path) -> None:
        self.pid = os.getpid()
        self.status = OwnStatus(session)
        self.before = self.status.read()
        self.writer = SectionWriter(session, self.pid)
        self._recorded: Launches | None = None

    @property
    def launches(self) -> int:
        """How many there were when the phase began."""
        return self.before.launches if self.before else 0

    def recorded(self, status: ProcessStatus | None) -> Launches | None:
        """Return what the recording has, if there is one."""
        if self._recorded is None and status and status.output and status.dispatches:
            self._recorded = Launches(status.output)
        return self._recorded


class Recorder:
    """The plugin of a process that runs tests, or that has workers run them."""

    def __init__(self, config: pytest.Config, session: str) -> None:
        self._session = Path(session)
        self._process = _Process(self._session)
        self._ending = None if hasattr(config, "workerinput") else Ending(self._session)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begin a test's first section."""
        here = self._here()
        here.before = here.status.read()
        here.writer.follow(here.before)
        here.writer.begin(item.nodeid, "setup", here.launches)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Let a test that was right fail if its markers are not met."""
        yield
        marks = list(item.iter_markers(MARKER))
        if marks:
            here = self._here()
            try:
                wanted = [read_requirement(mark.args, mark.kwargs) for mark in marks]
                problem = _problem(here, wanted)
            except KtraceError as error:
                problem = f"ktrace: {error.what}\n  why: {error.why}\n  try: {error.fix}"
            if problem:
                pytest.fail(problem, pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """End a section; what is launched until the next phase belongs to that one."""
        report = yield
        here = self._here()
        now = here.status.read()
        count = (now.launches if now else 0) - here.launches
        phase, following = call.when, _NEXT_PHASE.get(call.when, "")
        here.writer.follow(now)
        here.writer.end(Section(item.nodeid, phase, _outcome(report), here.launches + 1, count))
        here.before = now
        if following:
            following = "teardown" if call.excinfo else following
            here.writer.begin(item.nodeid, following, here.launches)
        return report

    def pytest_sessionfinish(self) -> None:
        """Give the sections of launches that are not copied back yet their place."""
        here = self._here()
        here.writer.follow(here.status.wait_until_copied(COPY_LIMIT_S))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what was recorded."""
        if self._ending:
            self._ending.write(terminalreporter)

    def _here(self) -> _Process:
        if self._process.pid != os.getpid():
            self._process = _Process(self._session)
        return self._process


def _problem(here: _Process, wanted: list[Requirement]) -> str:
    after = here.status.wait_until_copied(COPY_LIMIT_S)
    return why_not_met(wanted, here.before, after, here.recorded(after))


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    return report.outcome
