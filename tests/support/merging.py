"""Merged traces that Perfetto's own trace_processor has loaded.

trace, merged = merge_files(tmp_path, "a.bin", "csv_folder")
"""

from pathlib import Path

from ktrace_cli.export.merged import Merged, Merging, write_merged
from ktrace_cli.export.output import compressed, open_output
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.importers.clocks import align
from ktrace_cli.importers.files import Input, find_inputs, inputs_of
from ktrace_cli.importers.inputs import RecordingInput
from ktrace_cli.importers.matching import match_all
from ktrace_cli.importers.reader import read_traces
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from support.trace_processor import LoadedTrace, load_trace


def merge_files(
    folder: Path, *files: Path, group_by: GroupBy | None = None
) -> tuple[LoadedTrace, Merged]:
    """Merge files; the result has no error and loses nothing."""
    merging = prepare(*files, group_by=group_by)
    path = folder / "merged.pftrace.gz"
    with open_output(path, may_replace=True) as out, compressed(out) as stream:
        merged = write_merged(merging, stream)
    trace = load_trace(path)
    assert trace.problems() == []
    assert trace.one("select count(*) from slice where dur < 0") == 0
    return trace, merged


def prepare(*files: Path, group_by: GroupBy | None = None) -> Merging:
    """Read, align and match files."""
    found, _ = find_inputs(files)
    recordings = [
        RecordingInput(one.given, one.paths[0], build_timeline(read_recording(one.paths[0])))
        for one in inputs_of(found, Input.RECORDING)
    ]
    traces = [t for one in found if one.kind is not Input.RECORDING for t in read_traces(one)]
    alignment = align(recordings, traces, {})
    matches = match_all(recordings, traces, alignment)
    return Merging(recordings, traces, alignment, matches, group_by)
