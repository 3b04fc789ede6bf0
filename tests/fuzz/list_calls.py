"""Write the table of HIP calls that hip_calls.cpp is built with, out of the sources.

`list_calls.py FOLDER OUTPUT`: every exported function of FOLDER/*.cpp that returns hipError_t
becomes a row that calls it with arguments drawn by type and by name, so that a new call is tried
without anyone's doing.
"""

import re
import sys
from pathlib import Path

EXPORT = re.compile(r"KTRACE_HIP_EXPORT hipError_t (\w+)\(([^{;]*?)\)\s*\{", re.DOTALL)
# One writes to files of any name, the other two are only called by what compilers make.
LEFT_OUT = {"hipGraphDebugDotPrint", "__hipPopCallConfiguration", "__hipPushCallConfiguration"}
NO_NAMES = {"int", "unsigned", "long", "char", "size_t", "uint32_t"}  # ends of types


def split_parameter(text: str) -> tuple[str, str]:
    """Type and name of a parameter; an array is a pointer, and the name may be missing."""
    text = re.sub(r"/\*.*?\*/", "", text).strip()
    if array := re.fullmatch(r"(.*?)(\w+)\[\]", text):
        return f"{array[1].strip()}*", array[2]
    named = re.fullmatch(r"(.*[\s*&])(\w+)", text)
    if named and named[2] not in NO_NAMES:
        return named[1].strip(), named[2]
    return text, ""


def rows_of(source: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Name and parameters of every call that the source defines."""
    found = []
    for name, parameters in EXPORT.findall(source):
        parts = [part for part in " ".join(parameters.split()).split(", ") if part]
        if name not in LEFT_OUT:
            found.append((name, [split_parameter(part) for part in parts]))
    return found


def main() -> None:
    """Write prototypes, then rows."""
    folder, output = map(Path, sys.argv[1:])
    rows = [row for path in sorted(folder.glob("*.cpp")) for row in rows_of(path.read_text())]
    prototypes = [
        f"hipError_t {name}({', '.join(kind for kind, _ in call)});" for name, call in rows
    ]
    lines = ['extern "C" {', *prototypes, "}", "const Call calls[] = {"]
    for name, call in rows:
        arguments = ", ".join(f'd.draw<{kind}>("{label}")' for kind, label in call)
        body = f"[]([[maybe_unused]] Draw& d) {{ return {name}({arguments}); }}"
        lines.append(f'    {{"{name}", {body}}},')
    output.write_text("\n".join([*lines, "};", ""]))


if __name__ == "__main__":
    main()
