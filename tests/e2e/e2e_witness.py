# SPDX-License-Identifier: MIT OR Apache-2.0
"""Witness records of every bundled PoRep sector, and the place of a change. e2e_witness.py PROGRAM"""
import glob
import json
import re

import harness
from harness import ProgramTest, fixture


class Witness(ProgramTest):
    def test_every_record(self):
        records = sorted(glob.glob(fixture("sectors/*/porep-*.witness.json")))
        self.assertGreaterEqual(len(records), 10)
        for record in records:
            stem, k = re.fullmatch(r"(.*)\.p(\d+)\.witness\.json", record).groups()
            with self.subTest(record=record):
                out = self.ok_json("circuit", "witness", "porep", "--c1", stem + ".c1.json", "--partition", k, "--against", record)
                self.assertTrue(out["against"]["equal"])
                with open(record, encoding="utf-8") as f:
                    want = json.load(f)
                for key in set(want) - {"record"}:
                    self.assertEqual(out[key], want[key], key)

    def test_constraints_hold(self):
        out = self.ok_json("circuit", "check", "porep", "--c1", fixture("sectors/s2k/porep-10.c1.json"))
        self.assertTrue(out["satisfied"])

    def test_a_difference_is_placed(self):
        with open(fixture("sectors/s2k/porep-10.p0.witness.json"), encoding="utf-8") as f:
            record = json.load(f)
        record["aux_block_sha256"][30] = "00" * 32
        path = self.write("r.json", json.dumps(record))
        out = self.ok_json("circuit", "witness", "porep", "--c1", fixture("sectors/s2k/porep-10.c1.json"), "--partition", "0",
                           "--against", path, code=1)["against"]
        self.assertEqual((out["first_block"], out["first_aux"], out["aux"]), (30, 30 * 65536, 65536))
        self.assertIn("challenge_1", out["regions"])

    def test_a_changed_private_input_is_unsatisfied(self):
        c1 = fixture("sectors/s2k/porep-10.c1.json")
        single = ("data", "Single")
        columns = "replica_column_proofs"
        for where in [
            ("comm_d_proofs", *single, "leaf"),
            ("comm_d_proofs", *single, "path", "path", 3, "hashes", 0),
            ("comm_r_last_proof", *single, "path", "path", 1, "hashes", 6),
            (columns, "c_x", "inclusion_proof", *single, "path", "path", 0, "hashes", 2),
            (columns, "drg_parents", 2, "column", "rows", 1),
            (columns, "exp_parents", 7, "inclusion_proof", *single, "path", "path", 0, "hashes", 3),
        ]:
            with self.subTest(where=where):
                with open(c1, encoding="utf-8") as f:
                    doc = json.load(f)
                value = doc["vanilla_proofs"]["StackedDrg2KiBV1"][0][1]
                for step in where:
                    value = value[step]
                value[0] ^= 1
                path = self.write("c1.json", json.dumps(doc, separators=(",", ":")))
                part = self.ok_json("circuit", "check", "porep", "--c1", path, code=1)["partitions"][0]
                self.assertFalse(part["satisfied"])
                self.assertIn("challenge_1", part["region"])
                # and it is found before any proving
                self.fails_before_proving(path)

    def fails_before_proving(self, path):
        self.fails(3, "E_MISMATCH", "prove", "porep", "--c1", path, "--params", self.small(), "--out", self.path("out"))

    def small(self):
        """A parameter file, so that the inputs are looked at; its own mismatch would be found only later."""
        path = self.path("small.params")
        if not glob.glob(path):
            self.ok("params", "generate", "bits-8", "--out", path, "--quiet")
        return path


if __name__ == "__main__":
    harness.main()
