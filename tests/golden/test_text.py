"""Stored recordings as text. To accept a change, look at the diff, then copy the new text."""

from io import BytesIO
from pathlib import Path

import pytest

from ktrace_cli.export.text import write_text
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.bin")), ids=lambda path: path.stem)
def test_a_stored_recording_reads_as_it_did(path: Path) -> None:
    out = BytesIO()

    write_text(build_timeline(read_recording(path)), out)

    assert out.getvalue().decode() == path.with_suffix(".txt").read_text(encoding="utf-8")
