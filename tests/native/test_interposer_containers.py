"""How the interposer reads images: containers, damage, notes, kernels, under sanitizers."""

import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.trace_file import layout
from support.bundles import HOST_ENTRY, compress_bundle, hip_entry, make_bundle
from support.code_object import (
    DEFAULT_ARGUMENTS,
    ET_REL,
    EventSource,
    KernelSource,
    Section,
    hidden,
    make_code_object,
    pointer,
    scalar,
)
from support.interposer_probe import build_probe
from support.linked_units import link_relocatable, source
from support.preloaded import ROOT, SAXPY, SAXPY_UNTRACED

GEMM = ROOT / "samples" / "gemm" / "gemm.gfx950.co"
ANNOTATED = make_code_object([KernelSource("k", unit_key=0x11)])
PLAIN = make_code_object([KernelSource("k")])
Probe = Callable[..., list[list[str]]]


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """Run the probe on bytes (or a path); return its lines. Any report of a sanitizer fails."""
    folder = tmp_path_factory.mktemp("probe")
    build_probe(folder / "probe", Path(__file__).with_name("container_probe.cpp"))

    def run(command: str, *arguments: object, **environment: str) -> list[list[str]]:
        given = list(map(str, arguments))
        for number, argument in enumerate(arguments):
            if isinstance(argument, bytes):
                given[number] = str(folder / f"data{number}")
                Path(given[number]).write_bytes(argument)
        done = subprocess.run(
            [folder / "probe", command, *given],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [line.split("|") for line in done.stdout.splitlines()]

    return run


def objects(rows: list[list[str]]) -> list[str]:
    return [row[1] or row[2] for row in rows if row[0] == "object"]


def refusals(rows: list[list[str]]) -> list[str]:
    return [row[6] for row in rows if row[0] == "kernel"]


# ------------------------------------------------------------------------------- containers


def test_an_empty_host_entry_is_no_code_object(probe: Probe) -> None:
    """CASES V-c1"""
    bundle = make_bundle(
        [
            HOST_ENTRY,
            hip_entry("gfx942:sramecc+:xnack-", ANNOTATED),
            hip_entry("gfx942:sramecc-:xnack-", PLAIN),
            hip_entry("gfx950", PLAIN),
        ]
    )

    assert objects(probe("at", bundle)) == [
        "gfx942:sramecc+:xnack-",
        "gfx942:sramecc-:xnack-",
        "gfx950",
    ]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_compressed_bundle_is_read_by_its_address_alone(version: int, probe: Probe) -> None:
    """CASES V-c2: version 1 does not say how long it is; its stream does."""
    bundle = compress_bundle(make_bundle([hip_entry("gfx942", ANNOTATED)]), version=version)

    rows = probe("at", bundle)

    assert rows[0] == [f"size {len(bundle)}", ""]
    assert objects(rows) == ["gfx942"]


def test_bundles_of_several_kinds_in_one_section_are_all_read(probe: Probe) -> None:
    """CASES V-c2"""
    plain = make_bundle([hip_entry("gfx942", PLAIN)])
    second = compress_bundle(make_bundle([hip_entry("gfx950", PLAIN)]), version=3)
    third = compress_bundle(make_bundle([hip_entry("gfx90a", PLAIN)]), version=1)

    rows = probe("code", plain + second + bytes(100) + third + bytes(4096))

    assert rows[0] == ["container", ""]
    assert objects(rows) == ["gfx942", "gfx950", "gfx90a"]


def test_without_zstandard_a_bundle_is_refused_with_words(probe: Probe, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("clang-19")
    if not compiler:
        pytest.skip("no C compiler")
    empty = tmp_path / "empty.c"
    empty.write_text("int nothing;\n")
    library = tmp_path / "libzstd.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", empty, "-o", library], check=True)
    bundle = compress_bundle(
        b"anything", version=3, method=1, stream=b"\x28\xb5\x2f\xfd" + bytes(9)
    )

    rows = probe("code", bundle, LD_LIBRARY_PATH=str(tmp_path))

    assert rows == [["container", "a bundle compressed with zstd, but there is no libzstd.so.1"]]


def test_intermediate_code_is_no_code_object_and_no_damage(probe: Probe) -> None:
    spirv = ("hip-spirv64-amd-amdhsa--amdgcnspirv", b"\x03\x02\x23\x07" + bytes(60))

    rows = probe("code", make_bundle([spirv, hip_entry("gfx942", PLAIN)]))

    assert rows[0] == ["container", "intermediate"]
    assert objects(rows) == ["gfx942"]


@pytest.mark.parametrize(
    ("image", "trouble"),
    [
        (
            compress_bundle(make_bundle([hip_entry("gfx942", PLAIN)]), version=3)[:-100],
            "it says that it has {size} bytes; its memory ends after {left}",
        ),
        (b"CCOB\x09\x00\x00\x00" + bytes(40), "a compressed bundle of version 9"),
        (
            b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 40) + bytes(64),
            "its bundle's header is damaged",
        ),
        (
            make_bundle([hip_entry("gfx942", PLAIN)])[:-4096],
            "it says that it has {size} bytes; its memory ends after {left}",
        ),
        (ANNOTATED[:-64], "it says that it has {size} bytes; its memory ends after {left}"),
        (b"no image at all, but some text", "it is of no kind that ktrace can read"),
    ],
    ids=["cut", "version", "count", "entry", "elf", "text"],
)
def test_an_image_that_leaves_its_memory_is_not_followed(
    image: bytes, trouble: str, probe: Probe
) -> None:
    """CASES V-c3: what is registered is looked at before HIP has; a fault would be ours."""
    size, words = probe("at", image)[0]

    assert size == "size 0"
    if "{left}" in trouble:
        assert words.startswith("it says that it has ")
        assert words.endswith(f" bytes; its memory ends after {len(image)}")
    else:
        assert words == trouble


# ---------------------------------------------------------------------------- notes, kernels


@pytest.mark.parametrize("align", [4, 8])
@pytest.mark.parametrize("abi_version", [2, 3, 4])
def test_notes_of_both_alignments_and_all_versions_are_read(
    align: int, abi_version: int, probe: Probe
) -> None:
    """CASES V-c4"""
    image = make_code_object(
        [KernelSource("k", unit_key=0x11)], note_align=align, abi_version=abi_version
    )

    rows = probe("code", image)

    assert rows[1] == ["object", "", "gfx942:sramecc+:xnack-", "read", ""]
    assert rows[2] == ["kernel", "k", "k.kd", "2", "16", "0", ""]


def test_notes_are_found_without_section_headers(probe: Probe) -> None:
    """CASES V-c5. Kernels have no symbols then, and the object says so."""
    image = make_code_object([KernelSource("k", unit_key=0x11)], with_sections=False)

    assert probe("code", image)[1] == [
        "object",
        "",
        "gfx942:sramecc+:xnack-",
        "read",
        "kernels whose descriptors could not be found: 1, such as `k`",
    ]


def test_a_relocatable_object_is_called_that(probe: Probe) -> None:
    """CASES V-c5"""
    image = make_code_object(
        [KernelSource("k", unit_key=0x11)], elf_type=ET_REL, with_segments=False
    )

    assert probe("code", image)[1][4] == "it is relocatable, not loadable"


def test_a_kernel_is_found_by_its_symbol_and_called_by_its_name(probe: Probe) -> None:
    """CASES V-c7"""
    image = make_code_object([KernelSource("k_pretty", unit_key=0x11, symbol="k_impl_v2.kd")])

    assert probe("code", image)[2] == ["kernel", "k_pretty", "k_impl_v2.kd", "2", "16", "0", ""]
    assert probe("names", image) == [["k_impl_v2"]]


def test_damaged_metadata_is_an_error_and_other_notes_are_read(probe: Probe) -> None:
    """CASES V-c6"""
    image = ANNOTATED.replace(b"amdhsa.kernels", b"amdhsa.kernelz")
    cut = ANNOTATED.replace(b"\xaeamdhsa.kernels", b"\xc1amdhsa.kernels")

    assert image != ANNOTATED
    assert cut != ANNOTATED
    assert probe("code", image)[2][5:] == [
        "5",
        "no metadata lists it, so its arguments are not known",
    ]
    assert probe("code", cut)[1][4] == "its AMDGPU metadata is damaged"


def test_code_that_linking_left_behind_is_no_damage(probe: Probe) -> None:
    """Two units define one kernel; the code of the second is there, and nobody can launch it."""
    image = make_code_object([KernelSource("k", unit_key=0x11)], left_behind=2)

    assert probe("code", image)[1:] == [
        ["object", "", "gfx942:sramecc+:xnack-", "read", ""],
        ["kernel", "k", "k.kd", "2", "16", "0", ""],
    ]


def test_a_weak_kernel_of_two_linked_units_is_one_kernel(probe: Probe, tmp_path: Path) -> None:
    """Its second copy stays in the code, with a note, and no symbol leads there."""
    weak = "void __attribute__((weak)) k"
    units = [source("k", "mark", unit).replace("void k", weak) for unit in "ab"]

    rows = probe("code", link_relocatable(tmp_path, *units))

    assert rows[1:] == [
        ["object", "", "gfx942", "read", ""],
        ["kernel", "k", "k.kd", "1", "8", "0", ""],
    ]


def test_units_whose_keys_share_their_low_half_are_refused(probe: Probe) -> None:
    """Recorded events name their unit by that half."""
    first, second = 0x1_0000_0007, 0x2_0000_0007
    kernels = [KernelSource("a", first), KernelSource("b", second), KernelSource("c", 3)]
    events = [EventSource(1, "x", unit_key=first), EventSource(2, "y", unit_key=second)]

    rows = probe("code", make_code_object(kernels, events))

    words = (
        "two translation units have keys with one low half; "
        "compile them with different -DKTRACE_UNIT_NAME"
    )
    assert refusals(rows) == [words, words, ""]


def test_an_object_without_annotations_is_told_by_a_glance(probe: Probe) -> None:
    assert probe("code", PLAIN)[1] == ["object", "", "gfx942:sramecc+:xnack-", "plain", ""]
    assert probe("code", SAXPY_UNTRACED)[1] == ["object", "", "gfx942", "plain", ""]
    assert probe("code", SAXPY)[1] == ["object", "", "gfx942", "read", ""]


# ---------------------------------------------------------------- where the address may go

KINDS = "an explicit argument of 8 bytes, by_value or global_buffer, is needed"


@pytest.mark.parametrize(
    ("kernel", "refusal"),
    [
        (KernelSource("k", 1), ""),
        (
            KernelSource("k", 1, arguments=[pointer("x", 0), scalar("n", 8)]),
            f"its trace argument has 4 bytes and is `by_value`; {KINDS}",
        ),
        (
            KernelSource("k", 1, arguments=None, metadata={".kernarg_segment_size": 368}),
            "its metadata lists no explicit argument",
        ),
        (
            KernelSource("k", 1, arguments=[hidden("block_count_x", 0, 4)]),
            "its metadata lists no explicit argument",
        ),
        (
            KernelSource("k", 1, arguments=[*DEFAULT_ARGUMENTS, hidden("none", 16, 8)]),
            "its trace argument shares its place with another argument",
        ),
        (
            KernelSource("k", 1, arguments=[pointer("x", 0), scalar("sink", 4, 8)]),
            f"its trace argument has 8 bytes and is `by_value`; {KINDS}",
        ),
        (
            KernelSource("k", 1, arguments=[scalar("n", 12), scalar("sink", 8, 8)]),
            "its trace argument shares its place with another argument",
        ),
        (
            KernelSource("k", 1, metadata={".kernarg_segment_size": 16}),
            "its trace argument lies outside its kernarg segment",
        ),
        (
            KernelSource("k", 1, kernarg_offset=24),
            "its note puts the trace argument at offset 24, its metadata at 16",
        ),
        (
            KernelSource("k", 1, arg_index=3),
            "its trace argument is number 3 of 3",
        ),
    ],
    ids=str,
)
def test_the_address_lands_on_a_listed_explicit_argument_or_nowhere(
    kernel: KernelSource, refusal: str, probe: Probe
) -> None:
    """CASES V-c9: segments are larger than what is listed, also by hidden arguments."""
    assert refusals(probe("code", make_code_object([kernel]))) == [refusal]


def test_padding_behind_the_listed_arguments_is_never_taken(probe: Probe) -> None:
    """CASES V-c9: explicit arguments end at 24 of 280 bytes."""
    kernel = KernelSource("k", 1, metadata={".kernarg_segment_size": 280})

    assert probe("code", make_code_object([kernel]))[2][3:5] == ["2", "16"]
    beyond = KernelSource("k", 1, kernarg_offset=24, metadata=kernel.metadata)
    assert refusals(probe("code", make_code_object([beyond]))) == [
        "its note puts the trace argument at offset 24, its metadata at 16"
    ]


@pytest.mark.parametrize("offset", [(1 << 32) + 16, -8])
def test_an_offset_that_does_not_fit_is_not_taken_for_a_smaller_one(
    offset: int, probe: Probe
) -> None:
    arguments = [*DEFAULT_ARGUMENTS[:2], {**DEFAULT_ARGUMENTS[2], ".offset": offset}]
    kernel = KernelSource("k", 1, arguments=arguments, metadata={".kernarg_segment_size": 24})

    rows = probe("code", make_code_object([kernel]))

    assert rows[1][4] == "its AMDGPU metadata is damaged"
    assert rows[2][5] == str(int(layout.LossReason.ARGUMENT))


# -------------------------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("target", "device", "answer"),
    [
        ("gfx942", "gfx942:sramecc+:xnack-", "fits exactly"),
        ("gfx942:sramecc+", "gfx942:sramecc+:xnack-", "fits exactly"),
        ("gfx942:sramecc-", "gfx942:sramecc+:xnack-", "no"),
        ("gfx942:xnack+", "gfx942:sramecc+:xnack-", "no"),
        ("gfx950", "gfx942:sramecc+:xnack-", "no"),
        ("gfx9-4-generic", "gfx942:sramecc+:xnack-", "fits"),
        ("gfx9-4-generic", "gfx950:sramecc+:xnack-", "fits"),
        ("gfx9-4-generic:xnack+", "gfx950:sramecc+:xnack-", "no"),
        ("gfx9-4-generic", "gfx90a:sramecc+:xnack-", "no"),
        ("gfx9-generic", "gfx906:sramecc+:xnack-", "fits"),
        ("gfx11-generic", "gfx1151", "fits"),
        ("gfx94", "gfx942", "no"),
    ],
)
def test_a_target_fits_the_devices_that_hip_gives_it_to(
    target: str, device: str, answer: str, probe: Probe
) -> None:
    assert probe("for", target, device) == [[answer]]


@pytest.mark.parametrize(
    ("flags", "abi_version", "target"),
    [
        (0x54C, 2, "gfx942"),
        (0xE4C, 3, "gfx942:sramecc+:xnack-"),
        (0xB4C, 4, "gfx942:sramecc-:xnack+"),
        (0x4F, 4, "gfx950"),
        (0x0100055F, 4, "gfx9-4-generic"),
        (0x3F, 1, "gfx90a"),
        (0x02, 2, ""),
    ],
)
def test_a_header_names_its_target(flags: int, abi_version: int, target: str, probe: Probe) -> None:
    assert probe("target", flags, abi_version) == [[target]]


# --------------------------------------------------------------------------------- damage


def test_damaged_images_of_every_kind_are_read_safely(probe: Probe, tmp_path: Path) -> None:
    """CASES V-c3, V-c6. A longer run by hand: build with -DKTRACE_FUZZER -fsanitize=fuzzer."""
    bundle = make_bundle([hip_entry("gfx942", ANNOTATED), hip_entry("gfx950", PLAIN)], align=16)
    images = {
        "elf": ANNOTATED,
        "align8": make_code_object([KernelSource("k", unit_key=0x11)], note_align=8),
        "sectionless": make_code_object([KernelSource("k", unit_key=1)], with_sections=False),
        "bundle": bundle,
        **{f"compressed{v}": compress_bundle(bundle, version=v) for v in (1, 2, 3)},
    }
    for name, image in images.items():
        (tmp_path / name).write_bytes(image)

    rows = probe("fuzz", 7, 6000, *(tmp_path / name for name in images), SAXPY, GEMM)

    assert rows == [["read 6000"]]


def test_a_table_of_a_million_sections_is_not_believed(probe: Probe) -> None:
    # The header counts 0 and has no size for one, so the first section would count for them all.
    image = bytearray(ANNOTATED)
    (table,) = struct.unpack_from("<Q", image, 40)
    image[58:62] = bytes(4)  # e_shentsize, e_shnum
    image[table + 32 : table + 40] = b"\xff" * 8

    assert probe("code", bytes(image))[1][4] == (
        "kernels whose descriptors could not be found: 1, such as `k`"
    )


def test_a_code_object_may_have_thousands_of_kernels(probe: Probe) -> None:
    """Time grows with the number of kernels, not with its square."""
    kernels = [KernelSource(f"kernel_{i}", unit_key=1 if i == 0 else None) for i in range(4000)]
    image = make_code_object(kernels, extra_notes=[Section(".nothing", b"")])

    assert refusals(probe("code", image)) == [""]
