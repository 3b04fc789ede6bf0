"""Runs at the start of every Python that `ktrace run` starts: waits for FlyDSL, and does no more.

When `flydsl.expr.ktrace_common` is imported, the names of events that it knows go into a file of
the session's folder, whenever they change; the interposer puts them into the recording. This file
stands alone: the program's Python may be any, without ktrace. Another `sitecustomize` runs as well.
"""

# mypy: ignore-errors
# Without annotations: the program's Python may be older than ktrace's.

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_NAMES = "flydsl.expr.ktrace_common"
_FIX = "events are called after their ids: name them with `--names`, or use FlyDSL 0.4.2 to 0.5.x"


def _say(text):
    sys.stderr.write("ktrace: warning: %s\n" % text)


class _Finder:
    """Lets others find the one module that matters, and looks at it once it has run."""

    is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name != _NAMES or self.is_asking:
            return None
        self.is_asking = True  # a run within a run has two of these, which ask each other
        try:
            return self._ask_others(name, path, target)
        finally:
            self.is_asking = False

    def _ask_others(self, name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                _watch(spec.loader)
                return spec
        return None


def _watch(loader):
    run = getattr(loader, "exec_module", None)
    if run is None:
        return

    def exec_module(module):
        run(module)
        _harvest(module)

    try:
        loader.exec_module = exec_module
    except AttributeError:
        _say("FlyDSL's names cannot be read from %s: %s" % (type(loader).__name__, _FIX))


def _harvest(module):
    """Write down the names now and whenever FlyDSL has merged others into them."""
    version = str(getattr(sys.modules.get("flydsl"), "__version__", "of an unknown version"))
    merge = getattr(module, "_merge_names", None)
    if not callable(merge) or not callable(getattr(module, "name_table", None)):
        _say("FlyDSL %s keeps its names elsewhere: %s" % (version, _FIX))
        return
    if version != "0.4.2" and not version.startswith("0.5."):
        _say(
            "FlyDSL %s is not one that ktrace knows (0.4.2 and 0.5.x): taken as if it was" % version
        )

    def merge_names(*arguments, **more):
        merge(*arguments, **more)
        _write(version, module.name_table())

    module._merge_names = merge_names
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _write(version, module.name_table()))


def _write(version, names):
    import json

    session = os.environ.get("KTRACE_SESSION_DIR")
    if not session or not names:
        return
    path = os.path.join(session, "flydsl.%d.json" % os.getpid())
    try:
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"tool": "flydsl", "version": version, "names": names}, file)
        os.replace(path + ".new", path)
    except OSError as error:
        _say("FlyDSL's names could not be written to %s: %s" % (path, error.strerror or error))


def _run_the_other():
    """Run the sitecustomize that Python would have found without this one."""
    # Python's own, already loaded: importlib.util would bring a dozen modules into every program.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _run_the_other_in_python_2():
    import imp

    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _FOLDER]
    try:
        found = imp.find_module("sitecustomize", sys.path)
    except ImportError:
        return
    this = sys.modules.pop("sitecustomize")  # else it would be filled anew; `this` keeps it alive
    try:
        imp.load_module("sitecustomize", *found)
    finally:
        found[0].close()
        this.is_done = True


if sys.version_info[0] < 3:  # noqa: UP036 - the program's Python, not ktrace's
    _run_the_other_in_python_2()  # FlyDSL needs a newer one, so there is nothing to wait for
else:
    if os.environ.get("KTRACE_SESSION_DIR"):
        sys.meta_path.insert(0, _Finder())
    _run_the_other()
