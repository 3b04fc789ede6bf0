"""The user's browser, and how one on another machine gets here."""

from __future__ import annotations

import shlex
import socket
import webbrowser
from collections.abc import Mapping

# These take the terminal for themselves, and show no trace.
_TEXT_BROWSERS = ("www-browser", "links", "elinks", "lynx", "w3m")


def is_far(environment: Mapping[str, str]) -> bool:
    """Tell whether the user sits at another machine, or where no window can open."""
    is_remote = any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY"))
    has_display = any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return is_remote or not has_display


def open_browser(address: str, environment: Mapping[str, str]) -> bool:
    """Open an address in the user's browser; return whether there is one.

    Where the user is far only the one that BROWSER names is tried: editors that work on remote
    machines put the one there that opens on the user's own.
    """
    if is_far(environment) and not environment.get("BROWSER"):
        return False
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if getattr(browser, "name", "") in _TEXT_BROWSERS:
        return False
    return browser.open(address)


def tunnel(environment: Mapping[str, str], port: int) -> str:
    """Return the command that brings a port of this machine to the one that the user sits at."""
    # "client address, client port, server address, server port"
    connection = environment.get("SSH_CONNECTION", "").split()
    host, ssh_port = connection[2:4] if len(connection) == 4 else (socket.gethostname(), "22")
    user = environment.get("USER") or environment.get("LOGNAME")
    words = ["ssh", "-L", f"{port}:127.0.0.1:{port}", f"{user}@{host}" if user else host]
    if ssh_port != "22":
        words[1:1] = ["-p", ssh_port]
    return shlex.join(words)
