# SPDX-License-Identifier: MIT OR Apache-2.0
"""Digests of the PoRep circuits against their records. e2e_digest.py PROGRAM"""
import json
import resource

import harness
from harness import ProgramTest, fixture


class Digest(ProgramTest):
    def equal(self, size, **more):
        record = fixture(f"circuits/porep-{size}.json")
        out = json.loads(self.ok("circuit", "digest", f"porep-{size}", "--against", record, "--json", "--threads", "2", **more).stdout)
        self.assertTrue(out["against"]["equal"])
        with open(record, encoding="utf-8") as f:
            for key, want in json.load(f).items():
                self.assertEqual(out[key], want, key)
        return out

    def test_sizes(self):
        for size in ("2kib", "4kib", "16kib", "32kib", "8mib", "512mib"):
            with self.subTest(size=size):
                self.equal(size)

    def test_memory_is_bounded(self):
        """The block size decides, not the circuit: the values of its variables alone would need several times as much."""
        def little_room():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        for size in ("32gib", "64gib"):
            with self.subTest(size=size):
                self.assertGreater(32 * self.equal(size, preexec_fn=little_room)["num_aux"], 3 << 30)


if __name__ == "__main__":
    harness.main()
