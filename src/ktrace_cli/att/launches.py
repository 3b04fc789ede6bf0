"""What rocprofv3 wrote beside a bundle: devices, and what the launch took."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ktrace_cli.att.faults import Faults
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.csv_table import CsvTable, read_table
from ktrace_cli.importers.json_file import parse_json, read_bytes
from ktrace_cli.importers.registers import target_of_version

_BUNDLE: Final = re.compile(r"ui_output_agent_(\d+)_dispatch_(\d+)")
_LARGEST: Final = 256 << 20
_GPU: Final = 2
_NUMBERS: Final = (
    "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "LDS_Block_Size", "Workgroup_Size_X",
    "Workgroup_Size_Y", "Workgroup_Size_Z",
)  # fmt: skip


@dataclass(frozen=True)
class Launch:
    """What one launch of a kernel took, as rocprofv3 tells."""

    kernel: str
    vgprs: int
    accum_vgprs: int
    sgprs: int
    lds_bytes: int
    workgroup_size: int
    is_whole_lds: bool = False
    """Whether dynamic LDS is in it."""


@dataclass
class Beside:
    """Everything that was found beside a bundle."""

    agent: int | None = None
    dispatch: int | None = None
    processors: dict[str, str] = field(default_factory=dict)
    """Processors of GPUs, each with the file that names it."""
    launches: dict[Launch, str] = field(default_factory=dict)
    """Launches with the bundle's dispatch id, each with its file."""
    large: list[Path] = field(default_factory=list)
    """Files that are too large to look into."""


def read_beside(folder: Path, faults: Faults) -> Beside:
    """Read agent tables and kernel traces in the bundle's folder and the one above it."""
    found = _BUNDLE.search(folder.resolve().name)
    beside = Beside(int(found[1]), int(found[2])) if found else Beside()
    paths = list(dict.fromkeys(_near(folder)))
    for path in paths:
        _try_to_read(path, beside, faults)
    return beside


def _try_to_read(path: Path, beside: Beside, faults: Faults) -> None:
    try:
        _read(path, beside)
    except KtraceError:
        faults["unreadable_beside"] += 1


def _near(folder: Path) -> Iterator[Path]:
    above = folder.resolve().parent
    for near in (folder, above):
        for pattern in ("*agent_info.csv", "*kernel_trace.csv", "*results.json"):
            yield from sorted(near.glob(pattern))
    # The default name of rocprofv3's tables is <host>/<pid>_kernel_trace.csv.
    for pattern in ("*/*agent_info.csv", "*/*kernel_trace.csv", "*/*results.json"):
        yield from sorted(p for p in above.glob(pattern) if p.parent != folder.resolve())


def _read(path: Path, beside: Beside) -> None:
    if path.name.endswith("agent_info.csv"):
        _add_agents(read_table(path, Counter()), path, beside)
    elif path.name.endswith("kernel_trace.csv"):
        _add_launches(read_table(path, Counter()), path, beside)
    elif path.stat().st_size > _LARGEST:
        beside.large.append(path)
    else:
        _add_json(parse_json(read_bytes(path), path, Counter()), path, beside)


def _add_agents(table: CsvTable, path: Path, beside: Beside) -> None:
    kinds = table.columns.get("Agent_Type", [])
    names = table.columns.get("Name", [""] * table.count)
    versions = table.columns.get("Gfx_Target_Version", [""] * table.count)
    for kind, name, version in zip(kinds, names, versions, strict=True):
        if kind == "GPU":
            processor = name if name.startswith("gfx") else target_of_version(_number(version))
            beside.processors.setdefault(processor, path.name)


def _number(text: object) -> int:
    value = str(text)
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else 0


def _add_launches(table: CsvTable, path: Path, beside: Beside) -> None:
    if not {"Dispatch_Id", "Kernel_Name"} <= set(table.header):
        return
    columns = [table.columns.get(name, ["0"] * table.count) for name in _NUMBERS]
    rows = zip(table.columns["Dispatch_Id"], table.columns["Kernel_Name"], *columns, strict=True)
    for dispatch, kernel, *numbers in rows:
        if _number(dispatch) == beside.dispatch:
            vgprs, accum, sgprs, lds, x, y, z = map(_number, numbers)
            size = x * max(1, y) * max(1, z)
            beside.launches.setdefault(Launch(kernel, vgprs, accum, sgprs, lds, size), path.name)


def _add_json(document: Any, path: Path, beside: Beside) -> None:
    for tool in _list(_get(document, "rocprofiler-sdk-tool")):
        gpus = [one for one in _list(_get(tool, "agents")) if _get(one, "type") == _GPU]
        ours = [one for one in gpus if _get(_get(one, "id"), "handle") == beside.agent]
        for agent in ours or gpus:
            name = str(_get(agent, "name") or "")
            if name.startswith("gfx"):
                beside.processors.setdefault(name, path.name)
        symbols = {
            _number(_get(one, "kernel_id")): one for one in _list(_get(tool, "kernel_symbols"))
        }
        for record in _list(_get(_get(tool, "buffer_records"), "kernel_dispatch")):
            info = _get(record, "dispatch_info")
            if info and _get(info, "dispatch_id") == beside.dispatch:
                launch = _launch(info, symbols.get(_number(_get(info, "kernel_id"))))
                beside.launches.setdefault(launch, path.name)


def _launch(info: object, symbol: object) -> Launch:
    size = _get(info, "workgroup_size")
    x, y, z = (_number(_get(size, axis)) for axis in "xyz")
    return Launch(
        kernel=str(_get(symbol, "formatted_kernel_name") or _get(symbol, "kernel_name") or ""),
        vgprs=_number(_get(symbol, "arch_vgpr_count")),
        accum_vgprs=_number(_get(symbol, "accum_vgpr_count")),
        sgprs=_number(_get(symbol, "sgpr_count")),
        lds_bytes=_number(_get(info, "group_segment_size")),
        workgroup_size=x * max(1, y) * max(1, z),
        is_whole_lds=True,
    )


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
