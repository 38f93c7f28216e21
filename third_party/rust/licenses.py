"""Writes LICENSES.md: the crates that are linked into the Rust library, with their licences.

Run: python3 licenses.py [--check] [--cargo PATH] [--offline]
--check compares instead of writing, and fails when the file is stale.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TARGET = "x86_64-unknown-linux-gnu"


def metadata(cargo: str, offline: bool) -> dict:
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    command += ["--manifest-path", str(HERE / "Cargo.toml")]
    if offline:
        command.append("--offline")
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def page(data: dict) -> str:
    used = {node["id"] for node in data["resolve"]["nodes"]} - {data["resolve"]["root"]}
    crates = [package for package in data["packages"] if package["id"] in used]
    lines = [
        "# Licences of the Rust crates",
        "",
        f"Made by `licenses.py` from `Cargo.lock` for {TARGET}; a test fails when it is stale.",
        "",
        "| crate | version | licence | source |",
        "|---|---|---|---|",
    ]
    for crate in sorted(crates, key=lambda c: (c["name"], c["version"])):
        licence = crate["license"] or f"file {crate['license_file']}"
        lines.append(f"| {crate['name']} | {crate['version']} | {licence} | {crate['repository'] or ''} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--cargo", default="cargo")
    parser.add_argument("--offline", action="store_true")
    arguments = parser.parse_args()

    file = HERE / "LICENSES.md"
    fresh = page(metadata(arguments.cargo, arguments.offline))
    if not arguments.check:
        file.write_text(fresh, encoding="utf-8")
        return 0
    if file.exists() and file.read_text(encoding="utf-8") == fresh:
        return 0
    print(f"{file.name} is stale: run python3 third_party/rust/{pathlib.Path(__file__).name}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
