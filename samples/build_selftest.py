"""Build the code objects of `ktrace selftest`, for every target, as samples/build.py does.

python samples/build_selftest.py             write src/ktrace_cli/selftest/kernels/*.TARGET.co
python samples/build_selftest.py --check     say whether the files are what this compiler makes
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from build import main

KERNELS = "src/ktrace_cli/selftest/kernels"
TRACED_BY_NAME = {"markers": True, "polling": True, "probes": False}
OLDER = "gfx90a"  # every compiler knows it; there is no sample for it


@dataclass(frozen=True)
class SelftestObject:
    """One of the selftest's sources, for one target."""

    name: str
    target: str
    traced: bool

    @property
    def source(self) -> str:
        """The kernels, relative to the repository."""
        return f"{KERNELS}/{self.name}.hip"

    @property
    def path(self) -> str:
        """Where it is kept, relative to the repository."""
        return f"{KERNELS}/{self.name}.{self.target}.co"


def selftest_objects(targets: Sequence[str]) -> Iterator[SelftestObject]:
    """Yield what there is to make for `targets` and the older one."""
    for name, traced in TRACED_BY_NAME.items():
        for target in (OLDER, *targets):
            yield SelftestObject(name, target, traced)


if __name__ == "__main__":
    sys.exit(main(selftest_objects, "the selftest's"))
