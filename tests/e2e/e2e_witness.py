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

    def test_a_changed_sibling_is_unsatisfied(self):
        with open(fixture("sectors/s2k/porep-10.c1.json"), encoding="utf-8") as f:
            doc = json.load(f)
        vanilla = next(k for k in doc if "vanilla" in k)
        inner = doc[vanilla]
        lists = inner if isinstance(inner, list) else next(iter(inner.values()))
        label = lists[0][0]["labeling_proofs"][0]

        def first_leaf(x):
            """The first list of 32 bytes of a sibling hash in a Merkle proof."""
            if isinstance(x, dict):
                for v in x.values():
                    found = first_leaf(v)
                    if found is not None:
                        return found
            if isinstance(x, list):
                if len(x) == 32 and all(isinstance(b, int) for b in x):
                    return x
                for v in x:
                    found = first_leaf(v)
                    if found is not None:
                        return found
            return None
        self.assertIsNotNone(label)
        leaf = first_leaf(lists[0][0]["comm_d_proofs"]["data"] if "data" in lists[0][0]["comm_d_proofs"] else
                          lists[0][0]["comm_d_proofs"])
        leaf[0] ^= 1
        path = self.write("c1.json", json.dumps(doc, separators=(",", ":")))
        r = harness.run("circuit", "check", "porep", "--c1", path, "--json")
        if r.returncode == 1:
            part = json.loads(r.stdout)["partitions"][0]
            self.assertFalse(part["satisfied"])
            self.assertIn("challenge_0", part["region"])
        else:
            # what the reader already finds contradictory never becomes a witness
            self.assertEqual((r.returncode, json.loads(r.stderr)["name"]), (3, "E_MISMATCH"))


if __name__ == "__main__":
    harness.main()
