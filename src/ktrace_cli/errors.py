"""What ktrace raises when it cannot go on, and the statuses that it exits with."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of every command but `run`, which returns the program's own."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REGRESSED = 3
    NOT_COMPARABLE = 4
    LOSS = 5
    RUN_FAILED = 125
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127


class KtraceError(Exception):
    """A problem that the user can act on; `app.main` prints it and nothing else catches it.

    Args:
        what: what happened, with the path.
        why: the reason, with the number found and the number wanted.
        fix: what to do about it; "" if nothing can be done.
        status: what the process exits with.
    """

    def __init__(
        self, what: str, *, why: str = "", fix: str = "", status: ExitStatus = ExitStatus.FAILED
    ) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix
        self.status = status


class TraceFileError(KtraceError):
    """A recording that cannot be read at all."""


class CodeObjectError(KtraceError):
    """A code object that cannot be read."""


class UsageError(KtraceError):
    """Options that do not go together or name nothing."""

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what, why=why, fix=fix, status=ExitStatus.USAGE)


class StandardOutputError(KtraceError):
    """Standard output is closed or full."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "cannot write to standard output", why=why, fix="redirect it to where there is room"
        )
