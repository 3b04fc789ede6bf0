"""Parts of the interposer on files and numbers, under the address and undefined sanitizers."""

import hashlib
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.trace_file import layout
from support.bundles import compress_bundle, hip_entry, make_bundle
from support.preloaded import ROOT, SAXPY, SAXPY_UNTRACED

GEMM = ROOT / "samples" / "gemm" / "gemm.gfx950.co"
Probe = Callable[..., str]


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


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3.12 train.py", "train"),
        ("python /a/b/train.py --epochs 3", "train"),
        ("python3 -u -B train.py", "train"),
        ("python3 -W error -X dev train", "train"),
        ("python3 -Werror -Xdev train.py -m x", "train"),
        ("python3 --check-hash-based-pycs always train.py", "train"),
        ("python3 -m pkg.tool train.py", "pkg.tool"),
        ("python3 -um pkg train.py", "pkg"),
        ("python3 -mpkg train.py", "pkg"),
        ("pypy3 folder/", "folder"),
        ("python3 -c import_x train.py", ""),
        ("python3 -uc import_x", ""),
        ("python3 - train.py", ""),
        ("python3", ""),
        ("python3 -m", ""),
        ("python3 -m a/b", ""),
        ("python3 .", ""),
        ("python3 -W", ""),
        ("bash train.py", ""),
        ("app train.py", ""),
    ],
)
def test_a_python_is_called_like_its_script(probe: Probe, command: str, name: str) -> None:
    program, *arguments = command.split()

    assert probe("script", program, program, *arguments) == name
