"""Where a run's output goes: into a folder of its own, never over what is there."""

from __future__ import annotations

import itertools
from pathlib import Path

from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.environment import DEFAULT_FOLDER
from ktrace_cli.launch.output import refuse_folder


def make_folder(given: Path | None, what: str) -> Path:
    """Make the folder for a run's output.

    Args:
        given: by the user; else a new one is made in `ktrace_out`.
        what: what is collected; the new folder is called so, with a number.

    Raises:
        KtraceError: something is there, or it cannot be made.
    """
    wanted = given or next(
        path
        for number in itertools.count(1)
        if not (path := Path(DEFAULT_FOLDER) / f"{what}-{number}").exists()
    )
    if wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
        raise KtraceError(
            f"will not write into {wanted}",
            why="there is something in it" if wanted.is_dir() else "it is no folder",
            fix="name another folder with `-d`, or none: each run has a folder of its own",
        )
    refuse_folder(f"write into {wanted}", wanted)
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        why = problem.strerror or str(problem)
        fix = "name another folder with `-d`"
        raise KtraceError(f"cannot make the folder {wanted}", why=why, fix=fix) from problem
    return wanted
