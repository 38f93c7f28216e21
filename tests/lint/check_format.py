#!/usr/bin/env python3
"""Checks that clang-format 14 would change nothing. Mend with: clang-format-14 -i FILE"""

import shutil
import subprocess
import sys

import source_files


def find_formatter() -> str:
    for name in ("clang-format-14", "clang-format"):
        path = shutil.which(name)
        if path and " 14." in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    sys.exit("no clang-format 14: run packaging/install-deps.sh --with-checks")


def main() -> int:
    files = source_files.sources(source_files.CXX_SUFFIXES)
    done = subprocess.run([find_formatter(), "--dry-run", "--Werror", *files], cwd=source_files.ROOT)
    print(f"format: {len(files)} files")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
