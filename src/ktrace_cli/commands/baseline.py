"""`ktrace baseline`: keep of runs what later ones are compared with."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.analysis.compare.baseline import check_runs, find_noise
from ktrace_cli.analysis.compare.baseline_file import write_baseline
from ktrace_cli.analysis.compare.profile import RunProfile
from ktrace_cli.analysis.compare.sides import only_kernels
from ktrace_cli.commands.comparing import KernelOption, UnitOption, list_files, load_runs, unit_of
from ktrace_cli.commands.sources import NamesOption, ShapeOption, ToolOption, read_source
from ktrace_cli.export.output import STDOUT, check_place, compressed, open_output, refuse_inputs
from ktrace_cli.units import counted

_FEW_RUNS = 5
RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Recordings of the same program on the same device, or folders of them.",
        show_default=False,
        readable=False,
    ),
]
OutputOption = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The baseline to write; .gz at its end compresses; - is stdout.",
        show_default=False,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")]
LossOption = Annotated[bool, typer.Option("--allow-loss", help="Keep runs that lack something.")]


def baseline(
    runs: RunsArgument,
    output: OutputOption,
    kernel: KernelOption = None,
    unit: UnitOption = None,
    tool: ToolOption = None,
    names: NamesOption = None,
    shape: ShapeOption = None,
    allow_loss: LossOption = False,
    force: ForceOption = False,
) -> None:
    """Keep what RUNS measured, to compare later runs with.

    Five runs or more tell how much runs differ although nothing has changed.
    """
    files = list_files(runs)
    refuse_inputs(output, files, "input")
    check_place(output, may_replace=force)
    loaded = load_runs(files, unit or unit_of(files), read_source(tool, names, shape))
    loaded = only_kernels(loaded, kernel) if kernel else loaded
    found = [run for profiles in loaded for run in profiles]
    check_runs(found, allow_loss=allow_loss)
    packed = compressed if output.suffix.lower() == ".gz" else nullcontext
    with open_output(output, may_replace=force) as out, packed(out) as stream:
        # Where a run lay when the baseline was made means nothing to who reads it.
        named = [replace(run, name=Path(run.name).name) for run in found]
        stream.write(write_baseline(named, _release()))
    _tell(found, output)


def _tell(runs: list[RunProfile], output: Path) -> None:
    kernels = len({kernel.name for run in runs for kernel in run.kernels})
    noise = find_noise(runs)
    where = "" if output == STDOUT else f" in {output}; compare with `ktrace diff {output} NEW`"
    console.say(f"kept {counted(len(runs), 'run')} of {counted(kernels, 'kernel')}{where}")
    if noise:
        worst = noise[0]
        console.say(
            f"one more run may differ by {100 * worst.part:.1f} % although nothing has changed"
            f" (`{worst.phase}` of `{worst.kernel}`), half of the phases by"
            f" {100 * noise[len(noise) // 2].part:.1f} % or less"
        )
    if all(run.is_modelled for run in runs):
        if len(runs) == 1:
            console.say(
                "times are modelled (software device): runs of the same code do not differ, so"
                " that one is enough"
            )
    elif len(runs) < _FEW_RUNS:
        console.say(
            f"{_FEW_RUNS} runs or more tell better how much runs differ although nothing has"
            " changed"
        )


def _release() -> str:
    try:
        return version("ktrace")
    except PackageNotFoundError:  # run from its sources
        return "unknown"
