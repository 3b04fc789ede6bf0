"""docs/annotating-python.md shows what the samples have."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "annotating-python.md").read_text()


def test_every_block_of_python_is_part_of_a_sample() -> None:
    samples = [path.read_text() for path in (ROOT / "samples").glob("*/*.py")]
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    assert len(blocks) == 6
    assert [block for block in blocks if not any(block in sample for sample in samples)] == []


def test_the_markers_are_those_of_both_languages_and_of_their_stand_ins() -> None:
    documented = set(re.findall(r"`(?:t = )?kt\.(\w+)\(", PAGE))
    names_by_file: dict[str, list[set[str]]] = {}
    for path in (
        *(ROOT / "src/ktrace_cli/annotate" / name for name in ("triton.py", "flydsl.py")),
        *(ROOT / "samples").glob("*/no_ktrace.py"),
    ):
        found = re.search(r"^__all__ = \[(.*?)\]", path.read_text(), re.MULTILINE | re.DOTALL)
        assert found is not None
        language = "flydsl" if "flydsl" in str(path) else "triton"
        names_by_file.setdefault(language, []).append(set(re.findall(r'"(\w+)"', found[1])))

    triton, flydsl = names_by_file["triton"], names_by_file["flydsl"]
    assert triton == [documented - {"range"}] * 2
    assert flydsl == [documented | {"range"}] * 2
