"""What doctor finds on machines that are folders: GPUs, rights, HIP, tools, packages."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.doctor.findings import Finding, State, as_text, listing
from ktrace_cli.doctor.gpus import gpus, target_name
from ktrace_cli.doctor.hip import hip_libraries
from ktrace_cli.doctor.interposer import in_program, native_libraries, reader
from ktrace_cli.doctor.machine import Machine, Rights
from ktrace_cli.doctor.packages import packages
from ktrace_cli.doctor.tools import tools
from ktrace_cli.launch.program import find_program
from ktrace_cli.timeline.native import load_reader

NO_GPU = "no AMD GPU here: `ktrace run` uses the software device, whose times are modelled"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An empty machine on which everything that is there may be used."""
    rights = Rights(may_use=lambda _: True, group_of=lambda _: "render", members_of=lambda _: ())
    return Machine(
        root=tmp_path, environment={}, rights=rights, version_of=lambda _: "", python_path=()
    )


def put(machine: Machine, path: str, content: str | bytes = b"", mode: int = 0o644) -> Path:
    file = machine.at(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    file.chmod(mode)
    return file


def put_node(machine: Machine, number: int, target: int, simds: int = 1216) -> None:
    properties = f"cpu_cores_count 0\nsimd_count {simds}\ngfx_target_version {target}\n"
    put(machine, f"/sys/class/kfd/kfd/topology/nodes/{number}/properties", properties)


def put_devices(machine: Machine, *names: str) -> None:
    for name in names or ("/dev/kfd", "/dev/dri/renderD128"):
        put(machine, name)


def denying(machine: Machine, *names: str, group: str = "render", member: str = "") -> Machine:
    denied = {machine.at(name) for name in names}
    rights = Rights(
        may_use=lambda path: path not in denied,
        group_of=lambda _: group,
        members_of=lambda _: (member,),
        user="ada",
    )
    return replace(machine, rights=rights)


def with_packages(machine: Machine, versions: Mapping[str, str]) -> Machine:
    return replace(machine, version_of=lambda name: versions.get(name, ""))


@pytest.mark.parametrize(
    ("number", "name"),
    [(90010, "gfx90a"), (90402, "gfx942"), (90500, "gfx950"), (110001, "gfx1101")],
)
def test_a_target_is_named_as_compilers_name_it(number: int, name: str) -> None:
    assert target_name(number) == name


def test_without_a_gpu_the_software_device_is_used(machine: Machine) -> None:
    assert as_text(gpus(machine)) == f"note     GPU: {NO_GPU}\n"


def test_gpus_are_read_from_the_drivers_topology_in_its_order(machine: Machine) -> None:
    put_node(machine, 0, 0, simds=0)
    put_node(machine, 10, 90402)
    put_node(machine, 2, 90402)
    put_devices(machine)

    assert as_text(gpus(machine)) == (
        "ok       GPU: node 2 is a gfx942\n"
        "ok       GPU: node 10 is a gfx942\n"
        "ok       /dev/kfd: this user may read and write it\n"
        "ok       /dev/dri/renderD128: this user may read and write it\n"
    )


def test_a_gpu_of_another_kind_is_noted_beside_one_that_can_be_traced(machine: Machine) -> None:
    put_node(machine, 1, 90500)
    put_node(machine, 2, 110001)
    put_devices(machine)

    found = gpus(machine)

    assert as_text(found[:2]) == (
        "ok       GPU: node 1 is a gfx950\n"
        "note     GPU: node 2 is a gfx1101, for which no kernel can be annotated\n"
    )
    assert [one.state for one in found[2:]] == [State.OK, State.OK]


def test_only_gpus_of_other_kinds_are_a_problem(machine: Machine) -> None:
    put_node(machine, 1, 110001)
    put_devices(machine)

    assert as_text(gpus(machine)[:2]) == (
        "note     GPU: node 1 is a gfx1101, for which no kernel can be annotated\n"
        "problem  GPU: none here is a gfx90a, gfx942 or gfx950, for which kernels can be "
        "annotated\n"
        "           try: `ktrace run --device soft` traces on the software device\n"
    )


def test_a_driver_without_a_gpu_is_a_problem(machine: Machine) -> None:
    put_devices(machine)

    assert as_text(gpus(machine)[:1]) == (
        "problem  GPU: /dev/kfd is there, but no GPU\n"
        "           try: `ktrace run --device soft` traces on the software device\n"
    )


def test_a_node_that_cannot_be_read_is_noted(machine: Machine) -> None:
    put_node(machine, 1, 90402)
    machine.at("/sys/class/kfd/kfd/topology/nodes/2/properties").mkdir(parents=True)
    put_devices(machine)

    assert as_text(gpus(machine)[1:2]) == (
        "note     GPU: node 2 is not shown to this container or job: Is a directory\n"
    )


def test_gpus_without_their_device_tell_of_a_container(machine: Machine) -> None:
    put_node(machine, 1, 90402)

    assert as_text(gpus(machine)) == (
        "ok       GPU: node 1 is a gfx942\n"
        "note     /dev/kfd: it is not there, so that `ktrace run` uses the software device\n"
        "           try: start the container with `--device=/dev/kfd --device=/dev/dri`\n"
    )


def test_a_device_of_another_group_is_a_problem_with_a_remedy(machine: Machine) -> None:
    put_node(machine, 1, 90402)
    put_devices(machine)

    found = gpus(denying(machine, "/dev/kfd"))

    assert as_text(found[1:]) == (
        "problem  /dev/kfd: this user may not use it: it is group render's\n"
        "           try: `sudo usermod -aG render $USER` and log in again; in a container, "
        "`--group-add render`\n"
        "ok       /dev/dri/renderD128: this user may read and write it\n"
    )


def test_a_member_of_the_group_has_to_log_in_again(machine: Machine) -> None:
    put_node(machine, 1, 90402)
    put_devices(machine)

    found = gpus(denying(machine, "/dev/kfd", group="video", member="ada"))

    assert as_text(found[1:2]) == (
        "problem  /dev/kfd: this login may not use it: it began before the user was in group "
        "video\n"
        "           try: log out and in again\n"
    )


def test_a_group_without_a_name_is_added_by_its_number(machine: Machine) -> None:
    put_node(machine, 1, 90402)
    put_devices(machine)

    found = gpus(denying(machine, "/dev/kfd", group="109"))

    assert as_text(found[1:2]) == (
        "problem  /dev/kfd: this user may not use it: it is group 109's, which has no name here\n"
        "           try: start the container with `--group-add 109`\n"
    )


def test_one_gpu_of_several_that_may_not_be_used_is_noted(machine: Machine) -> None:
    put_node(machine, 1, 90402)
    put_devices(machine, "/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129")

    found = gpus(denying(machine, "/dev/dri/renderD129"))

    assert [(one.subject, one.state) for one in found[1:]] == [
        ("/dev/kfd", State.OK),
        ("/dev/dri/renderD128", State.OK),
        ("/dev/dri/renderD129", State.NOTE),
    ]


def test_no_render_node_is_a_problem(machine: Machine) -> None:
    put_node(machine, 1, 90402)
    put_devices(machine, "/dev/kfd")

    assert as_text(gpus(machine)[2:]) == (
        "problem  /dev/dri: it has no renderD*, which HIP needs\n"
        "           try: start the container with `--device=/dev/dri`\n"
    )


def test_hip_is_found_once_under_the_name_that_has_its_version(machine: Machine) -> None:
    real = put(machine, "/opt/rocm-7.0.2/lib/libamdhip64.so.7.0.70002")
    for name in ("libamdhip64.so.7", "libamdhip64.so"):
        (real.parent / name).symlink_to(real.name)
    machine.at("/opt/rocm").symlink_to("rocm-7.0.2")

    (found,) = hip_libraries(machine)

    assert as_text([found]) == (
        "ok       HIP: 7.0.70002, /opt/rocm-7.0.2/lib/libamdhip64.so.7.0.70002\n"
    )
    assert found.facts == {
        "path": "/opt/rocm-7.0.2/lib/libamdhip64.so.7.0.70002",
        "version": "7.0.70002",
    }


@pytest.mark.parametrize("version", ["5.2.21153", "6.0.32830"])
def test_hip_before_its_api_table_is_noted(version: str, machine: Machine) -> None:
    put(machine, f"/usr/lib/x86_64-linux-gnu/libamdhip64.so.{version}")

    assert as_text(hip_libraries(machine)) == (
        f"note     HIP: {version}, /usr/lib/x86_64-linux-gnu/libamdhip64.so.{version}: it has no "
        "API table, so that its calls are seen by the names of its functions\n"
    )


def test_a_copy_without_a_version_in_its_name_is_looked_into(machine: Machine) -> None:
    put(machine, "/venv/torch/lib/libamdhip64.so", b"\x7fELF\0libamdhip64.so.6\0rest")

    assert as_text(hip_libraries(replace(machine, python_path=("/venv",)))) == (
        "ok       HIP: 6, /venv/torch/lib/libamdhip64.so\n"
    )


@pytest.mark.parametrize("content", [b"", b"\x7fELF\0libamdhip64.so.x\0"])
def test_a_copy_that_does_not_tell_its_version_is_noted(content: bytes, machine: Machine) -> None:
    put(machine, "/lib/here/libamdhip64.so", content)
    environment = {"LD_LIBRARY_PATH": ":relative:/lib/here"}

    assert as_text(hip_libraries(replace(machine, environment=environment))) == (
        "note     HIP: /lib/here/libamdhip64.so does not tell its version\n"
    )


def test_more_copies_of_hip_than_can_be_traced_at_once_are_noted(machine: Machine) -> None:
    for number in range(5):
        put(machine, f"/opt/rocm-7.0.{number}/lib/libamdhip64.so.7.0.7000{number}")

    assert as_text(hip_libraries(machine)[5:]) == (
        "note     HIP: 5 copies; of those in one process, 4 are traced\n"
    )


def test_without_hip_a_program_may_bring_its_own(machine: Machine) -> None:
    assert as_text(hip_libraries(machine)) == (
        "note     HIP: no library of it is where programs look; a program that brings its own is "
        "traced\n"
    )


def test_tools_that_are_missing_are_noted_with_what_they_are_for(machine: Machine) -> None:
    assert as_text(tools(machine)) == (
        "note     rocprofv3: not found; `ktrace merge` puts its traces beside recordings\n"
        "           try: install ROCm's rocprofiler-sdk\n"
        "note     rocprof-trace-decoder: its library is not found; `rocprofv3 --att` needs it to "
        "decode instruction traces\n"
        "           try: install rocprof-trace-decoder, or let ROCPROF_ATT_LIBRARY_PATH name its "
        "folder\n"
        "note     disassembler: no llvm-objdump and no amdclang, which show the instructions of a "
        "code object\n"
        "           try: install ROCm's llvm, or llvm-19 and lld-19\n"
    )


def test_tools_are_found_in_rocm_and_in_path(machine: Machine) -> None:
    put(machine, "/opt/rocm/bin/rocprofv3", mode=0o755)
    put(machine, "/opt/rocm/lib/librocprof-trace-decoder.so")
    put(machine, "/usr/bin/llvm-objdump-19", mode=0o755)

    found = tools(replace(machine, environment={"PATH": "/usr/bin"}))

    assert as_text(found) == (
        "ok       rocprofv3: /opt/rocm/bin/rocprofv3\n"
        "ok       rocprof-trace-decoder: /opt/rocm/lib/librocprof-trace-decoder.so\n"
        "ok       disassembler: /usr/bin/llvm-objdump-19\n"
    )


def test_a_tool_that_cannot_be_executed_is_not_found(machine: Machine) -> None:
    put(machine, "/opt/rocm/bin/rocprofv3", mode=0o644)

    assert tools(machine)[0].state is State.NOTE


def test_the_variable_for_the_trace_decoder_comes_first(machine: Machine) -> None:
    put(machine, "/opt/rocm/lib/librocprof-trace-decoder.so")
    put(machine, "/mine/librocprof-trace-decoder.so")

    found = tools(replace(machine, environment={"ROCPROF_ATT_LIBRARY_PATH": "/mine"}))

    assert found[1].text == "/mine/librocprof-trace-decoder.so"


def test_extras_that_are_missing_say_how_to_get_them(machine: Machine) -> None:
    assert as_text(packages(with_packages(machine, {"isal": "1.9.1"}))) == (
        "ok       isal: 1.9.1\n"
        "note     pyarrow: not installed; `ktrace decode -f parquet` needs it\n"
        "           try: `pip install 'ktrace[parquet]'`\n"
        "note     viztracer: not installed; `ktrace view --offline` needs it\n"
        "           try: `pip install 'ktrace[view]'`\n"
    )


def test_frameworks_are_told_with_what_was_tried(machine: Machine) -> None:
    versions = {"flydsl": "0.5.0", "triton": "3.10.0"}

    found = packages(with_packages(machine, versions))

    assert as_text(found[3:]) == (
        "ok       FlyDSL: 0.5.0: launches are seen and counted; its compiler makes no annotated "
        "kernels\n"
        "note     Triton: 3.10.0: launches are seen and counted; its compiler makes no annotated "
        "kernels. ktrace was tried with 3.9\n"
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "hip: Optional[str] = '7.0.51831'",
            "ok       PyTorch: 2.9.0, for HIP 7.0.51831: launches are seen, its own kernels have "
            "no annotations\n",
        ),
        (
            "hip: Optional[str] = None",
            "note     PyTorch: 2.9.0 is not built for HIP: it launches nothing on an AMD GPU\n"
            "           try: install PyTorch's build for ROCm\n",
        ),
    ],
)
def test_pytorch_says_without_being_imported_what_it_is_built_for(
    line: str, expected: str, machine: Machine
) -> None:
    put(machine, "/venv/torch/version.py", f"cuda: Optional[str] = '12.8'\n{line}\n")
    there = replace(with_packages(machine, {"torch": "2.9.0"}), python_path=("/venv",))

    assert as_text(packages(there)[3:]) == expected


def test_a_problem_stands_in_the_way_and_a_note_does_not() -> None:
    note = Finding("HIP", State.NOTE, "none")
    problem = Finding("GPU", State.PROBLEM, "none", "buy one", {"node": 1})

    assert listing([note], "0.1.0")["can_trace"] is True
    assert json.loads(json.dumps(listing([note, problem], "0.1.0"))) == {
        "version": "0.1.0",
        "can_trace": False,
        "findings": [
            {"subject": "HIP", "state": "note", "text": "none", "fix": "", "facts": {}},
            {
                "subject": "GPU",
                "state": "problem",
                "text": "none",
                "fix": "buy one",
                "facts": {"node": 1},
            },
        ],
    }


def test_the_page_shows_what_is_said_of_a_machine_without_a_gpu(machine: Machine) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "cli-doctor.md"
    put(machine, "/usr/bin/llvm-objdump", mode=0o755)
    there = replace(with_packages(machine, {"isal": "1.9.1"}), environment={"PATH": "/usr/bin"})

    text = as_text([*hip_libraries(there), *gpus(there), *tools(there), *packages(there)])

    assert "".join(f"    {line}\n" for line in text.splitlines()) in page.read_text()


@given(content=st.binary(max_size=200), name=st.from_regex(r"[0-9]+[^/\0]?", fullmatch=True))
@settings(max_examples=200)
def test_no_topology_breaks_the_examination(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(root=Path(folder), environment={}, python_path=())
        put(machine, f"/sys/class/kfd/kfd/topology/nodes/{name[:200]}/properties", content)

        assert {one.state for one in gpus(machine)} <= {State.OK, State.NOTE}


@given(
    number=st.text("0123456789.", max_size=20),
    content=st.one_of(st.binary(max_size=50), st.just(b"\0libamdhip64.so.6\0")),
)
def test_no_library_breaks_the_examination(number: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(root=Path(folder), environment={}, python_path=())
        put(machine, f"/usr/lib64/libamdhip64.so.{number}", content)

        (found,) = hip_libraries(machine)

        assert found.state in (State.OK, State.NOTE)
        assert found.facts["path"] == f"/usr/lib64/libamdhip64.so.{number}"


def test_this_machine_is_looked_at_by_default() -> None:
    here = Machine()

    assert here.shown(here.at("/dev/kfd")) == "/dev/kfd"
    assert here.version_of("numpy") != ""
    assert here.version_of("no-such-package") == ""
    assert here.which("sh") is not None


def test_a_reader_that_is_missing_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KTRACE_NATIVE_DIR", raising=False)
    monkeypatch.setattr("ktrace_cli.libraries.files", lambda _: tmp_path)

    load_reader.cache_clear()  # another test of this process may have loaded it
    found = reader()

    assert (found.subject, found.state) == ("reader", State.PROBLEM)
    assert found.text == (
        "this installation of ktrace has no libktrace_reader.so: its native part was not built"
    )


def test_an_installation_without_its_native_part_is_examined_nevertheless(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KTRACE_NATIVE_DIR", raising=False)
    monkeypatch.setattr("ktrace_cli.libraries.files", lambda _: tmp_path)

    load_reader.cache_clear()
    missing, reading = native_libraries()
    (program,) = in_program(find_program([sys.executable]))

    assert (missing.subject, missing.state) == ("interposer", State.PROBLEM)
    assert missing.text.startswith("this installation of ktrace has no libktrace_preload.so: ")
    assert (reading.subject, reading.state) == ("reader", State.PROBLEM)
    assert (program.subject, program.state) == ("program", State.NOTE)
    assert program.text.endswith("whether the interposer can be loaded is not known: there is none")
