#!/usr/bin/env python3
"""Proves that the checks find what they are for: each is run on a small tree with one violation."""

import pathlib
import subprocess
import tempfile
import unittest

import check_links
import check_sources
import source_files


class ChecksFindViolations(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "--quiet", str(self.root)], check=True)
        self.real_root = source_files.ROOT
        listing = source_files.tracked
        # The checks ask for the files of this tree instead of the project's.
        source_files.tracked = lambda root=self.root: listing(self.root)
        check_sources.ROOT = check_links.ROOT = self.root
        self.addCleanup(self.restore, listing)

    def restore(self, listing):
        source_files.tracked = listing
        check_sources.ROOT = check_links.ROOT = self.real_root

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def test_a_file_of_501_lines_is_too_long(self):
        self.write("base/long.cpp", "\n" * 501)
        self.write("base/short.cpp", "\n" * 500)

        self.assertEqual(["base/long.cpp:501: 501 lines, the limit is 500"], check_sources.check_lines())

    def test_a_header_needs_a_contract_and_a_guard(self):
        self.write("base/good.h", "// Says what it is.\n#pragma once\n")
        self.write("base/bad.h", "#include <string>\n")

        self.assertEqual(2, len(check_sources.check_headers()))

    def test_a_source_that_no_list_names_is_found(self):
        self.write("base/CMakeLists.txt", "add_library(base STATIC listed.cpp inner/below.cpp)\n")
        self.write("base/listed.cpp", "")
        self.write("base/inner/below.cpp", "")
        self.write("base/forgotten.cpp", "")

        self.assertEqual(
            ["base/forgotten.cpp:1: no CMakeLists.txt lists it, so nothing builds it"], check_sources.check_folders()
        )

    def test_a_path_of_one_machine_is_found_and_an_ordinary_path_is_not(self):
        self.write("docs/bad.md", "see /" + "work/notes\n")
        self.write("docs/good.md", "see net" + "work/notes and /var/lib/deepinfer\n")

        self.assertEqual(["docs/bad.md:1: a path of one machine"], check_sources.check_text())

    def test_an_ignored_file_is_not_looked_at(self):
        self.write(".gitignore", "/build/\n")
        self.write("build/generated.h", "")

        self.assertEqual([], check_sources.check_headers())

    def test_links_and_anchors_lead_somewhere(self):
        page = self.root / "docs/page.md"
        self.write("docs/page.md", "# The first heading\n")

        self.assertIsNone(check_links.check_link(page, "page.md"))
        self.assertIsNone(check_links.check_link(page, "#the-first-heading"))
        self.assertIsNone(check_links.check_link(page, "https://example.org/any"))
        self.assertEqual("leads nowhere: gone.md", check_links.check_link(page, "gone.md"))
        self.assertEqual("no such heading: #gone", check_links.check_link(page, "#gone"))


if __name__ == "__main__":
    unittest.main()
