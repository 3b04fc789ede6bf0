"""What must be preloaded in front of an interposer that was built with a sanitizer."""

import os


def sanitizer_runtime() -> tuple[str, ...]:
    """Name the sanitizer's own library; nothing in ordinary runs. sanitize.py sets the variable."""
    runtime = os.environ.get("SANITIZER_RUNTIME")
    return (runtime,) if runtime else ()
