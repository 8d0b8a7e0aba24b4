# SPDX-License-Identifier: MIT OR Apache-2.0
"""WinningPoSt, WindowPoSt and SnapDeals on the bundled sectors: every witness record; parameters from the reference's toxic waste and
proofs from its blinding values, byte for byte. e2e_kinds.py PROGRAM"""
import glob
import os
import re
import shutil
import tempfile

import harness
from harness import ProgramTest, fixture, inputs_of, load


class Kinds(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="cuzk-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.work, True)

    def test_every_record(self):
        records = [r for r in sorted(glob.glob(fixture("sectors/*/*.witness.json"))) if "/porep-" not in r]
        self.assertGreaterEqual(len(records), 16)
        for record in records:
            stem, k = re.fullmatch(r"(.*)\.p(\d+)\.witness\.json", record).groups()
            with self.subTest(record=record):
                out = self.ok_json("circuit", "witness", *inputs_of(stem), "--partition", k, "--against", record)
                self.assertTrue(out["against"]["equal"])
                want = load(record)
                for key in set(want) - {"record"}:
                    self.assertEqual(out[key], want[key], key)

    def test_constraints_hold(self):
        for stem in ("s2k/winning", "x2k/window3", "s2k/update"):
            with self.subTest(stem=stem):
                self.assertTrue(self.ok_json("circuit", "check", *inputs_of(fixture("sectors", stem)))["satisfied"])

    def parameters(self, circuit):
        record, path = fixture(f"params/{circuit}.json"), os.path.join(self.work, circuit + ".params")
        made = self.ok_json("params", "generate", circuit, "--toxic-waste", record, "--out", path, "--against", record)
        self.assertTrue(made["against"]["equal"])
        self.assertEqual(made["params_sha256"], load(record)["params_sha256"])
        self.ok("params", "check", path, "--circuit", circuit)
        return path

    def prove_all(self, circuit, stems):
        params = self.parameters(circuit)
        for stem in stems:
            stem = fixture("sectors", stem)
            proofs = sorted(glob.glob(stem + ".p*.proof.json"))
            self.assertTrue(proofs)
            kind, *words = inputs_of(stem)
            for k, proof in enumerate(proofs):
                with self.subTest(proof=proof):
                    out = self.path("out.json")
                    report = self.ok_json("prove", kind, *words, "--params", params, "--out", out, "--randomness", proof,
                                          "--partition", str(k))
                    self.assertEqual(report["proof"], load(proof)["proof"])
                    self.assertEqual(load(out), load(proof))
            # all partitions at once, random: raw bytes in their order
            self.ok("prove", kind, *words, "--params", params, "--out", self.path("raw"))
            self.assertEqual(len(self.read("raw")), 192 * len(proofs))
            self.ok("verify", kind, *words, "--vk", params, "--proof", self.path("raw"))

    def test_window_post(self):
        self.prove_all("window-2kib", ("s2k/window", "x2k/window1", "x2k/window3", "x2k/window3old"))

    def test_winning_post(self):
        self.prove_all("winning-2kib", ("s2k/winning",))

    def test_snap(self):
        self.prove_all("update-2kib", ("s2k/update",))


if __name__ == "__main__":
    harness.main()
