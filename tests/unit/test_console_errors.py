"""What errors look like on stderr."""

import pytest

from ktrace_cli import console
from ktrace_cli.errors import KtraceError


def test_controls_in_a_name_do_not_command_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.error(KtraceError("cannot read a\x1b[31mb\tc\x9b2J [red]", why="\r\x07", fix="ä"))
    console.warn("\x7f")

    assert capsys.readouterr().err == (
        "ktrace: error: cannot read a\\x1b[31mb\\x09c\\x9b2J [red]\n"
        "  why: \\x0d\\x07\n"
        "  try: ä\n"
        "ktrace: warning: \\x7f\n"
    )
