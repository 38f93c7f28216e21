#!/usr/bin/env python3
"""Checks what the house style says of files and no compiler notices.

Usage: check_sources.py {lines|headers|folders|text|size}

Each check prints one line for each violation, as PATH:LINE: WHAT, and exits with 1 when there is any.
"""

import pathlib
import re
import sys

import source_files
from source_files import ROOT

MOST_LINES = 500
# Of everything tracked: what a clone fetches and what a packed history bears.
MOST_BYTES = 54 * 1024 * 1024

# Text that belongs to one machine or one workplace, never to the project. Built from pieces so that
# this file passes its own check.
FORBIDDEN = [
    (re.compile("(?<![A-Za-z0-9_.-])/" + "work/"), "a path of one machine"),
    (re.compile(r"\.\./" + "shared"), "a path outside the project"),
    (re.compile("(?<![A-Za-z0-9_.$}-])/" + r"root/\."), "a path of one machine"),
    (re.compile("(deb|security)" + r"\.debian\.org|py" + r"pi\.org|files\.python" + r"hosted\.org|crates" + r"\.io/|index\.crates"),
     "a registry's host"),
    (re.compile("TO" + r"DO(?!\(#\d+\))|FIX" + "ME"), "unfinished work without an issue number"),
    (re.compile("NO" + r"LINT(?!NEXTLINE|BEGIN|END|\()|NO" + r"LINT(NEXTLINE|BEGIN|END)(?!\()"), "a silenced check without its name"),
]  # fmt: skip


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def check_lines() -> list[str]:
    """No source file is longer than the house style allows."""
    found = []
    for path in source_files.sources():
        lines = read(path).count("\n")
        if lines > MOST_LINES:
            found.append(f"{path}:{lines}: {lines} lines, the limit is {MOST_LINES}")
    return found


def check_headers() -> list[str]:
    """Every header opens with a contract and is guarded by #pragma once."""
    found = []
    for path in source_files.sources({".h", ".cuh"}):
        text = read(path)
        if not text.startswith("//"):
            found.append(f"{path}:1: a header opens with its contract, a comment")
        # Highway includes a "-inl.h" file once for each instruction set: the guard is a toggle there.
        if "#pragma once" not in text and "HWY_TARGET_TOGGLE" not in text:
            found.append(f"{path}:1: no #pragma once")
    return found


def check_folders() -> list[str]:
    """Every folder with C++ in it lists its files in the CMakeLists.txt of itself or of a parent."""
    found = []
    for path in source_files.sources({".cpp", ".cu"}):
        folder = pathlib.PurePosixPath(path).parent
        for parent in [folder, *folder.parents]:
            listing = ROOT / parent / "CMakeLists.txt"
            name = re.escape(str(pathlib.PurePosixPath(path).relative_to(parent)))
            if listing.is_file() and re.search(rf"(?<![\w/.-])(\$\{{\w+\}}/)?{name}(?![\w.-])", listing.read_text(encoding="utf-8")):
                break
        else:
            found.append(f"{path}:1: no CMakeLists.txt lists it, so nothing builds it")
    return found


def check_text() -> list[str]:
    """Nothing tracked names the machine, the workplace or the registries it was made with."""
    found = []
    for path in source_files.tracked():
        if source_files.is_data(path) or path.endswith("Cargo.lock"):
            continue
        try:
            text = read(path)
        except UnicodeDecodeError:
            continue  # not text
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"{path}:{number}: {why}" for pattern, why in FORBIDDEN if pattern.search(line)]
    return found


def check_size() -> list[str]:
    """All tracked files together stay small enough to clone."""
    total = sum((ROOT / path).stat().st_size for path in source_files.tracked())
    if total <= MOST_BYTES:
        return []
    return [f".:1: tracked files take {total} bytes, the limit is {MOST_BYTES}"]


CHECKS = {
    "lines": check_lines,
    "headers": check_headers,
    "folders": check_folders,
    "text": check_text,
    "size": check_size,
}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    found = CHECKS[sys.argv[1]]()
    print("\n".join(found + [f"{sys.argv[1]}: {len(found)} violations"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
