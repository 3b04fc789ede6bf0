"""What HIP calls below itself is what it was linked to, whatever else is loaded."""

from pathlib import Path

import pytest

from support.preloaded import Outcome, run_script
from support.table_hip import SUPPORT, compile_cpp

SOURCE = SUPPORT / "scopes.cpp"


def build(folder: Path, hip: str, number: int) -> Path:
    """Build a HIP, and an HSA runtime and a rocprofiler-register that answer `number`."""
    folder.mkdir()
    needs = []
    # As wheels rename them: two with one SONAME would be one library.
    for kind, name in (("HSA", "libhsa-runtime64"), ("REGISTER", "librocprofiler-register")):
        soname = f"{name}-{number}.so.1"
        named = (f"-D{kind}={number}", f"-Wl,-soname,{soname}")
        needs.append(str(compile_cpp(SOURCE, folder / soname, *named)))
    options = ("-O2", "-DHIP", f"-Wl,-soname,{hip}", f"-Wl,-rpath,{folder}", "-Wl,--no-as-needed")
    return compile_cpp(SOURCE, folder / hip, *options, *needs)


def ask(folder: Path, function: str, *, traced: bool = True, session: bool = True) -> Outcome:
    first = build(folder / "one", "libamdhip64.so.6", 1)
    second = build(folder / "two", "libamdhip64.so.7", 2)
    return run_script(
        f"hips = [ctypes.CDLL(path) for path in {[str(first), str(second)]!r}]\n"
        f"for hip in hips: print(hip.{function}(), hip.{function}())\n",
        folder,
        traced=traced,
        preload_device=False,
        environment={} if session else {"KTRACE_SESSION_DIR": ""},
    )


@pytest.mark.parametrize("session", [True, False], ids=["session", "no-session"])
@pytest.mark.parametrize("function", ["ask_hsa", "ask_register"])
def test_each_copy_of_hip_reaches_what_it_was_linked_to(
    function: str, session: bool, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    plain = ask(tmp_path / "plain", function, traced=False)
    traced = ask(tmp_path, function, session=session)

    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "1 1\n2 2\n", "")
    assert (traced.returncode, traced.stdout, traced.stderr) == (0, "1 1\n2 2\n", "")


def test_a_register_of_any_name_in_a_local_scope_is_told(tmp_path: Path) -> None:
    hip = build(tmp_path / "one", "libamdhip64.so.7", 9)
    outcome = run_script(
        f"print(ctypes.CDLL({str(hip)!r}).ask_register())\n", tmp_path, preload_device=False
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "9\n", "")


@pytest.mark.parametrize(
    "call",
    [
        "program.dlsym(None, b'hipModuleLaunchKernel')",
        "program.dlvsym(None, b'hipModuleLaunchKernel', b'hip_4.2')",
        "program.dlopen(b'libm.so.6', os.RTLD_NOW | os.RTLD_DEEPBIND)",
    ],
)
def test_a_lookup_that_succeeds_leaves_errno_alone(call: str, tmp_path: Path) -> None:
    outcome = run_script(
        "hip = open_hip()\nprogram = ctypes.CDLL(None, use_errno=True)\n"
        "for name in ('dlsym', 'dlvsym', 'dlopen'): program[name].restype = ctypes.c_void_p\n"
        f"ctypes.set_errno(77)\nfound = {call}\nprint(found is not None, ctypes.get_errno())\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "True 77\n", "")
