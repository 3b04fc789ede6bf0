"""Bundles of thread traces as rocprofv3 writes them, from what waves are said to have executed.

    made = AttBundle()
    load = made.add("buffer_load_dwordx4 v[0:3], v8, s[0:3], 0 offen", "/k.py:12")
    wait = made.add("s_waitcnt vmcnt(0)", "/k.py:13")
    made.run([Step(load, issue=4), Step(wait, stall=96, on=[load])], simd=0)
    made.write(tmp_path / "ui_output_agent_7_dispatch_3")

The columns of code.json are added up here with numpy, apart from the reader's own sums.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
KERNEL_TRACE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size",'
    '"VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y",'
    '"Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)


@dataclass(frozen=True)
class Step:
    """One executed instruction."""

    row: int
    stall: int = 0
    issue: int = 4
    gap: int = 0  # idle cycles before it
    on: Sequence[int] = ()  # what a wait waited for


@dataclass(frozen=True)
class Run:
    steps: Sequence[Step]
    se: int = 0
    cu: int = 1
    simd: int = 0
    slot: int = 0
    begin: int = 1000


@dataclass
class AttBundle:
    """A bundle with one or more kernels."""

    name: str = "kernel"
    base: int = 0x1000
    code_object: int = 4
    rows: list[list[Any]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    header: str = HEADER
    sources: dict[str, str] = field(default_factory=dict)  # text by path
    address: int = 0

    def __post_init__(self) -> None:
        self.begin_kernel(self.name, self.base)

    def begin_kernel(self, name: str, base: int) -> None:
        self.address = base
        self.rows.append([f"; {name}", 0, 0, name, self.code_object, base, 0, 0, 0, 0])

    def add(self, text: str, source: str = "", size: int = 4) -> int:
        """Append an instruction; returns its row."""
        number = len(self.rows)
        self.rows.append([text, 0, number, source, self.code_object, self.address, 0, 0, 0, 0])
        self.address += size
        return number

    def run(self, steps: Sequence[Step], **place: int) -> None:
        """Let a wave execute."""
        self.runs.append(Run(steps, **place))

    def code(self) -> dict[str, Any]:
        """The document of code.json."""
        sums = np.zeros((len(self.rows), 4), np.int64)
        for run in self.runs:
            for step in run.steps:
                np.add.at(sums, step.row, [1, step.stall + step.issue, step.stall, step.gap])
        rows = [[*row[:6], *added] for row, added in zip(self.rows, sums.tolist(), strict=True)]
        return {"code": rows, "version": "3.0.0", "header": self.header}

    def wave(self, run: Run) -> dict[str, Any]:
        """The document of a wave file."""
        time, instructions, waits = run.begin, [], []
        for step in run.steps:
            time += step.gap
            instructions.append([time, 0, step.stall, step.stall + step.issue, step.row])
            time += step.stall + step.issue
            if step.on:
                waits.append([step.row, [[row, 0] for row in step.on]])
        wave = {
            "begin": run.begin, "cu": run.cu, "end": time, "id": 0, "instructions": instructions,
            "simd": run.simd, "slot": run.slot, "timeline": [], "waitcnt": waits,
        }  # fmt: skip
        size = len(instructions)
        duration = time - run.begin
        return {"duration": duration, "name": f"SE{run.se}", "num_insts": size,
                "num_stitched": size, "wave": wave}  # fmt: skip

    def write(self, folder: Path) -> Path:
        """Write all files; returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        _dump(folder / "code.json", self.code())
        names: dict[str, Any] = {}
        occupancy: dict[str, Any] = {"dispatches": {"1": self.name}, "version": "3.0.0"}
        for number, run in enumerate(self.runs):
            document = self.wave(run)
            file = f"se{run.se}_sm{run.simd}_sl{run.slot}_wv{number}.json"
            _dump(folder / file, document)
            begin, end = document["wave"]["begin"], document["wave"]["end"]
            slots = names.setdefault(str(run.se), {}).setdefault(str(run.simd), {})
            slots.setdefault(str(run.slot), {})[str(number)] = [file, begin, end]
            occupancy.setdefault(str(run.se), []).extend(
                [time, run.cu, run.simd, run.slot, is_begin, 1]
                for time, is_begin in ((begin, 1), (end, 0))
            )
        listed = {"wave_filenames": names, "gfxv": "vega", "gfxip": 9, "version": "3.0.0"}
        _dump(folder / "filenames.json", listed)
        _dump(folder / "occupancy.json", occupancy)
        _dump(folder / "snapshots.json", self._snapshots(folder))
        return folder

    def _snapshots(self, folder: Path) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for number, (path, text) in enumerate(self.sources.items()):
            local = f"source_{number}_{Path(path).name}"
            (folder / local).write_text(text)
            *parents, last = ["/", *path.strip("/").split("/")]
            place = tree
            for part in parents:
                place = place.setdefault(part, {})
            place[last] = local
        return tree


def _dump(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, separators=(",", ":")))


@dataclass(frozen=True)
class Launched:
    """A row of kernel_trace.csv."""

    dispatch: int = 3
    kernel: str = "kernel"
    lds: int = 0
    vgprs: int = 32
    accum: int = 0
    sgprs: int = 32
    workgroup: int = 64


def write_kernel_trace(path: Path, *launches: Launched) -> None:
    rows = [
        f'"KERNEL_DISPATCH","Agent 2",1,0,99,{one.dispatch},8,"{one.kernel}",1,100,200,{one.lds},0,'
        f"{one.vgprs},{one.accum},{one.sgprs},{one.workgroup},1,1,4096,1,1\n"
        for one in launches
    ]
    path.write_text(KERNEL_TRACE + "".join(rows))


def write_agents(path: Path, *names: str) -> None:
    rows = [f'{number},"GPU","{name}"\n' for number, name in enumerate(names, 2)]
    path.write_text('"Node_Id","Agent_Type","Name"\n0,"CPU","EPYC"\n' + "".join(rows))
