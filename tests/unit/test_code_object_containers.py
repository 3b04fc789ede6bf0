"""Code objects in bundles, compressed bundles, host programs; what is said of other files."""

import struct
import sys
import time
import zlib
from types import SimpleNamespace

import pytest

from ktrace_cli.code_object.containers import Contents, find_images
from ktrace_cli.errors import CodeObjectError
from support.bundles import HOST_ENTRY, compress_bundle, hip_entry, make_bundle, make_program
from support.code_object import SHF_ALLOC, KernelSource, Section, make_code_object, make_elf

IMAGE = make_code_object([KernelSource("k")])
OTHER = make_code_object([KernelSource("other")])
BUNDLE = make_bundle(
    [
        HOST_ENTRY,
        hip_entry("gfx942:sramecc+:xnack-", IMAGE),
        hip_entry("gfx942:sramecc-:xnack-", OTHER),
        hip_entry("gfx950", IMAGE),
    ]
)
TARGETS = ["gfx942:sramecc+:xnack-", "gfx942:sramecc-:xnack-", "gfx950"]


def targets(contents: Contents) -> list[str]:
    assert contents.problems == []
    return [image.target for image in contents.images]


def problem_of(data: bytes) -> CodeObjectError:
    contents = find_images(data, "some.hipfb")
    (problem,) = contents.problems
    return problem


def refusal_of(data: bytes) -> CodeObjectError:
    with pytest.raises(CodeObjectError) as raised:
        find_images(data, "some.co")
    assert "some.co" in raised.value.what
    return raised.value


def test_a_bare_code_object_is_itself():
    (image,) = find_images(IMAGE, "k.co").images

    assert image.origin == "k.co"
    assert bytes(image.data) == IMAGE


def test_a_bundles_device_entries_are_listed_with_their_features():
    contents = find_images(BUNDLE, "some.hipfb")

    assert targets(contents) == TARGETS
    assert [bytes(image.data) for image in contents.images] == [IMAGE, OTHER, IMAGE]
    assert contents.images[0].origin == "some.hipfb, bundle at offset 0, gfx942:sramecc+:xnack-"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_compressed_bundle_is_read(version):
    assert targets(find_images(compress_bundle(BUNDLE, version=version), "c")) == TARGETS


@pytest.mark.parametrize("version", [1, 2, 3])
def test_bundles_that_follow_each_other_are_all_read(version):
    first = compress_bundle(BUNDLE, version=version)
    second = make_bundle([HOST_ENTRY, hip_entry("gfx90a", OTHER)])
    data = first + bytes(-len(first) % 4096) + second + compress_bundle(BUNDLE, version=3)

    contents = find_images(data, "some.hipfb")

    assert targets(contents) == [*TARGETS, "gfx90a", *TARGETS]
    assert contents.notices == []


def test_a_host_program_gives_the_bundles_of_its_fat_binary():
    program = make_program(BUNDLE + compress_bundle(BUNDLE, version=2))
    offset = program.index(b"__CLANG_OFFLOAD_BUNDLE__")

    contents = find_images(program, "app")

    assert targets(contents) == TARGETS * 2
    assert contents.images[0].origin == f"app, bundle at offset {offset}, {TARGETS[0]}"


def test_an_entry_that_is_no_code_object_is_said():
    bundle = make_bundle(
        [hip_entry("gfx942", b"BC\xc0\xde" + bytes(12)), hip_entry("gfx950", IMAGE)]
    )

    contents = find_images(bundle, "k.o")

    assert targets(contents) == ["gfx950"]
    assert contents.notices == ["k.o, bundle at offset 0: gfx942 is LLVM bitcode, no code object"]


def test_bytes_between_bundles_are_said():
    contents = find_images(BUNDLE + b"something else" + BUNDLE, "some.hipfb")

    assert targets(contents) == TARGETS * 2
    assert contents.notices == [f"some.hipfb: 14 bytes at offset {len(BUNDLE)} are no bundle"]


def test_a_byte_between_bundles_is_said():
    contents = find_images(BUNDLE + b"x" + BUNDLE, "some.hipfb")

    assert contents.notices == [f"some.hipfb: 1 byte at offset {len(BUNDLE)} is no bundle"]


def test_what_follows_a_bundle_that_cannot_be_read_is_not_called_no_bundle(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    one = compress_bundle(BUNDLE, version=3, method=1, stream=b"\x28\xb5\x2f\xfd" + bytes(16))

    contents = find_images(one * 2 + BUNDLE, "some.hipfb")

    assert [image.target for image in contents.images] == TARGETS
    assert [problem.what for problem in contents.problems] == [
        "cannot read the bundle at offset 0 of some.hipfb",
        f"cannot read the bundle at offset {len(one)} of some.hipfb",
    ]
    assert contents.notices == []


def patched(offset: int, content: bytes) -> bytes:
    return BUNDLE[:offset] + content + BUNDLE[offset + len(content) :]


COMPRESSED = compress_bundle(BUNDLE, version=3)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (BUNDLE[:28], "it ends after 28 bytes, inside its header"),
        (patched(24, struct.pack("<Q", 1 << 40)), "claims 1099511627776 entries (byte 24)"),
        (patched(48, struct.pack("<Q", 1 << 50)), "a name of 1125899906842624 bytes at byte 56"),
        (COMPRESSED[:-9], f"says that it has {len(COMPRESSED)} bytes; {len(COMPRESSED) - 9}"),
        (COMPRESSED[:20], "it ends after 20 bytes, inside its header"),
        (COMPRESSED[:6], "it ends after 6 bytes, inside its header"),
        (b"CCOB\x09\0" + COMPRESSED[6:], "its compressed format is version 9"),
        (b"CCOB\x03\0\x05\0" + COMPRESSED[8:], "it is compressed by method 5"),
        (
            COMPRESSED[:16] + struct.pack("<Q", 1 << 60) + COMPRESSED[24:],
            "its header claims 1152921504606846976 bytes of content",
        ),
        (
            COMPRESSED[:16] + struct.pack("<Q", 100) + COMPRESSED[24:],
            "it holds 101 bytes; its header says 100",
        ),
        (
            COMPRESSED[:40] + bytes(20) + COMPRESSED[60:],
            "its compressed content is damaged: Error -3",
        ),
        (compress_bundle(b"no bundle at all", version=3), "it begins with 6e 6f 20 62"),
        (COMPRESSED[:24] + bytes(8) + COMPRESSED[32:], "its header says 0000000000000000"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_bundle_gives_one_error_with_the_place(data, why):
    begin = time.process_time()

    problem = problem_of(data)

    assert problem.what == "cannot read the bundle at offset 0 of some.hipfb"
    assert why in problem.why
    assert problem.fix
    assert time.process_time() - begin < 1


def test_an_entry_past_the_end_leaves_the_entries_before_it():
    bundle = make_bundle([hip_entry("gfx942", IMAGE), hip_entry("gfx950", OTHER)], align=8)

    contents = find_images(bundle[:-16], "some.hipfb")

    assert [image.target for image in contents.images] == ["gfx942"]
    assert "entry 1 (hipv4-amdgcn-amd-amdhsa--gfx950) has" in contents.problems[0].why


def test_a_damaged_bundle_leaves_the_others():
    damaged = patched(24, struct.pack("<Q", 1 << 40))

    contents = find_images(damaged + BUNDLE, "some.hipfb")

    assert [image.target for image in contents.images] == TARGETS
    assert len(contents.problems) == 1


def test_zstandard_without_a_decompressor_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    stream = b"\x28\xb5\x2f\xfd" + bytes(16)

    problem = problem_of(compress_bundle(BUNDLE, version=3, method=1, stream=stream))

    assert problem.why == ("it is compressed with Zstandard, which this Python cannot decompress")
    assert "`pip install zstandard`" in problem.fix


class StandardLibraryDecompressor:
    """compression.zstd.ZstdDecompressor of Python 3.14, standing on zlib."""

    def __init__(self) -> None:
        self.inflater = zlib.decompressobj()

    def decompress(self, data: memoryview, max_length: int) -> bytes:
        return self.inflater.decompress(data, max_length)

    @property
    def unused_data(self) -> bytes:
        return self.inflater.unused_data


@pytest.mark.parametrize("version", [1, 3])
def test_the_standard_librarys_zstandard_is_used_if_there_is_one(monkeypatch, version):
    zstd = SimpleNamespace(ZstdDecompressor=StandardLibraryDecompressor, ZstdError=zlib.error)
    monkeypatch.setitem(sys.modules, "compression", SimpleNamespace(zstd=zstd))
    monkeypatch.setitem(sys.modules, "compression.zstd", zstd)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    data = compress_bundle(BUNDLE, version=version, method=1, stream=zlib.compress(BUNDLE))

    assert targets(find_images(data + bytes(64) + data, "some.hipfb")) == TARGETS * 2
    assert "damaged" in problem_of(data[:40] + bytes(40) + data[80:]).why


def test_zstandard_is_decompressed_where_there_is_a_decompressor():
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    stream = zstandard.ZstdCompressor().compress(BUNDLE)
    data = compress_bundle(BUNDLE, version=1, method=1, stream=stream)

    contents = find_images(data + bytes(100) + data, "some.hipfb")

    assert targets(contents) == TARGETS * 2


def test_zstandard_that_is_damaged_is_a_problem():
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    stream = zstandard.ZstdCompressor().compress(BUNDLE)
    data = compress_bundle(BUNDLE, version=3, method=1, stream=stream[:20] + bytes(20))

    assert problem_of(data).why.startswith(("its compressed content is damaged", "it holds 0 "))


WRAPPER = Section(".hipFatBinSegment", b"HIPK" + bytes(20), flags=SHF_ALLOC)


@pytest.mark.parametrize(
    ("data", "why", "fix"),
    [
        (make_elf([WRAPPER], machine=62, os_abi=0), "begins with HIPK", "that were packed"),
        (b"", "it is empty", "build it again"),
        (b"not an elf\n", "it is text", "give a code object"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "`git lfs pull`"),
        (b"!<arch>\n" + bytes(60), "a static library", "linked with it"),
        (b"BC\xc0\xde" + bytes(60), "LLVM bitcode", "linked code object"),
        (make_program(None), "it has no section .hip_fatbin", "files of their own"),
        (b"\x7fELF" + bytes(10), "it ends at offset 14", "build or copy it again"),
    ],
    ids=[
        "kpack",
        "empty",
        "text",
        "LFS pointer",
        "archive",
        "bitcode",
        "host without GPU code",
        "cut",
    ],
)
def test_a_file_without_code_objects_is_named_for_what_it_is(data, why, fix):
    refusal = refusal_of(data)

    assert why in refusal.why
    assert fix in refusal.fix
