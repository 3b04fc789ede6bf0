"""What cannot be traced runs as it would have run, and is counted with a reason."""

import errno
import struct
import sys
from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import LossReason
from support.bundles import compress_bundle, hip_entry, make_bundle
from support.preloaded import SAXPY, Outcome, run_script

RIGHT = "print('right' if host.is_right() else 'wrong', flush=True)\n"
NOTE = struct.pack("<III", 7, 40, 1) + b"KTRACE\0\0"  # the header of a KERNEL note
FIELDS = {"abi_version": 0, "flags": 4, "arg_index": 24, "kernarg_offset": 28, "record_format": 32}


def patched(folder: Path, **fields: int) -> str:
    """Write saxpy with other fields in its KERNEL note; return the script's line that opens it."""
    image = bytearray(SAXPY.read_bytes())
    assert image.count(NOTE) == 1
    for name, value in fields.items():
        at = image.index(NOTE) + len(NOTE) + FIELDS[name]
        image[at : at + 4] = struct.pack("<I", value)
    path = folder / "patched.co"
    path.write_bytes(image)
    return f"host = Host(open_hip(), Path({str(path)!r}))\n"


def assert_lost(outcome: Outcome, reason: LossReason, words: str, count: int = 1) -> None:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert outcome.status.losses == {reason: count}
    assert words in outcome.status.message


HOST = f"host = Host(open_hip(), Path({str(SAXPY)!r}))\n"


@pytest.mark.parametrize(
    ("fields", "reason", "words"),
    [
        (
            {"abi_version": 2},
            LossReason.RECORD_FORMAT,
            "kernel `saxpy`: its annotations have ABI version 2; this ktrace knows 1",
        ),
        (
            {"record_format": 9},
            LossReason.RECORD_FORMAT,
            "kernel `saxpy`: its record format is 9; this ktrace knows 1",
        ),
        (
            {"arg_index": 0},
            LossReason.ARGUMENT,
            "kernel `saxpy`: its trace argument has 4 bytes and is `by_value`; "
            "an explicit argument of 8 bytes, by_value or global_buffer, is needed",
        ),
        (
            {"arg_index": 9},
            LossReason.ARGUMENT,
            "kernel `saxpy`: its trace argument is number 9 of 5",
        ),
        (
            {"kernarg_offset": 16},
            LossReason.ARGUMENT,
            "kernel `saxpy`: its note puts the trace argument at offset 16, its metadata at 24",
        ),
        (
            {"flags": 0, "arg_index": 3},
            LossReason.ARGUMENT,
            "kernel `saxpy`: its host does not pass the trace argument, which is not the last one",
        ),
    ],
    ids=lambda value: (
        "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else ""
    ),
)
def test_a_kernel_with_odd_annotations_runs_untraced(
    fields: dict[str, int], reason: LossReason, words: str, tmp_path: Path
) -> None:
    outcome = run_script(f"{patched(tmp_path, **fields)}host.launch()\n{RIGHT}", tmp_path)

    assert_lost(outcome, reason, words)
    assert not outcome.path.exists()


@pytest.mark.parametrize("extra", [False, True], ids=["params", "extra"])
def test_a_host_that_does_not_pass_the_argument_is_traced_all_the_same(
    extra: bool, tmp_path: Path
) -> None:
    # The arrays end where the kernel's own arguments end.
    outcome = run_script(
        f"{patched(tmp_path, flags=0)}"
        "short = (ctypes.c_void_p * 4)(*host.places()[:4])\n"
        f"lists = (None, host.extra(24)) if {extra} else (short, None)\n"
        "launch = host.hip.hipModuleLaunchKernel\n"
        "assert launch(host.function, *GRID, *BLOCK, 0, None, *lists) == 0\n"
        f"host.launches = 1\n{RIGHT}",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert [len(dispatch.headers) for dispatch in outcome.recording.dispatches] == [16]


def test_a_launch_that_hip_refuses_is_counted_and_the_next_one_is_traced(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}bad = host.hip.hipModuleLaunchKernel(\n"
        "    host.function, *GRID, 4096, 1, 1, 0, None, host.places(), None)\n"
        f"assert bad != 0\nassert host.launch() == 0\n{RIGHT}",
        tmp_path,
    )

    assert_lost(outcome, LossReason.LAUNCH_FAILED, "kernel `saxpy`: HIP refused the launch")
    assert len(outcome.recording.dispatches) == 1
    (loss,) = outcome.recording.losses
    assert (loss.reason, loss.count, loss.kernel) == (LossReason.LAUNCH_FAILED, 1, "saxpy")


def test_a_short_argument_buffer_is_hips_to_judge(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}print(host.hip.hipModuleLaunchKernel(\n"
        "    host.function, *GRID, *BLOCK, 0, None, None, host.extra(12)))\n",
        tmp_path,
    )

    assert outcome.returncode == 0
    assert outcome.status.losses == {LossReason.ARGUMENT: 1}
    assert (
        "its argument buffer has 12 bytes and ends before its arguments" in outcome.status.message
    )


def test_a_message_names_the_kernel_as_people_know_it(tmp_path: Path) -> None:
    # Refused for its size before anything of its arguments is read.
    gemm = SAXPY.parents[1] / "gemm" / "gemm.gfx942.co"
    name = b"_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE"
    outcome = run_script(
        f"{HOST}image = Path({str(gemm)!r}).read_bytes()\n"
        "assert host.hip.hipModuleLoadData(ctypes.byref(host.module), image) == 0\n"
        "assert host.hip.hipModuleGetFunction(\n"
        f"    ctypes.byref(host.function), host.module, {name!r}) == 0\n"
        "assert host.hip.hipModuleLaunchKernel(host.function, *GRID, 4096, 1, 1, 0, None,\n"
        "    (ctypes.c_void_p * 6)(*[ctypes.addressof(host.arguments)] * 6), None) != 0\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.status.losses == {LossReason.LAUNCH_FAILED: 1}
    assert outcome.status.message == (
        "kernel `gemm<64, 32>(_Float16 const*, _Float16 const*, float*, int, int)`: "
        "HIP refused the launch"
    )


def test_memory_that_is_too_small_for_one_wave_is_said(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.launch()\n{RIGHT}",
        tmp_path,
        environment={"KTRACE_WORDS": "8192", "KTRACE_MEMORY": "65536"},
    )

    assert_lost(
        outcome,
        LossReason.POOL_EXHAUSTED,
        "kernel `saxpy`: 1 wave of 65536 bytes did not fit `--memory 65536`",
    )


def test_damaged_code_objects_are_counted_and_others_are_traced(tmp_path: Path) -> None:
    # The first entry is not for this device, so that HIP takes the bundle.
    bundle = make_bundle([hip_entry("gfx90a", b"nothing"), hip_entry("gfx942", SAXPY.read_bytes())])
    path = tmp_path / "bundle.co"
    path.write_bytes(bundle)

    outcome = run_script(
        f"host = Host(open_hip(), Path({str(path)!r}))\nhost.launch()\n{RIGHT}", tmp_path
    )

    assert_lost(outcome, LossReason.CODE_OBJECT, "a code object in memory: it is no 64-bit ELF")
    assert len(outcome.recording.dispatches) == 1


def test_a_compressed_bundle_is_read(tmp_path: Path) -> None:
    bundle = make_bundle([hip_entry("gfx942", SAXPY.read_bytes())])
    path = tmp_path / "bundle.co"
    path.write_bytes(compress_bundle(bundle, version=2))

    outcome = run_script(
        f"host = Host(open_hip(), Path({str(path)!r}))\nhost.launch()\n{RIGHT}", tmp_path
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert len(outcome.recording.dispatches) == 1
    assert outcome.recording.code_objects[0].image == SAXPY.read_bytes()


def test_an_output_that_cannot_be_made_leaves_the_program_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    missing = tmp_path / "file" / "run.bin"

    outcome = run_script(
        f"{HOST}for _ in range(3): host.launch()\n{RIGHT}",
        tmp_path,
        environment={"KTRACE_OUTPUT": str(missing)},
    )

    assert_lost(
        outcome, LossReason.WRITE_FAILED, f"cannot create {missing}: Not a directory", count=3
    )
    assert outcome.status.output_failed


def folder_without_room(tmp_path: Path) -> tuple[Path, str]:
    """A folder in which none can be made, and the reason that the system gives."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for folder in (closed, Path("/sys")):  # root may write to the first one
        probe = folder / "ktrace_probe"
        try:
            probe.mkdir()
        except OSError as error:
            if error.errno != errno.ENOENT:
                return folder, str(error.strerror)
        else:
            probe.rmdir()
    pytest.skip("this user may make a folder anywhere")


def test_why_no_output_folder_could_be_made_is_said(tmp_path: Path) -> None:
    folder, reason = folder_without_room(tmp_path)

    outcome = run_script(
        f"{HOST}host.launch()\n{RIGHT}",
        tmp_path,
        environment={"KTRACE_OUTPUT": "", "KTRACE_OUTPUT_DIR": f"{folder}/ktrace_out/of/today"},
    )

    words = f"cannot create the folder {folder}/ktrace_out: {reason}"
    assert_lost(outcome, LossReason.WRITE_FAILED, words)
    assert outcome.status.output_failed


def test_a_file_in_place_of_the_output_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "ktrace_out").write_text("precious")

    outcome = run_script(
        f"{HOST}host.launch()\n{RIGHT}", tmp_path, environment={"KTRACE_OUTPUT": ""}
    )

    words = f"cannot create the folder {tmp_path}/ktrace_out: Not a directory"
    assert_lost(outcome, LossReason.WRITE_FAILED, words)
    assert (tmp_path / "ktrace_out").read_text() == "precious"


def test_a_file_that_may_not_grow_ends_with_a_whole_chunk(tmp_path: Path) -> None:
    outcome = run_script(
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))\n"
        f"{HOST}for _ in range(9): host.launch()\n{RIGHT}",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    recording = outcome.recording
    assert recording.damage.torn_bytes == 0
    assert 0 < len(recording.dispatches) < 9
    lost = outcome.status.losses[LossReason.WRITE_FAILED]
    assert len(recording.dispatches) + lost == 9
    assert "File too large" in outcome.status.message


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("KTRACE_MEMORY", "1G", "a number of bytes, 65536 or more"),
        ("KTRACE_WORDS", "100", "a power of two from 32 to 1048576"),
        ("KTRACE_BLOCKS", "4:2", "up to three of"),
        ("KTRACE_WAVES", "0-32", "numbers and ranges from 0 to 31"),
        ("KTRACE_XCC", "a", "numbers and ranges from 0 to 31"),
        ("KTRACE_KERNELS", "/(/", "shell patterns or /regular expressions/"),
    ],
)
def test_a_value_that_is_not_understood_is_said_once_and_nothing_is_traced(
    name: str, value: str, expected: str, tmp_path: Path
) -> None:
    outcome = run_script(f"{HOST}host.launch()\n{RIGHT}", tmp_path, environment={name: value})

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"ktrace: {name} is `{value}`, not {expected}")
    assert line.endswith(": the program runs untraced")
    status = outcome.status
    assert status.is_refused
    assert status.message == line.removeprefix("ktrace: ")
    assert status.program == str(Path(sys.executable).resolve())
    assert (status.launches, status.annotated_launches, status.output) == (0, 0, None)


def test_a_preload_of_another_version_refuses(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.launch()\n{RIGHT}", tmp_path, environment={"KTRACE_VERSION": "99.1"}
    )

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    assert outcome.stderr.startswith("ktrace: libktrace_preload.so is version ")
    assert outcome.stderr.endswith(", `ktrace` is 99.1: the program runs untraced\n")
    assert outcome.status.is_refused
    assert outcome.status.message == outcome.stderr.removeprefix("ktrace: ").rstrip()
