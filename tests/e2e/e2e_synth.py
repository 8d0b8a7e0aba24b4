# SPDX-License-Identifier: MIT OR Apache-2.0
"""Synthetic sectors prove and verify: under the reference's keys at 2 KiB, under keys of our own at 32 KiB. (PoRep: e2e_porep.py.)
e2e_synth.py PROGRAM"""
import json
import os

import harness
from harness import ProgramTest, fixture


class Synthetic(ProgramTest):
    def prove(self, kind, circuit, size, records, meta, *more):
        """Makes, proves and verifies; returns the number of proofs. The meta file and the records are those of the kind."""
        made, params, vk, out = (self.path(n) for n in ("made", "params", "vk", "proof.json"))
        known = size == "2KiB"
        waste = ("--toxic-waste", fixture(f"params/{circuit}.json")) if known else ()
        self.ok("synth", kind, "--sector-size", size, "--seed", "5", "--out", made, *more)
        self.ok("params", "generate", circuit, "--out", params, "--vk", vk, *waste)
        if known:
            with open(vk, "rb") as a, open(fixture(f"params/{circuit}.vk"), "rb") as b:
                self.assertEqual(a.read(), b.read())
        meta = ("--meta", os.path.join(made, meta))
        self.ok("prove", kind, *meta, "--vanilla", *(os.path.join(made, r) for r in records), "--params", params, "--out", out, "--json")
        self.ok("verify", kind, *meta, "--vk", vk, "--proof", out)
        os.unlink(params)
        with open(out, encoding="utf-8") as f:
            proofs = json.load(f)
        return len(proofs) if isinstance(proofs, list) else 1

    def test_winning_post(self):
        for size in ("2KiB", "32KiB"):
            with self.subTest(size=size):
                self.setUp()
                self.assertEqual(self.prove("winning-post", f"winning-{size.lower()}", size, ["winning-1.vanilla.bin"], "winning.meta.json"), 1)

    def test_window_post(self):
        records = [f"window-{n}.vanilla.bin" for n in (8, 9, 10)]
        for size in ("2KiB", "32KiB"):
            with self.subTest(size=size):
                self.setUp()
                self.assertEqual(self.prove("window-post", f"window-{size.lower()}", size, records, "window.meta.json", "--sectors", "3",
                                            "--sector-number", "8"), 2)

    def test_snap(self):
        self.assertEqual(self.prove("snap", "update-2kib", "2KiB", ["update.p0.vanilla.bin"], "update.meta.json"), 1)


if __name__ == "__main__":
    harness.main()
