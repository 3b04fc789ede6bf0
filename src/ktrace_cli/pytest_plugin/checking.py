"""Whether a test's call met what its markers demand; what could not be measured is not met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ktrace_cli.launch.losses import loss_lines
from ktrace_cli.launch.status import ProcessStatus
from ktrace_cli.pytest_plugin.launches import Launches
from ktrace_cli.pytest_plugin.measuring import measure, unmeasured, unmet
from ktrace_cli.pytest_plugin.requirements import CYCLES, Requirement
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.trace_file.layout import LossReason
from ktrace_cli.units import counted

COPY_LIMIT_S = 10.0
_NO_LOSS_OF_TIME = {
    *("unknown_edges", "unmatched_edges", "uncertain_edges", "backward_arrows"),
    "out_of_window",
}
_MODELLED = " (times are modelled: software device)"


def why_not_met(
    wanted: Sequence[Requirement],
    before: ProcessStatus | None,
    after: ProcessStatus | None,
    launches: Launches | None,
) -> str:
    """Return in words why a call's launches do not meet all that is wanted; "" if they do.

    Args:
        wanted: of each marker.
        before: what was counted when the call began; None if HIP had not been called.
        after: the same behind its end, when everything was copied back or time was over.
        launches: what the process's recording has; None if there is none.
    """
    if after is None:
        return _not_checked(["this process called no HIP; " + _OTHERS])
    problems = _not_whole(before, after)
    window = (
        launches.between(before.launches if before else 0, after.launches) if launches else None
    )
    if window is None:
        return _not_checked([_why_nothing(before, after), *problems])
    timeline = window.timeline
    sentences = zip(window.losses.counted(), window.losses.sentences(), strict=True)
    problems += [text for name, text in sentences if name not in _NO_LOSS_OF_TIME]
    lines = []
    for unit in dict.fromkeys(each.unit for each in wanted):
        shown = in_cycles(timeline) if unit == CYCLES else timeline
        found = measure(shown)
        for requirement in wanted:
            if requirement.unit == unit:
                lines += unmet(shown, found, requirement)
                problems += unmeasured(shown, found, requirement)
    if not lines:
        return _not_checked(problems) if problems else ""
    modelled = _MODELLED if any(device.is_software for device in timeline.devices) else ""
    return _listed(f"limits are not met{modelled}", [*lines, *problems])


_OTHERS = "programs that it starts have recordings of their own, which are not looked at"


def _not_whole(before: ProcessStatus | None, after: ProcessStatus) -> list[str]:
    """Say what is missing of the launches, in words."""
    lines = []
    if missing := after.open_launches:
        lines.append(
            f"{counted(missing, 'launch was', 'launches were')} not finished {COPY_LIMIT_S:g} s"
            " after the call"
        )
    earlier = before.losses if before else {}
    losses: dict[LossReason, int] = {
        reason: more for reason, n in after.losses.items() if (more := n - earlier.get(reason, 0))
    }
    return lines + loss_lines([replace(after, losses=losses)])


def _why_nothing(before: ProcessStatus | None, after: ProcessStatus) -> str:
    def more(name: str) -> int:
        return int(getattr(after, name)) - (int(getattr(before, name)) if before else 0)

    if after.is_refused:
        return f"ktrace's settings were not understood: {after.message}"
    launches = counted(more("launches"), "launch", "launches")
    seen = f"no annotated kernel was recorded: {launches}"
    if left_out := more("unselected_launches") + more("skipped_launches"):
        return f"{seen}, of which the options of `ktrace run` left out {left_out:,}"
    if annotated := more("annotated_launches"):
        return f"{seen}, {annotated:,} of annotated kernels"
    if unseen := more("unseen_launches"):
        return f"{seen}, {unseen:,} of kernels whose code object ktrace did not see"
    return f"{seen} in this process; {_OTHERS}"


def _not_checked(problems: Sequence[str]) -> str:
    return _listed("limits could not be checked", problems)


def _listed(what: str, lines: Sequence[str]) -> str:
    return "\n".join([f"ktrace: {what}", *(f"  {line}" for line in lines)])
