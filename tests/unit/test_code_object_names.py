"""Kernel names for people."""

import sys
from collections.abc import Iterator

import pytest

from ktrace_cli.code_object import names
from ktrace_cli.code_object.names import demangle, display_name, shorten, without_sink

NEEDS_DEMANGLER = pytest.mark.skipif(
    demangle("_Z1fi") == "_Z1fi", reason="cxxfilt or the C++ library is not installed"
)

GEMM = "_Z4gemmILi64EEvPKfPfi"


@pytest.fixture
def no_demangler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "cxxfilt", None)
    for cached in (names._demangler, demangle, display_name):
        cached.cache_clear()
    yield
    for cached in (names._demangler, demangle, display_name):
        cached.cache_clear()


@NEEDS_DEMANGLER
@pytest.mark.parametrize(
    ("mangled", "signature", "name"),
    [
        (GEMM, "void gemm<64>(float const*, float*, int)", "gemm<64>"),
        (GEMM + "N6ktrace4sinkE", "void gemm<64>(float const*, float*, int)", "gemm<64>"),
        ("_Z1kN6ktrace4sinkE", "k()", "k"),
        ("_Z1kILi3EEvN6ktrace4sinkE", "void k<3>()", "k<3>"),
        (
            "_ZN12_GLOBAL__N_11kIiEEvPT_",
            "void (anonymous namespace)::k<int>(int*)",
            "(anonymous namespace)::k<int>",
        ),
        (
            "_Z1kIZ4mainEUliE_EvT_",
            "void k<main::{lambda(int)#1}>(main::{lambda(int)#1})",
            "k<main::{lambda(int)#1}>",
        ),
        ("_ZN2ns1SIiEclEPf", "ns::S<int>::operator()(float*)", "ns::S<int>::operator()"),
        ("_Z1kPFvvE", "k(void (*)())", "k"),
        (
            "_Z4gemmILi64EEvPKDF16_S1_PDF16b",
            "void gemm<64>(_Float16 const*, _Float16 const*, __bf16*)",
            "gemm<64>",
        ),
    ],
)
def test_names_are_demangled_without_the_sink(mangled, signature, name):
    # Which name a C++ library has for bfloat16 depends on its age.
    assert demangle(mangled).replace("std::bfloat16_t", "__bf16") == signature
    assert display_name(mangled) == name


@pytest.mark.parametrize("name", ["saxpy", "k_pretty", "_Zbroken", "", "triton_poi_fused_add_0d1"])
def test_a_name_that_is_not_mangled_stays_as_it_is(name):
    assert demangle(name) == name
    assert display_name(name) == name


@NEEDS_DEMANGLER
@pytest.mark.parametrize(
    ("traced", "untraced"),
    [
        (GEMM + "N6ktrace4sinkE", GEMM),
        ("_Z1kN6ktrace4sinkE", "_Z1kv"),
        ("_Z1kILi3EEvN6ktrace4sinkE", "_Z1kILi3EEvv"),
        ("saxpy", "saxpy"),
    ],
)
def test_the_untraced_builds_mangled_name_is_found(traced, untraced):
    assert without_sink(traced) == untraced


@pytest.mark.usefixtures("no_demangler")
def test_without_a_demangler_names_stay_mangled_but_lose_the_sink():
    assert demangle(GEMM) == GEMM
    assert demangle(GEMM + "N6ktrace4sinkE") == GEMM
    assert display_name("_Z4copyPfN6ktrace4sinkE") == "_Z4copyPf"


def long_name(last: int) -> str:
    numbers = [*range(140), last]
    sequences = "".join(f"NS_8SequenceIJLi{i}ELi{i}EEEE" for i in numbers)
    return f"_ZN2ck6kernelI{sequences}EEvPfi"


def test_a_name_of_thousands_of_characters_is_usable():
    # Newer C++ libraries may demangle it; GCC's refuses more than 1024 characters.
    name = display_name(long_name(140))

    assert name.startswith("ck::kernel<")
    assert len(shorten(name, 80)) <= 80
    assert name != display_name(long_name(141))


@pytest.mark.usefixtures("no_demangler")
def test_without_a_demangler_a_template_is_abridged_and_its_instances_stay_apart():
    names = [display_name(f"_ZN2ck6kernelILi{i}EEEvPf") for i in (1, 2)]

    assert names == ["ck::kernel<…1e83d2ff>", "ck::kernel<…2f6bc862>"]


@pytest.mark.parametrize(
    ("width", "short"),
    [(20, "gemm<float, 64, 128>"), (12, "gemm<flo…28>"), (5, "gem…>")],
)
def test_a_shortened_name_keeps_both_ends(width, short):
    assert shorten("gemm<float, 64, 128>", width) == short
