"""Writes the file of sections beside a process's recording, a line at a time.

Until the recording has a name, the lines are in the session's folder. A worker that crashes in its
first test with launches leaves them there, and the process that started it moves them.
"""

from __future__ import annotations

from pathlib import Path

from ktrace_cli.launch.status import ProcessStatus
from ktrace_cli.trace_file.sections import Section, first_line, section_line, sections_path


class SectionWriter:
    """Has each line on the disk when it is written."""

    def __init__(self, session: Path, pid: int) -> None:
        self._pid = pid
        self._waiting = _waiting_path(session, pid)
        self._path: Path | None = None
        self._has_failed = False
        self._waiting.unlink(missing_ok=True)  # of a process that had our process id

    def begin(self, test: str, phase: str, launches: int) -> None:
        """Write that a section begins after so many launches, for the case that it never ends."""
        self._write(section_line(Section(test, phase, "", launches + 1, None)))

    def end(self, section: Section) -> None:
        """Write a section."""
        self._write(section_line(section))

    def follow(self, status: ProcessStatus | None) -> None:
        """Move what was written beside the recording, as soon as that has a name."""
        if self._path is None and status and not self._has_failed:
            try:
                self._path = move_waiting(self._waiting, status)
            except OSError:
                self._has_failed = True  # what is left waiting is said at the end

    def _write(self, line: str) -> None:
        if self._has_failed:
            return
        try:
            with (self._path or self._waiting).open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError:
            self._has_failed = True
            # Sections without those that follow would be taken for all there are.
            if self._path:
                self._path.unlink(missing_ok=True)
                self._waiting.touch()


def move_waiting(waiting: Path, status: ProcessStatus) -> Path | None:
    """Write the lines that wait in the session's folder beside the recording, if there is one.

    Raises:
        OSError: they cannot be written.
    """
    if not (status.output and status.dispatches):
        return None
    path = sections_path(status.output)
    lines = waiting.read_text(encoding="utf-8") if waiting.exists() else ""
    # The recording is new, so a file that is there is of one that was removed.
    path.write_text(first_line(status.output, status.pid) + lines, encoding="utf-8")
    waiting.unlink(missing_ok=True)
    return path


def rescue(session: Path, status: ProcessStatus) -> str:
    """Move what a process that crashed left waiting; return why that failed, "" if it did not."""
    waiting = _waiting_path(session, status.pid)
    if not waiting.exists():
        return ""
    try:
        move_waiting(waiting, status)
    except OSError as error:
        return f"its sections could not be written: {error.strerror or error}"
    return ""


def _waiting_path(session: Path, pid: int) -> Path:
    return session / f"{pid}.sections"
