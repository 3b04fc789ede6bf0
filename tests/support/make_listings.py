"""Writes support/listings: `python tests/support/make_listings.py LLVM-OBJDUMP`, run by hand.

Listings of samples' code objects, for machines that have no disassembler. A sample that was built
again needs a new listing: `support/listings/llvm-objdump` knows it by its bytes.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "listings"
SAMPLES = (
    "samples/saxpy/saxpy.gfx942.co",
    "samples/gemm/gemm.gfx942.co",
    "samples/gemm/gemm.gfx942.untraced.co",
)
# Where a branch goes is in its operand, too.
_TARGET = re.compile(r" <[^>]*\+0x[0-9a-f]+>$", re.MULTILINE)


def main() -> None:
    (objdump,) = sys.argv[1:]
    names = {}
    for sample in SAMPLES:
        path = ROOT / sample
        command = [objdump, "--disassemble", "--line-numbers", path.name]
        text = subprocess.run(
            command, cwd=path.parent, capture_output=True, text=True, check=True
        ).stdout
        listing = re.sub(r" +// ", " // ", _TARGET.sub("", text))
        (FOLDER / f"{path.name}.txt").write_text(listing)
        names[hashlib.sha256(path.read_bytes()).hexdigest()] = f"{path.name}.txt"
    index = "".join(f"{digest}  {name}\n" for digest, name in names.items())
    (FOLDER / "SHA256SUMS").write_text(index)


if __name__ == "__main__":
    main()
