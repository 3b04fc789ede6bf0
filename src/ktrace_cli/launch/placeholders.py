"""Placeholders in the names of recordings, such as `%hostname%` and `%env{X}%`.

Those that are the same for every process of a run are filled in here. The others reach the
interposer in their long form, and each process fills in its own
(preload/interposer/config.cpp). Names and short forms are those of rocprofv3, where it has them.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ktrace_cli.errors import UsageError
from ktrace_cli.wording import nearest

PER_PROCESS = ("pid", "ppid", "rank", "size")
_COMMON = (
    "hostname", "user", "cwd", "launch_date", "launch_time", "job", "nid",
    "tag", "argv", "argt", "args",
)  # fmt: skip
_LONG_BY_SHORT = {
    "p": "pid", "h": "hostname", "r": "rank", "s": "size", "j": "job", "a": "argv",
}  # fmt: skip
_LONGEST = 100  # characters of a command in a name; file systems allow 255 bytes
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"

# In the order in which they are looked for, here and in the interposer.
RANK_VARIABLES = (
    "SLURM_PROCID", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
    "MPI_RANKID", "MPI_RANK", "RANK",
)  # fmt: skip
SIZE_VARIABLES = (
    "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_NRANKS",
    "MPI_SIZE", "WORLD_SIZE",
)  # fmt: skip
_OF_LAUNCHERS = (
    "SLURM", "PMI", "OMPI_", "MV2_", "MPI", "PALS_", "FLUX_", "RANK", "WORLD_SIZE", "LOCAL_",
    "GROUP_", "ROLE_", "TORCHELASTIC_",
)  # fmt: skip

_TOKEN = re.compile(
    rf"%(?P<name>{'|'.join((*PER_PROCESS, *_COMMON))}|arg(?P<argument>\d+))%"
    rf"|%(?:env|ENV)\{{(?P<long>{_VARIABLE})\}}%|%q\{{(?P<q>{_VARIABLE})\}}"
    rf"|%(?P<short>[{''.join(_LONG_BY_SHORT)}])(?![a-z])|%"
)


def facts_of_run(
    command: Sequence[str], environment: Mapping[str, str], now: time.struct_time
) -> dict[str, str]:
    """Collect the values that are the same for every process of a run."""
    tag = Path(command[0]).name
    facts = {
        "hostname": socket.gethostname(),
        "user": environment.get("USER") or environment.get("LOGNAME") or str(os.getuid()),
        "launch_date": time.strftime("%Y-%m-%d", now),
        "launch_time": time.strftime("%Y-%m-%d_%H.%M.%S", now),
        "job": environment.get("SLURM_JOB_ID", "0"),
        "tag": tag,
        "argv": " ".join(command),
        "argt": " ".join([tag, *command[1:]]),
        "args": " ".join(command[1:]),
    }
    facts |= {f"arg{number}": text for number, text in enumerate(command)}
    facts = {name: _as_part_of_a_name(text) for name, text in facts.items()}
    # A launcher below this process sets the rank; without one here, process ids tell files apart.
    facts["nid"] = "%rank%" if _first(environment, RANK_VARIABLES) else "%pid%"
    facts["cwd"] = str(Path.cwd())
    return facts


def fill_in(option: str, text: str, facts: Mapping[str, str]) -> str:
    """Fill in what is the same for all processes, and write the rest in its long form.

    Raises:
        UsageError: `text` has a placeholder that does not exist.
    """

    def replaced(match: re.Match[str]) -> str:
        if variable := match["long"] or match["q"]:
            return f"%env{{{variable}}}%"
        name = match["name"] or _LONG_BY_SHORT.get(match["short"] or "")
        if name is None:
            raise _unknown(option, text, text[match.start() :])
        if match["argument"]:
            return facts.get(name, "")
        return facts.get(name, f"%{name}%")

    return _TOKEN.sub(replaced, text)


def name_here(text: str, environment: Mapping[str, str]) -> str:
    """Fill in the rest as a process with `environment` does; "" where that is not known."""
    if "%pid%" in text or "%ppid%" in text:
        return ""
    text = text.replace("%rank%", _first(environment, RANK_VARIABLES) or "0")
    text = text.replace("%size%", _first(environment, SIZE_VARIABLES) or "1")
    variables = re.findall(rf"%env\{{({_VARIABLE})\}}%", text)
    if not all(environment.get(name) for name in variables):
        return ""
    for name in variables:
        text = text.replace(f"%env{{{name}}}%", environment[name])
    return text


def unset_variable(text: str, environment: Mapping[str, str]) -> str:
    """Return a variable of `%env{…}%` that no process will have; "" if there is none.

    Those that a launcher below this process sets for its own children are not known here.
    """
    for name in re.findall(rf"%env\{{({_VARIABLE})\}}%", text):
        if name not in environment and not name.startswith(_OF_LAUNCHERS):
            return str(name)
    return ""


def _unknown(option: str, text: str, rest: str) -> UsageError:
    placeholder = (re.match(r"%\$?\w*(?:\{[^}]*\})?%?", rest) or [rest])[0]
    names = (*PER_PROCESS, *_COMMON)
    if placeholder.startswith(("%env", "%ENV", "%q")):
        fix = "name a variable: `%env{SLURM_JOB_ID}%`"
    elif placeholder in ("%", "%%"):
        fix = "leave `%` out of the name"
    elif meant := nearest(placeholder.strip("%"), names):
        fix = f"did you mean %{meant}%?"
    else:
        fix = f"there are {', '.join(f'%{name}%' for name in names)} and %env{{NAME}}%"
    return UsageError(
        f"cannot read `{option} {text}`", why=f"{placeholder!r} is no placeholder", fix=fix
    )


def _first(environment: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _as_part_of_a_name(text: str) -> str:
    return re.sub(r"[\s/%]+", "_", text.strip(" /"))[:_LONGEST]
