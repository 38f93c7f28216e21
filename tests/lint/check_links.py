#!/usr/bin/env python3
"""Checks that every relative link of every Markdown page leads to a file, and every anchor to a heading.

Files named in `backticks` under a top-level folder must exist too, so that a moved file is noticed.
"""

import pathlib
import re
import sys

import source_files
from source_files import ROOT

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
TICKED = re.compile(r"`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+)`")


def anchors(page: pathlib.Path) -> set[str]:
    found = set()
    for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(kept.replace(" ", "-"))
    return found


def check_link(page: pathlib.Path, link: str) -> str | None:
    if re.match(r"[a-z]+:", link):
        return None  # elsewhere
    target, _, anchor = link.partition("#")
    file = (page.parent / target) if target else page
    if not file.exists():
        return f"leads nowhere: {link}"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return f"no such heading: {link}"
    return None


def main() -> int:
    paths = set(source_files.tracked())
    folders = {str(parent) for path in paths for parent in pathlib.PurePosixPath(path).parents}
    tops = {path.split("/")[0] for path in paths if "/" in path}
    # A data folder's page came with the data and names what was beside it where it was made.
    pages = [path for path in paths if path.endswith(".md") and not source_files.is_data(path)]
    found = []
    for path in sorted(pages):
        text = (ROOT / path).read_text(encoding="utf-8")
        prose = CODE_BLOCK.sub("", text)
        found += [f"{path}: {why}" for link in LINK.findall(prose) if (why := check_link(ROOT / path, link))]
        for name in TICKED.findall(prose):
            if name.split("/")[0] in tops and name not in paths and name.rstrip("/") not in folders:
                found.append(f"{path}: no such file: {name}")
    print("\n".join(found + [f"links: {len(pages)} pages, {len(found)} violations"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
