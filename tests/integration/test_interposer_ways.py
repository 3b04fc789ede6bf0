"""Every way in which a program finds HIP, with and without API tables."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.preloaded import Outcome, run_script
from support.table_hip import SUPPORT, build, build_hip, compile_cpp, interposer

RIGHT = "print('right' if host.is_right() else host.result(), flush=True)\n"
HOST = "host = Host(open_hip(), SAXPY)\n"
# The host's launch through `function`, an address of hipModuleLaunchKernel.
THROUGH = (
    "hip = type('Hip', (), {'hipModuleLaunchKernel': ctypes.CFUNCTYPE(\n"
    "    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3\n"
    ")(function.value)})\n"
    "real, host.hip = host.hip, hip\n"
    "assert host.launch() == 0\n"
    f"host.hip = real\n{RIGHT}"
)
LAUNCH_OF_EXT = (
    f"host.launches += 1\nassert ext.ext_launch(host.function, host.places()) == 0\n{RIGHT}"
)


@dataclass
class Runtime:
    """HIP as one of the two kinds of builds, in a folder of its own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    has_table: bool = False

    def run(self, script: str, folder: Path, **environment: str) -> Outcome:
        known = {**self.environment, **environment}
        return run_script(script, folder, preload_device=False, environment=known)


@pytest.fixture(scope="module", params=["symbols", "table"])
def runtime(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    folder = tmp_path_factory.mktemp("hip")
    libraries = build(folder)
    if request.param == "table":
        return Runtime(folder, libraries.environment(interposer()), has_table=True)
    return Runtime(folder)


@pytest.fixture(scope="module")
def ext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that is linked to HIP."""
    folder = tmp_path_factory.mktemp("ext")
    hip = build(folder).hip
    options = [
        "-DEXT_CXX_NAMES",
        "-O2",
        "-Wl,--no-as-needed",
        "-Wl,--allow-shlib-undefined",
        str(hip),
    ]
    return compile_cpp(SUPPORT / "ext_hip.cpp", folder / "ext.so", *options)


def assert_traced(outcome: Outcome, dispatches: int = 1) -> None:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert [len(d.headers) for d in outcome.recording.dispatches] == [16] * dispatches
    assert (outcome.status.launches, outcome.status.annotated_launches) == (dispatches, dispatches)
    assert (outcome.status.unseen_launches, outcome.status.losses) == (0, {})


def test_b1_a_launch_through_dlopen_and_dlsym_is_seen(runtime: Runtime, tmp_path: Path) -> None:
    script = (
        "own = ctypes.CDLL(None)\n"
        "own.dlopen.restype = own.dlsym.restype = ctypes.c_void_p\n"
        "own.dlsym.argtypes = ctypes.c_void_p, ctypes.c_char_p\n"
        "handle = own.dlopen(b'libamdhip64.so.7', os.RTLD_LAZY | os.RTLD_LOCAL)\n"
        "function = ctypes.c_void_p(own.dlsym(handle, b'hipModuleLaunchKernel'))\n"
    )

    assert_traced(runtime.run(f"{script}{HOST}{THROUGH}", tmp_path))


GET = "ctypes.byref(function), 70200000, ctypes.c_uint64(0), None"
ENTRY = "ctypes.byref(function), ctypes.c_ulonglong(0), None"


@pytest.mark.parametrize(
    "call",
    [
        f"hipGetProcAddress(b'hipModuleLaunchKernel', {GET})",
        f"hipGetProcAddress_spt(b'hipModuleLaunchKernel', {GET})",
        f"hipGetDriverEntryPoint(b'hipModuleLaunchKernel', {ENTRY})",
        f"hipGetDriverEntryPoint_spt(b'hipModuleLaunchKernel', {ENTRY})",
    ],
    ids=lambda call: call.split("(")[0],
)
def test_b2_a_launch_through_an_address_from_hip_is_seen(
    call: str, runtime: Runtime, tmp_path: Path
) -> None:
    script = f"{HOST}function = ctypes.c_void_p()\nassert host.hip.{call} == 0\n{THROUGH}"

    assert_traced(runtime.run(script, tmp_path))


def test_b3_a_launch_of_a_library_that_is_linked_to_hip_is_seen(
    runtime: Runtime, ext: Path, tmp_path: Path
) -> None:
    # HIP comes with it, for it alone: no search from here finds it.
    script = f"ext = ctypes.CDLL({str(ext)!r})\n{HOST}{LAUNCH_OF_EXT}"

    assert_traced(runtime.run(script, tmp_path))


def test_b4_a_library_opened_for_itself_alone_is_seen(
    runtime: Runtime, ext: Path, tmp_path: Path
) -> None:
    mode = "os.RTLD_NOW | os.RTLD_DEEPBIND"
    script = f"ext = ctypes.CDLL({str(ext)!r}, mode={mode})\n{HOST}{LAUNCH_OF_EXT}"

    outcome = runtime.run(script, tmp_path)

    assert_traced(outcome)
    assert outcome.status.unbound_libraries == 1


@pytest.mark.parametrize("name", ["ext_launch_ext", "ext_launch_hcc"])
def test_the_launches_with_a_cplusplus_name_are_seen(
    name: str, runtime: Runtime, ext: Path, tmp_path: Path
) -> None:
    launch = LAUNCH_OF_EXT.replace("ext_launch", name)
    script = f"ext = ctypes.CDLL({str(ext)!r})\n{HOST}{launch}"

    assert_traced(runtime.run(script, tmp_path))


def test_a_library_that_does_not_say_that_it_needs_hip_is_seen(
    runtime: Runtime, tmp_path: Path
) -> None:
    ext = compile_cpp(SUPPORT / "ext_hip.cpp", tmp_path / "ext.so")
    script = f"{HOST}ext = ctypes.CDLL({str(ext)!r}, mode=os.RTLD_LAZY)\n{LAUNCH_OF_EXT}"

    assert_traced(runtime.run(script, tmp_path))


def test_a_library_opened_for_itself_alone_that_has_nothing_to_do_with_hip_stays_so(
    tmp_path: Path,
) -> None:
    sources = {
        "inner": "int who() { return 1; }",
        "plain": "int who(); int ask() { return who(); }",
        "other": "int who() { return 2; }",
    }
    for name, text in sources.items():
        (tmp_path / f"{name}.cpp").write_text(f'extern "C" {{ {text} }}\n')
        inner = [str(tmp_path / "libinner.so")] if name == "plain" else []
        compile_cpp(tmp_path / f"{name}.cpp", tmp_path / f"lib{name}.so", *inner)
    outcome = run_script(
        f"folder = {str(tmp_path)!r}\n"
        "ctypes.CDLL(f'{folder}/libother.so', mode=os.RTLD_GLOBAL)\n"
        "mode = os.RTLD_NOW | os.RTLD_DEEPBIND\n"
        "print(ctypes.CDLL(f'{folder}/libplain.so', mode=mode).ask())\n",
        tmp_path,
        preload_device=False,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "1\n", "")
    assert outcome.statuses == []


def test_an_old_launch_that_hip_turns_into_a_newer_one_is_seen_once(
    runtime: Runtime, tmp_path: Path
) -> None:
    assert_traced(with_old_launch(runtime, tmp_path).run(OLD_LAUNCH, tmp_path))


def test_an_old_launch_that_hip_does_alone_is_counted(runtime: Runtime, tmp_path: Path) -> None:
    hip = with_old_launch(runtime, tmp_path)
    outcome = hip.run(OLD_LAUNCH, tmp_path, TABLE_HIP_DIRECT="1")

    # Its handle is none of a host function, so that the kernel is not known.
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert (outcome.status.launches, outcome.status.unseen_launches) == (1, 1)


def with_old_launch(runtime: Runtime, folder: Path) -> Runtime:
    """Return one of the same kind that has this call."""
    if runtime.has_table:
        return runtime
    build_hip(folder, is_registered=False)
    core = str(runtime.folder / "core.so")
    return Runtime(folder, {"LD_LIBRARY_PATH": str(folder), "TABLE_HIP_CORE": core})


OLD_LAUNCH = (
    f"{HOST}hip = host.hip\n"
    "class Dim3(ctypes.Structure):\n"
    "    _fields_ = [(name, ctypes.c_uint) for name in 'xyz']\n"
    "size = ctypes.c_size_t(ctypes.sizeof(Saxpy))\n"
    "assert hip.hipConfigureCall(Dim3(*GRID), Dim3(*BLOCK), ctypes.c_size_t(0), None) == 0\n"
    "assert hip.hipSetupArgument(ctypes.byref(host.arguments), size, ctypes.c_size_t(0)) == 0\n"
    "assert hip.hipLaunchByPtr(host.function) == 0\n"
    f"host.launches += 1\n{RIGHT}"
)


@pytest.mark.parametrize("has_table", [True, False], ids=["table", "symbols"])
def test_a_call_that_this_hip_does_not_have_is_not_there(
    has_table: bool, ext: Path, tmp_path: Path
) -> None:
    # HIP 6.4: no hipDrvLaunchKernelEx yet.
    libraries = build(tmp_path, slots=474)
    build_hip(tmp_path, slots=474, is_registered=has_table)
    names = libraries.environment(interposer())
    script = (
        f"ext = ctypes.CDLL({str(ext)!r}, mode=os.RTLD_LAZY | os.RTLD_GLOBAL)\n"
        "ext.ext_find.restype = ctypes.c_void_p\n"
        "names = b'hipModuleLaunchKernel', b'hipDrvLaunchKernelEx', b'hipLaunchKernelExC'\n"
        "print(*[bool(ext.ext_find(name)) for name in names])\n"
        f"{HOST}print(*[bool(ext.ext_find(name)) for name in names])\n"
        "print(hasattr(host.hip, 'hipDrvLaunchKernelEx'))\n"
        f"{LAUNCH_OF_EXT}"
    )

    outcome = run_script(script, tmp_path, preload_device=False, environment=names)

    assert outcome.stdout == "True False False\nTrue False False\nFalse\nright\n"
    assert [len(d.headers) for d in outcome.recording.dispatches] == [16]
