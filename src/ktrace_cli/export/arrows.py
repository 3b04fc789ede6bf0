"""Flows as ends of arrows, each with the slice where it is told."""

from __future__ import annotations

import numpy as np

from ktrace_cli.export.encoder import Arrows
from ktrace_cli.export.encoder_layout import ARROW_END, BEGINS, ENDS_AT_BEGIN, ENDS_AT_END
from ktrace_cli.model import Part


def find_arrow_ends(part: Part, first: int) -> Arrows | None:
    """Return both ends of all arrows, which are numbered from `first`; None if there are none.

    An arrow goes to where a slice begins or, if that is before the arrow, to where it ends: a
    viewer draws arrows from the earlier event to the later one.
    """
    count = len(part.flows)
    if not count:
        return None
    source, destination = part.flows["source"], part.flows["destination"]
    begin = part.slices["begin_ns"]
    # What begins at one time is written in order of the rows.
    is_later = (begin[destination] > begin[source]) | (
        (begin[destination] == begin[source]) & (destination > source)
    )
    ends = np.empty(2 * count, ARROW_END)
    ends["id"] = np.tile(np.arange(first, first + count), 2)
    ends["end"][:count] = BEGINS
    ends["end"][count:] = np.where(is_later, ENDS_AT_BEGIN, ENDS_AT_END)
    slices = np.concatenate([source, destination])
    order = np.argsort(slices, kind="stable")
    places = np.searchsorted(slices[order], np.arange(len(part.slices) + 1))
    return Arrows(places.astype(np.uint64), ends[order])
