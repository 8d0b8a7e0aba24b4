# SPDX-License-Identifier: MIT OR Apache-2.0
"""Synthetic sectors from outside. test_synth.py PROGRAM"""
import json
import os

import harness
from harness import ProgramTest


class Synth(ProgramTest):
    def test_a_phase_1_output(self):
        c1 = self.path("c1.json")
        made = self.ok_json("synth", "porep", "--sector-size", "32KiB", "--seed", "7", "--miner", "77", "--sector-number", "8", "--out", c1)
        text = self.read("c1.json")
        self.assertEqual(made, {"kind": "porep", "out": c1, "files": 1, "bytes": len(text)})
        doc = json.loads(text)
        self.assertEqual(list(doc), ["registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id", "seed", "ticket"])
        self.assertEqual(doc["registered_proof"], "StackedDrg32KiBV1_1")
        self.assertEqual(json.dumps(doc, separators=(",", ":")).encode(), text)
        again = self.path("again.json")
        self.ok("synth", "porep", "--sector-size", "32KiB", "--seed", "7", "--miner", "77", "--sector-number", "8", "--out", again,
                "--threads", "1")
        self.assertEqual(self.read("again.json"), text)
        self.ok("synth", "porep", "--sector-size", "2KiB", "--api", "1.0", "--out", again)
        self.assertEqual(json.loads(self.read("again.json"))["registered_proof"], "StackedDrg2KiBV1")

    def test_folders_of_records(self):
        made = self.ok("synth", "window-post", "--sector-size", "8MiB", "--sectors", "3", "--sector-number", "99", "--out", self.path("w"))
        self.assertIn("4 files", made.stdout)
        self.assertEqual(sorted(os.listdir(self.path("w"))),
                         ["window-100.vanilla.bin", "window-101.vanilla.bin", "window-99.vanilla.bin", "window.meta.json"])
        meta = json.loads(self.read("w/window.meta.json"))
        self.assertEqual([s["sector_number"] for s in meta["sectors"]], [99, 100, 101])
        self.assertEqual((meta["partitions"], meta["api_version"], meta["sector_size"]), (2, "1.2.0", 8 << 20))
        self.ok("synth", "winning-post", "--sector-size", "8MiB", "--out", self.path("w"))  # into a folder that is there
        self.assertEqual(len(self.read("w/winning-1.vanilla.bin")), 100176)
        self.ok("synth", "snap", "--sector-size", "8MiB", "--out", self.path("u"))
        self.assertEqual(sorted(os.listdir(self.path("u"))), ["update.meta.json"] + [f"update.p{k}.vanilla.bin" for k in range(4)])
        self.ok("synth", "snap", "--sector-size", "8MiB", "--partition", "3", "--out", self.path("u3"))
        self.assertEqual(sorted(os.listdir(self.path("u3"))), ["update.meta.json", "update.p3.vanilla.bin"])
        self.assertEqual(self.read("u3/update.p3.vanilla.bin"), self.read("u/update.p3.vanilla.bin"))

    def test_what_is_refused(self):
        out = self.path("out")
        self.fails(64, "E_USAGE", "synth", "porep", "--sector-size", "1GiB", "--out", out, says="--sector-size 1GiB")
        self.fails(64, "E_USAGE", "synth", "porep", "--sector-size", "2KiB", says="--out")
        self.fails(64, "E_USAGE", "synth", "snap", "--sector-size", "2KiB", "--out", out, "--api", "1.0")
        self.fails(64, "E_USAGE", "synth", "window-post", "--sector-size", "2KiB", "--out", out, "--sectors", "0")
        self.fails(2, "E_ARG", "synth", "porep", "--sector-size", "2KiB", "--out", out, "--api", "1.2", says="API 1.2")
        self.fails(2, "E_ARG", "synth", "snap", "--sector-size", "2KiB", "--out", out, "--partition", "1", says="partition 1 of 1")
        self.assertFalse(os.path.isfile(out))

    def test_what_cannot_be_written(self):
        self.fails(6, "E_NOSPC", "synth", "porep", "--sector-size", "2KiB", "--out", "/dev/full")
        self.fails(6, "E_NOENT", "synth", "snap", "--sector-size", "2KiB", "--out", self.path("no/such"), says="no/such")
        self.write("file", b"x")
        self.fails(6, "E_IO", "synth", "snap", "--sector-size", "2KiB", "--out", self.path("file"))
        self.assertEqual(self.read("file"), b"x")


if __name__ == "__main__":
    harness.main()
