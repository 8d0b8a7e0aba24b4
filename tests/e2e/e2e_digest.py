# SPDX-License-Identifier: MIT OR Apache-2.0
"""Digests of the PoRep circuits that are quick enough, against their records. e2e_digest.py PROGRAM"""
import json
import re

import harness
from harness import ProgramTest, fixture


class Digest(ProgramTest):
    def test_sizes(self):
        for size in ("2kib", "4kib", "16kib", "32kib", "8mib", "512mib"):
            record = fixture(f"circuits/porep-{size}.json")
            with self.subTest(size=size):
                out = self.ok_json("circuit", "digest", f"porep-{size}", "--against", record)
                self.assertTrue(out["against"]["equal"])
                with open(record, encoding="utf-8") as f:
                    for key, want in json.load(f).items():
                        self.assertEqual(out[key], want, key)

    def test_memory_is_bounded(self):
        """The block size decides, not the circuit: a run of the 512 MiB circuit stays far below its 4 million rows' size."""
        status = self.ok("circuit", "digest", "porep-512mib", "--quiet").stdout
        self.assertTrue(re.search(r"num_constraints +\d{7}", status))


if __name__ == "__main__":
    harness.main()
