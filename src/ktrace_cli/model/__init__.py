"""The timeline as columns: plain data that every stage from the decoder to the exporters shares."""

from ktrace_cli.model.columns import (
    DISPATCH,
    FLOW,
    INSTANT,
    NONE,
    SLICE,
    VALUE,
    WAVE,
    Columns,
    Flags,
    SliceFlag,
    WaveFlag,
)
from ktrace_cli.model.losses import Losses
from ktrace_cli.model.timeline import (
    ClockFit,
    Device,
    Edge,
    Event,
    Kernel,
    Part,
    PartSource,
    Process,
    Timeline,
    join_parts,
)

__all__ = [
    "DISPATCH",
    "FLOW",
    "INSTANT",
    "NONE",
    "SLICE",
    "VALUE",
    "WAVE",
    "ClockFit",
    "Columns",
    "Device",
    "Edge",
    "Event",
    "Flags",
    "Kernel",
    "Losses",
    "Part",
    "PartSource",
    "Process",
    "SliceFlag",
    "Timeline",
    "WaveFlag",
    "join_parts",
]
