"""Text: one line per record, whatever names hold."""

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from ktrace_cli.export.records import Written
from ktrace_cli.export.text import COLUMNS, write_text
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.cycles import in_cycles
from support.recording import Wave
from support.tables import NAMES, VALUES, Taken, renamed, small, with_payload
from support.timelines import MARK, decode
from support.words import Value, mark

ESCAPES = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


def lines(timeline: Timeline) -> list[str]:
    out = Taken()
    write_text(timeline, out)
    assert out.text().endswith("\n")
    return out.text().split("\n")[:-1]


def unescaped(text: str) -> str:
    return re.sub(r"\\.", lambda found: ESCAPES[found[0]], text)


def test_arrows_stand_behind_all_records(tmp_path: Path) -> None:
    shown = lines(small(tmp_path))

    assert len([line for line in shown if not line.startswith("#")]) == 1 + 2 + 7
    assert shown[-1] == (
        "# flow tile -> load: dispatch 1 block 0,0,0 wave 0 tick 4200"
        " -> dispatch 1 block 0,0,0 wave 0 tick 6300"
    )


def test_a_wave_without_records_has_its_own_line(tmp_path: Path) -> None:
    recorded = Wave(wave=1, main=[mark(MARK, 1_100)])
    waves = [Wave(), recorded, Wave(wave=2), Wave(wave=3)]

    shown = [line.split("\t") for line in lines(decode(waves, tmp_path)) if line[0] != "#"][1:]

    assert [(row[4], row[5]) for row in shown] == [
        ("0", "wave"),
        ("1", "wave"),
        ("1", "mark"),
        ("2", "wave"),
        ("3", "wave"),
    ]


def test_in_cycles_columns_say_so(tmp_path: Path) -> None:
    shown = lines(in_cycles(small(tmp_path)))

    assert shown[2] == "# zero_cycles 0"
    (head,) = [line for line in shown if line.startswith("dispatch\t")]
    assert head.split("\t")[9:11] == ["begin_cycles", "dur_cycles"]


def test_what_was_written_is_counted(tmp_path: Path) -> None:
    assert write_text(small(tmp_path), Taken()) == Written(slices=6, instants=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=NAMES, value=VALUES)
def test_any_name_and_payload_is_one_line(name: str, value: Value, tmp_path: Path) -> None:
    timeline = renamed(with_payload([value], tmp_path), name)

    *_, wave, record = (line.split("\t") for line in lines(timeline))

    assert len(wave) == len(record) == len(COLUMNS)
    assert unescaped(record[6]) == name
    assert unescaped(record[2]) == f"{name}0"
    assert record[14]
