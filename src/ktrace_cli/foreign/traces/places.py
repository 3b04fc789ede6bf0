"""Names of processes, threads and tracks to the place of a wave, as tracers write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ktrace_cli.foreign.traces.spans import Place

PROTON = re.compile(r"(?P<kernel>.+) Core(?P<sm>\d{1,5}) CTA(?P<x>\d{1,9})")
PROTON_LINE = re.compile(r"warp (\d{1,9}) \(line \d+\)")
_KERNEL = re.compile(
    r"(?:.*?)kernel: ?(?P<kernel>.+?)(?: \[cluster[^\]]*\])?(?:, gridId: ?(?P<launch>\d{1,18}))?"
)
_BLOCK = re.compile(
    r"(?i)\b(?:CTA|WG|block|blk)[ _(]{0,2}(\d{1,9})(?:, ?(\d{1,9}), ?(\d{1,9}))?(?![\d:])"
)
_GROUP = re.compile(r"(?i)(?:_g|\bgroup[ _]?)(\d{1,4})$")
_WAVE = re.compile(r"(?i)\b(?:warp|wave)[ _(]{0,2}(\d{1,4})\b(?!,)")
_SM = re.compile(r"(?i)\bV?SM[ _(:]{0,2}(\d{1,4})(?!\d)")


def place_of(path: Sequence[str]) -> Place | None:
    """Return the place that names tell, from the outermost on; None if they tell no wave.

    A later name counts more: that of a thread says more of a wave than that of its process.
    """
    text = " / ".join(path)
    kernel = next((m for name in path if (m := _KERNEL.fullmatch(name))), None)
    blocks, waves, sms = (list(p.finditer(text)) for p in (_BLOCK, _WAVE, _SM))
    group = next((m for name in reversed(path) if (m := _GROUP.search(name))), None)
    wave = waves[-1] if waves else group
    if wave is None and not blocks:
        return None
    x, y, z = (int(n or 0) for n in blocks[-1].groups()) if blocks else (0, 0, 0)
    return Place(
        kernel=kernel["kernel"] if kernel else "",
        launch=int(kernel["launch"] or 0) if kernel else 0,
        block=(x, y, z),
        wave=int(wave[1]) if wave else 0,
        sm=int(sms[-1][1]) if sms else 0,
        role=f"group {int(group[1])}" if group and not waves else "",
    )
