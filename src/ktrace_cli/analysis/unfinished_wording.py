"""What a summary says of dispatches that were still running."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ktrace_cli.analysis.phase_tables import Style
from ktrace_cli.analysis.report import Block, Heading, Line, Name, Text
from ktrace_cli.analysis.unfinished import OpenStack, UnfinishedDispatch, WavePlace
from ktrace_cli.units import counted

_MOST_PLACES = 3
_FAULTS = {700: "hipErrorIllegalAddress", 719: "hipErrorLaunchFailure"}


def unfinished_blocks(dispatch: UnfinishedDispatch, style: Style) -> Iterator[Block]:
    """Yield where the waves of a dispatch stand that never ended."""
    waves = f"{dispatch.unfinished_waves:,} of {counted(dispatch.waves, 'wave')} unfinished"
    missing = f", {dispatch.missing_waves:,} more not begun" if dispatch.missing_waves else ""
    name = Name(dispatch.kernel)
    yield Heading((name, f" dispatch {dispatch.dispatch}: {waves}{missing}"))
    if dispatch.status:
        error = _FAULTS.get(dispatch.status)
        end = f"faulted ({error})" if error else f"ended with HIP error {dispatch.status}"
        yield Line((f"the kernel {end}: what its waves recorded until then is kept",), indent=2)
    shown = dispatch.open[: style.top] if style.top else dispatch.open
    for stack in shown:
        yield Line(_where(stack, dispatch, style), indent=2)
        yield Line(_places(stack.places), indent=4)
    if more := sum(stack.waves for stack in dispatch.open[len(shown) :]):
        yield Line((f"and {counted(more, 'wave')} elsewhere (`--top 0` shows all)",), indent=2)


def _where(stack: OpenStack, dispatch: UnfinishedDispatch, style: Style) -> Text:
    place: list[str | Name] = []
    for name in stack.names:
        place += [" > " if place else "in ", Name(name)]
    full = f"; the region of {stack.full_waves:,} was full before" if stack.full_waves else ""
    since = _since(stack, style, is_modelled=dispatch.is_modelled)
    where = place or ["with nothing open"]
    return (f"{counted(stack.waves, 'wave')} ", *where, f" ({since}{full})")


def _since(stack: OpenStack, style: Style, *, is_modelled: bool) -> str:
    """Say how long it has been so: the model's clock knows nothing of what came after a record."""
    if not is_modelled:
        state = "open" if stack.names else "without a record"
        return f"{state} for at least {style.time(stack.since_ns)}"
    if stack.names and stack.since_ns:
        return f"open for {style.time(stack.since_ns)} up to its last record, and since"
    return "open since its last record" if stack.names else "since its last record"


def _places(places: Sequence[WavePlace]) -> Text:
    texts: list[str | Name] = []
    for place in places[:_MOST_PLACES]:
        x, y, z = place.workgroup
        texts.append(f"{'; ' if texts else ''}workgroup {x},{y},{z} wave {place.wave}")
        if place.group:
            texts += [" (", Name(place.group), ")"]
    more = len(places) - _MOST_PLACES
    return (*texts, f" and {more:,} more") if more > 0 else tuple(texts)
