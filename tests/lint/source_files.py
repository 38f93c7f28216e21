"""The files that the checks look at: those that git tracks, or would track once added."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".rs", ".cmake"}
CXX_SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}

# Kept byte for byte as they came, or made by a program.
DATA_FOLDERS = ("tests/data/", "examples/models/", "engine/checkpoint/assets/")


def tracked(root: pathlib.Path = ROOT) -> list[str]:
    """Paths from the root, with /, sorted. Ignored files and deleted ones are left out."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted({path for path in listed.split("\0") if path and (root / path).is_file()})


def is_data(path: str) -> bool:
    return path.startswith(DATA_FOLDERS)


def sources(suffixes: set[str] = SOURCE_SUFFIXES, root: pathlib.Path = ROOT) -> list[str]:
    return [path for path in tracked(root) if pathlib.PurePath(path).suffix in suffixes and not is_data(path)]
