"""Parts of the interposer on files and numbers, under the address and undefined sanitizers."""

import hashlib
import os
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.launch import environment as launcher_environment
from ktrace_cli.trace_file import layout
from support.bundles import compress_bundle, hip_entry, make_bundle
from support.preloaded import ROOT, SAXPY, SAXPY_UNTRACED

INTERPOSER = ROOT / "preload" / "interposer"
SOURCES = (
    "annotations",
    "arguments",
    "bundle",
    "bus_address",
    "clocks",
    "code_object",
    "code_object_tap",
    "config",
    "content_hash",
    "config_values",
    "copy_back",
    "crc32",
    "decompress",
    "device",
    "elf_image",
    "fat_binary",
    "hip_library",
    "image_memory",
    "image_store",
    "kernel_code",
    "kernel_name",
    "kfd",
    "loader",
    "losses",
    "metadata",
    "msgpack",
    "name_patterns",
    "notes",
    "own_thread",
    "placeholders",
    "program",
    "registry",
    "registry_fat_binaries",
    "selection",
    "sha256",
    "sizing",
    "status",
    "target",
)
GEMM = ROOT / "samples" / "gemm" / "gemm.gfx950.co"
Probe = Callable[..., str]


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """Run the probe with arguments; return what it prints. Any report of a sanitizer fails."""
    compiler = shutil.which("clang++-19") or shutil.which("clang++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler")
    path = tmp_path_factory.mktemp("probe") / "probe"
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O0",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            '-DKTRACE_PRELOAD_VERSION="0"',
            f"-I{INTERPOSER}",
            f"-I{ROOT / 'preload' / 'include'}",
            *(ROOT / "tests" / "native").glob("interposer_probe*.cpp"),
            *(INTERPOSER / f"{name}.cpp" for name in SOURCES),
            "-ldl",
            "-lpthread",
            "-o",
            path,
        ],
        check=True,
    )

    def run(*arguments: object, **environment: str) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("KTRACE_")}
        done = subprocess.run(
            [path, *map(str, arguments)],
            env={**own, "KTRACE_SESSION_DIR": "/tmp", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def write(folder: Path, data: bytes) -> Path:
    path = folder / "data"
    path.write_bytes(data)
    return path


def rows(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.splitlines()]


SAXPY_ROW = ["kernel", "saxpy", "saxpy.kd", "4", "24", "0", ""]


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_sums_are_those_of_zlib_and_hashlib(size: int, probe: Probe, tmp_path: Path) -> None:
    data = bytes(i * 7 % 251 for i in range(size))

    assert probe("sums", write(tmp_path, data)).split() == [
        f"{zlib.crc32(data):08x}",
        hashlib.sha256(data).hexdigest(),
    ]


def test_an_annotated_kernel_is_found_with_its_argument(probe: Probe) -> None:
    assert rows(probe("code", SAXPY)) == [
        ["container", ""],
        ["object", "", "gfx942", ""],
        SAXPY_ROW,
    ]


def test_a_code_object_without_annotations_has_no_annotated_kernel(probe: Probe) -> None:
    assert rows(probe("code", SAXPY_UNTRACED)) == [["container", ""], ["object", "", "gfx942", ""]]


def test_an_annotated_kernel_without_readable_metadata_is_known_and_refused(
    probe: Probe, tmp_path: Path
) -> None:
    image = SAXPY.read_bytes()
    key = b"amdhsa.kernels"
    assert image.count(key) == 1
    at = image.index(key) + len(key)
    damaged = image[:at] + b"\xc1" + image[at + 1 :]  # what MessagePack never uses

    assert rows(probe("code", write(tmp_path, damaged)))[1:] == [
        ["object", "", "gfx942", "its AMDGPU metadata is damaged"],
        [*SAXPY_ROW[:3], "0", "0", "5", "no metadata lists it, so its arguments are not known"],
    ]


def test_an_annotation_outside_of_every_kernel_is_told(probe: Probe, tmp_path: Path) -> None:
    image = bytearray(SAXPY.read_bytes())
    header = struct.pack("<III", 7, 40, 1) + b"KTRACE\0\0"
    assert image.count(header) == 1
    at = image.index(header) + len(header) + layout.KERNEL_NOTE.fields["pc"][1]
    image[at : at + 8] = bytes(8)

    assert rows(probe("code", write(tmp_path, bytes(image))))[1:] == [
        ["object", "", "gfx942", "annotations that lie in no kernel's code: 1 of 1"]
    ]


@pytest.mark.parametrize("image", [SAXPY, GEMM], ids=["saxpy", "gemm"])
def test_a_code_object_cut_at_any_byte_is_read_safely(image: Path, probe: Probe) -> None:
    assert probe("truncate", image) == f"read {image.stat().st_size + 1}\n"


@pytest.mark.parametrize("image", [SAXPY, GEMM], ids=["saxpy", "gemm"])
def test_a_code_object_with_flipped_bytes_is_read_safely(image: Path, probe: Probe) -> None:
    assert probe("flip", image, 1, 3000) == "read 3000\n"


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_a_damaged_bundle_is_read_safely(compressed: bool, probe: Probe, tmp_path: Path) -> None:
    bundle = make_bundle([hip_entry("gfx942", SAXPY.read_bytes())], align=16)
    path = write(tmp_path, compress_bundle(bundle, version=2) if compressed else bundle)

    assert probe("truncate", path) == f"read {path.stat().st_size + 1}\n"
    assert probe("flip", path, 2, 3000) == "read 3000\n"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_entry_of_every_bundle_is_found(version: int, probe: Probe, tmp_path: Path) -> None:
    first = make_bundle(
        [
            ("host-x86_64-unknown-linux-gnu-", b""),
            hip_entry("gfx942:sramecc+:xnack-", SAXPY.read_bytes()),
            hip_entry("gfx942:sramecc-:xnack-", SAXPY_UNTRACED.read_bytes()),
        ]
    )
    second = compress_bundle(make_bundle([hip_entry("gfx950", GEMM.read_bytes())]), version=version)

    found = rows(probe("code", write(tmp_path, first + bytes(48) + second)))

    assert [row[1] for row in found if row[0] == "object"] == [
        "gfx942:sramecc+:xnack-",
        "gfx942:sramecc-:xnack-",
        "gfx950",
    ]
    assert [row[1][:10] for row in found if row[0] == "kernel"] == ["saxpy", "_Z4gemmILi"]
    assert found[0] == ["container", ""]


def test_what_is_wrong_with_a_container_is_said(probe: Probe, tmp_path: Path) -> None:
    bundle = make_bundle([hip_entry("gfx942", SAXPY.read_bytes())])
    compressed = bytearray(compress_bundle(bundle, version=3))
    compressed[4] = 9
    huge = bytearray(compress_bundle(bundle, version=3))
    huge[16:24] = (1 << 31).to_bytes(8, "little")
    many = bundle[:24] + (1 << 40).to_bytes(8, "little") + bundle[32:]

    def trouble(data: bytes) -> str:
        return rows(probe("code", write(tmp_path, data)))[0][1]

    assert trouble(bytes(compressed)) == "a compressed bundle of version 9"
    assert trouble(bytes(huge)) == "a bundle's zlib stream is damaged"
    assert trouble(many) == "a bundle of 1099511627776 entries"
    assert trouble(bundle[:-4096]) == "entry 0 of a bundle leaves the file"
    assert trouble(bundle + b"and more") == "8 bytes after a bundle are no bundle"


@pytest.mark.parametrize(
    ("device", "builds", "expected"),
    [
        (
            "gfx942:sramecc+:xnack-",
            ["gfx942:sramecc-=plain", "gfx942:sramecc+=annotated"],
            "annotated",
        ),
        ("gfx942:sramecc+:xnack-", ["gfx950=annotated", "gfx942=plain"], "plain"),
        ("gfx942:sramecc+:xnack-", ["gfx9-4-generic=plain", "gfx942=annotated"], "annotated"),
        ("gfx950:sramecc+:xnack-", ["gfx9-4-generic=annotated", "gfx942=plain"], "annotated"),
        ("gfx942:sramecc+:xnack-", ["gfx942:xnack+=annotated"], "plain"),
        ("gfx90a:sramecc+:xnack-", ["gfx9-4-generic=annotated"], "plain"),
    ],
)
def test_the_build_that_hip_picks_is_picked(
    device: str, builds: list[str], expected: str, probe: Probe
) -> None:
    assert probe("pick", device, *builds) == f"{expected}\n"


@pytest.mark.parametrize(
    ("shape", "attempted", "environment", "expected"),
    [
        ("4 1 1 256 1 1", 0, {}, "mode 0 words 8192 slots 16 expected 16"),
        ("1000 1 1 256 1 1", 0, {}, "mode 0 words 2048 slots 4000 expected 4000"),
        ("1000 1 1 65 1 1", 0, {}, "mode 0 words 4096 slots 2000 expected 2000"),
        ("100000 1 1 256 1 1", 0, {}, "mode 0 words 64 slots 400000 expected 400000"),
        ("4 1 1 256 1 1", 9000, {}, "mode 0 words 16384 slots 16 expected 16"),
        ("4 1 1 256 1 1", 9000, {"KTRACE_WORDS": "32"}, "mode 0 words 32 slots 16 expected 16"),
        ("4 1 1 256 1 1", 0, {"KTRACE_MEMORY": "65536"}, "mode 0 words 128 slots 16 expected 16"),
        ("100 1 1 256 1 1", 0, {"KTRACE_MEMORY": "65536"}, "mode 1 words 64 slots 63 expected 400"),
        (
            "4 1 1 256 1 1",
            0,
            {"KTRACE_WORDS": "4096", "KTRACE_MEMORY": "65536"},
            "mode 1 words 4096 slots 1 expected 16",
        ),
        (
            "4 1 1 256 1 1",
            0,
            {"KTRACE_WORDS": "8192", "KTRACE_MEMORY": "65536"},
            "mode 1 words 8192 slots 0 expected 16",
        ),
        (
            "4294967295 4294967295 4294967295 1024 1 1",
            0,
            {"KTRACE_MEMORY": "65536"},
            "mode 1 words 64 slots 63 expected 9223372036854775807",
        ),
        (
            "10 4 2 256 1 1",
            0,
            {"KTRACE_BLOCKS": "1:8:2,2:,1"},
            "mode 0 words 8192 slots 320 expected 32",
        ),
        ("10 4 2 256 1 1", 0, {"KTRACE_BLOCKS": "20:"}, "mode 0 words 8192 slots 320 expected 0"),
        ("2 1 1 1024 8 1", 0, {"KTRACE_WAVES": "0,31"}, "mode 0 words 8192 slots 256 expected 196"),
        ("4 1 1 256 1 1", 0, {"KTRACE_XCC": "0-3"}, "mode 0 words 8192 slots 16 expected 0"),
        ("4 1 1 256 1 1", 0, {"KTRACE_XCC": "0-31"}, "mode 0 words 8192 slots 16 expected 16"),
    ],
)
def test_a_launch_gets_the_buffer_of_the_rule(
    shape: str, attempted: int, environment: dict[str, str], expected: str, probe: Probe
) -> None:
    assert probe("layout", *shape.split(), attempted, **environment) == f"{expected}\n"


# A region of 64 words: 512 bytes, 48 words behind the header.
@pytest.mark.parametrize(
    ("cursors", "expected"),
    [
        ((128, 504), "main 0 side 0 met 0 attempted 16 dropped 0 unfinished 0"),
        ((128 + 80, 504 - 16), "main 10 side 2 met 0 attempted 28 dropped 0 unfinished 0"),
        ((512, 504), "main 48 side 0 met 0 attempted 64 dropped 0 unfinished 0"),
        ((512 + 800, 504), "main 48 side 0 met 0 attempted 164 dropped 100 unfinished 0"),
        ((128 + 46 * 8, 504 - 16), "main 46 side 2 met 0 attempted 64 dropped 0 unfinished 0"),
        ((128 + 47 * 8, 504 - 16), "main 48 side 0 met 1 attempted 65 dropped 1 unfinished 0"),
        ((128, 120), "main 0 side 48 met 0 attempted 64 dropped 0 unfinished 0"),
        ((128, 2**32 - 80), "main 0 side 48 met 0 attempted 89 dropped 25 unfinished 0"),
        ((136, 2**32 - 80), "main 48 side 0 met 1 attempted 90 dropped 26 unfinished 0"),
        ((0, 504), "main 48 side 0 met 0 attempted 16 dropped 0 unfinished 1"),
        ((0, 504 - 16), "main 46 side 2 met 0 attempted 18 dropped 0 unfinished 1"),
    ],
)
def test_a_header_tells_where_the_words_are(
    cursors: tuple[int, int], expected: str, probe: Probe
) -> None:
    assert probe("streams", 9, *cursors) == f"{expected}\n"


def test_both_sides_of_the_environment_know_the_same_names(probe: Probe) -> None:
    launcher = {
        value
        for name, value in vars(launcher_environment).items()
        if name.isupper() and isinstance(value, str) and value.startswith("KTRACE_")
    }

    # The software device reads its own, and this library does not know them.
    own = {launcher_environment.SOFT_ARCH, launcher_environment.SOFT_DEVICES}
    assert set(probe("names").split()) == launcher - own


def test_every_variable_that_is_read_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    libraries = (INTERPOSER, ROOT / "preload" / "softdev")
    sources = [path for folder in libraries for path in folder.rglob("*.[ch]pp")]
    sources += (ROOT / "src").rglob("*.py")
    names = {
        name
        for source in sources
        for name in re.findall(r'"(KTRACE_[A-Z_]+)"', source.read_text(encoding="utf-8"))
    }

    assert {"KTRACE_SESSION_DIR", "KTRACE_NATIVE_DIR", "KTRACE_SOFT_ARCH"} <= names
    assert {name for name in names if f"| `{name}` |" not in text} == set()


def test_the_environment_is_read(probe: Probe) -> None:
    text = probe(
        "config",
        KTRACE_MEMORY="65536",
        KTRACE_WORDS="32",
        KTRACE_BLOCKS="5,*,2::4",
        KTRACE_WAVES="0,2-3",
        KTRACE_XCC="31",
        KTRACE_OUTPUT="/a/b.bin",
        KTRACE_OUTPUT_DIR="/c",
    )

    assert text.splitlines()[:5] == [
        "memory 65536 words 32 waves 0xd xcc 0x80000000",
        "axis 5 6 0",
        "axis 0 4294967295 0",
        "axis 2 4294967295 3",
        "output|/a/b.bin|/c",
    ]


def test_without_options_everything_is_recorded(probe: Probe) -> None:
    lines = probe("config").splitlines()

    assert lines[:2] == [
        "memory 1073741824 words 0 waves 0xffffffff xcc 0xffffffff",
        "axis 0 4294967295 0",
    ]
    assert lines[5:] == ["mode 0 full 0 on_full 0 on_full_ms 1000 hang_ms 0 log_level 2"]


def test_choices_of_launches_and_of_full_memory_are_read(probe: Probe) -> None:
    text = probe(
        "config",
        KTRACE_MODE="claim",
        KTRACE_FULL="ring",
        KTRACE_ON_FULL="wait",
        KTRACE_ON_FULL_MS="250",
        KTRACE_HANG_MS="30000",
        KTRACE_LOG_LEVEL="trace",
        KTRACE_KERNEL_ITERATIONS="1,3-4",
        KTRACE_PERIODS="0:5:1,7000000000:1:0",
    )

    assert text.splitlines()[5:] == [
        "mode 2 full 1 on_full 1 on_full_ms 250 hang_ms 30000 log_level 4",
        "launches 1-1",
        "launches 3-4",
        "period 0 5 1",
        "period 7000000000 1 0",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KTRACE_KERNEL_INCLUDE", "(gemm"),
        ("KTRACE_KERNEL_EXCLUDE", "gemm\n*"),
        ("KTRACE_KERNEL_INCLUDE", r"(a)\1"),
        ("KTRACE_KERNEL_ITERATIONS", "0"),
        ("KTRACE_KERNEL_ITERATIONS", "3-1"),
        ("KTRACE_KERNEL_ITERATIONS", "[1,[3-4]]"),
        ("KTRACE_KERNEL_ITERATIONS", "1,"),
        ("KTRACE_PERIODS", "1:2"),
        ("KTRACE_PERIODS", "1:0:1"),
        ("KTRACE_PERIODS", "9223372036854775807:1:1"),
        ("KTRACE_MODE", "auto"),
        ("KTRACE_FULL", "drop"),
        ("KTRACE_ON_FULL", "ring"),
        ("KTRACE_ON_FULL_MS", "0"),
        ("KTRACE_HANG_MS", "1.5"),
        ("KTRACE_LOG_LEVEL", "debug"),
    ],
)
def test_a_value_of_no_meaning_is_refused_by_name(name: str, value: str, probe: Probe) -> None:
    assert probe("config", **{name: value}).startswith(f"refused|{name} is `{value}`, not ")


def test_names_of_recordings_take_ranks_and_variables_from_the_environment(probe: Probe) -> None:
    text = probe(
        "config",
        KTRACE_OUTPUT="/a/%rank%of%size%/%env{JOB}%/%pid%.bin",
        KTRACE_OUTPUT_DIR="/b/%env{FOLDER}%",
        OMPI_COMM_WORLD_RANK="3",
        OMPI_COMM_WORLD_SIZE="8",
        JOB="night",
        FOLDER="c/d",
    )

    assert text.splitlines()[4] == "output|/a/3of8/night/%pid%.bin|/b/c/d"


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({"PMI_RANK": "2", "OMPI_COMM_WORLD_RANK": "5"}, "2"),
        ({"SLURM_PROCID": "4", "PMI_RANK": "2"}, "4"),
        ({"PMI_RANK": "", "RANK": "7"}, "7"),
        ({}, "0"),
    ],
)
def test_the_first_launcher_of_ranks_that_is_known_counts(
    environment: dict[str, str], rank: str, probe: Probe
) -> None:
    text = probe("config", KTRACE_OUTPUT="/a/%rank%", **environment)

    assert text.splitlines()[4] == f"output|/a/{rank}|{Path.cwd()}/ktrace_out"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("/a/%env{NOBODY_SET_THIS}%", "the variable NOBODY_SET_THIS is not set"),
        ("/a/%env{HOME", "its `%env{` is not closed by `}%`"),
    ],
)
def test_a_placeholder_that_cannot_be_filled_in_is_refused(
    value: str, why: str, probe: Probe
) -> None:
    assert probe("config", KTRACE_OUTPUT=value) == (
        f"refused|KTRACE_OUTPUT is `{value}`, and {why}: the program runs untraced\n"
    )


def test_process_ids_are_those_of_the_process_that_asks(probe: Probe) -> None:
    assert re.fullmatch(r"a\d+/100%b\.bin\n", probe("pids", "a%pid%/100%b.bin"))
    assert probe("pids", "%ppid%-%ppid%") == f"{os.getpid()}-{os.getpid()}\n"


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        ("10:5:2", "00110"),  # 10 to 15 and 25 to 30
        ("10:5:0", "00111"),  # for ever
        ("10:5:1,100:50:1", "00101"),  # the second one's time is counted from the first one's end
        ("0:1:1", "10000"),
    ],
)
def test_periods_follow_each_other(periods: str, expected: str, probe: Probe) -> None:
    assert probe("collecting", 0, 9, 14, 28, 149, KTRACE_PERIODS=periods) == f"{expected}\n"


@pytest.mark.parametrize(
    ("patterns", "is_wanted"),
    [
        ("gemm*", True),
        ("gemm<64, 32>(_Float16 const*, _Float16 const*, float*, int, int)", True),
        ("*ktrace*", True),  # the mangled name has it
        ("/int, int\\)$/", True),
        ("/ktrace::sink/", False),
        ("gemm", True),
        ("gem", False),
        ("saxpy\n_Z4gemm*", True),
    ],
)
def test_a_kernel_is_known_by_its_names_without_the_sink(
    patterns: str, is_wanted: bool, probe: Probe
) -> None:
    name = "_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE"

    assert probe("wanted", name, KTRACE_KERNELS=patterns) == ("yes\n" if is_wanted else "no\n")


@pytest.mark.parametrize(
    ("include", "exclude", "is_wanted"),
    [
        ("^gemm<64", "", True),
        ("ktrace", "", False),
        ("saxpy\nint\\)$", "", True),
        ("attn|(?:g|h)emm", "", True),
        ("gemm", "_Float16", False),
        ("", "float", False),
        ("", "^void|ktrace|_Z", True),
        ("(.*)*x", "", False),  # for ever, in a matcher that goes back
    ],
)
def test_expressions_are_searched_in_the_readable_name_and_excluding_wins(
    include: str, exclude: str, is_wanted: bool, probe: Probe
) -> None:
    name = "_Z4gemmILi64ELi32EEvPKDF16_S1_PfiiN6ktrace4sinkE"

    answer = probe("wanted", name, KTRACE_KERNEL_INCLUDE=include, KTRACE_KERNEL_EXCLUDE=exclude)

    assert answer == ("yes\n" if is_wanted else "no\n")


def test_a_name_of_thousands_of_characters_is_searched(probe: Probe) -> None:
    name = "k" * 50_000

    assert probe("wanted", name, KTRACE_KERNEL_INCLUDE="^(k|x)*$") == "yes\n"


def test_argument_places_that_the_host_did_not_write_are_not_read(probe: Probe) -> None:
    assert probe("params") == "1 11 12 77 own 1\n"


@pytest.mark.parametrize(
    ("size", "placeholder", "expected"),
    [
        (24, "placeholder", "size 24 first 1 trace 119"),
        (32, "placeholder", "size 32 first 1 trace 119"),
        (16, "none", "size 24 first 1 trace 119"),
        (16, "placeholder", "size 24 first 1 trace 119"),
        (15, "none", "refused|its argument buffer has 15 bytes and ends before its arguments|1"),
    ],
)
def test_an_argument_buffer_is_copied_and_made_long_enough(
    size: int, placeholder: str, expected: str, probe: Probe
) -> None:
    assert probe("extra", size, placeholder) == f"{expected}\n"
