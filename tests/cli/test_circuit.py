# SPDX-License-Identifier: MIT OR Apache-2.0
"""cuzk circuit: records of the gadgets, comparison with damaged records. test_circuit.py PROGRAM"""
import hashlib
import json
import os

import harness
from harness import ProgramTest, fixture

INDEX = fixture("gadgets/index.json")


def records():
    with open(INDEX, encoding="utf-8") as f:
        return json.load(f)


class Circuits(ProgramTest):
    def test_list_has_every_record(self):
        names = {c["circuit"] for c in self.ok_json("circuit", "list")}
        for r in records():
            self.assertIn(r["circuit"], names)
        for size in ("2kib", "4kib", "16kib", "32kib", "8mib", "512mib", "32gib", "64gib"):
            self.assertIn(f"porep-{size}", names)
        self.assertIn("porep-2kib", self.ok("circuit", "list").stdout)

    def test_every_gadget_equals_its_record(self):
        for r in records():
            name = r["circuit"]
            with self.subTest(gadget=name):
                out = self.ok_json("circuit", "digest", name, "--against", INDEX)
                self.assertTrue(out["against"]["equal"])
                for key in set(r) - {"dump", "note"}:
                    self.assertEqual(out[key], r[key], key)
                self.assertTrue(self.ok_json("circuit", "check", name)["satisfied"])

    def test_count(self):
        r = [x for x in records() if x["circuit"] == "sha256-64"][0]
        out = self.ok_json("circuit", "count", "sha256-64")
        for key in ("num_constraints", "num_aux", "num_inputs", "nnz_a", "nnz_b", "nnz_c", "a_aux_density"):
            self.assertEqual(out[key], r[key])
        self.assertGreaterEqual(2 ** out["log2_domain"], r["num_constraints"] + r["num_inputs"])
        self.assertIn(f"num_constraints      {r['num_constraints']}", self.ok("circuit", "count", "sha256-64").stdout)

    def test_compact_form(self):
        r = [x for x in records() if x["circuit"] == "sha256-64"][0]
        path = self.path("sha256-64.r1cs")
        out = self.ok_json("circuit", "compile", "sha256-64", "--out", path)
        self.assertEqual(out["file_bytes"], os.path.getsize(path))
        for key in ("digest", "num_constraints", "num_aux", "num_inputs", "nnz_a", "nnz_b", "nnz_c", "a_aux_density"):
            self.assertEqual(out[key], r[key])
        seen = self.ok_json("circuit", "inspect", path)
        self.assertEqual(len(seen.pop("list")), out["templates"])
        self.assertEqual(seen, out)
        self.assertIn("block 0", self.ok("circuit", "inspect", path).stdout)
        checked = self.ok_json("circuit", "check", path, "--against", INDEX)
        self.assertTrue(checked["against"]["equal"] and checked["stored_digest_equal"] and checked["stored_densities_equal"])
        self.assertTrue(self.ok_json("circuit", "check", "sha256-64", "--compact", path)["satisfied"])
        self.fails(3, "E_MISMATCH", "circuit", "check", "sha256-32", "--compact", path)
        self.fails(64, "E_USAGE", "circuit", "check", path, "--compact", path)
        self.fails(64, "E_USAGE", "circuit", "check", "sha256-64", "--against", INDEX)
        self.fails(6, "E_NOENT", "circuit", "check", path + ".r1cs")
        with open(path, "rb") as f:
            data = bytearray(f.read())
        data[128] ^= 1  # the digest stored, with a checksum that fits
        data[-32:] = hashlib.sha256(data[:-32]).digest()
        other = self.path("other.r1cs")
        with open(other, "wb") as f:
            f.write(data)
        self.assertFalse(self.ok_json("circuit", "check", other, code=1)["stored_digest_equal"])
        self.assertIn("does NOT have the digest", self.ok("circuit", "check", other, code=1).stdout)
        data[200] ^= 1
        with open(other, "wb") as f:
            f.write(data)
        self.fails(3, "E_FORMAT", "circuit", "inspect", other)

    def test_differences_are_named(self):
        r = [x for x in records() if x["circuit"] == "sha256-64"][0]
        r["block_digests"][0] = "00" + r["block_digests"][0][2:]
        r["digest"] = "11" * 32
        r["num_aux"] += 1
        path = self.write("record.json", json.dumps(r))
        out = self.ok_json("circuit", "digest", "sha256-64", "--against", path, code=1)["against"]
        self.assertFalse(out["equal"])
        self.assertEqual({d["field"] for d in out["differs"]}, {"block_digests[0]", "digest", "num_aux"})
        self.assertEqual((out["first_block"], out["first_constraint"], out["constraints"]), (0, 0, r["num_constraints"]))
        self.assertTrue(out["regions"])
        text = self.ok("circuit", "digest", "sha256-64", "--against", path, code=1).stdout
        self.assertIn("DIFFERS: num_aux is", text)
        self.assertIn("first block that differs: 0", text)
        self.assertIn(out["regions"], text)
        r = [x for x in records() if x["circuit"] == "sha256-64"][0]
        r["block_digests"].append("22" * 32)
        path = self.write("longer.json", json.dumps(r))
        out = self.ok_json("circuit", "digest", "sha256-64", "--against", path, code=1)["against"]
        self.assertEqual([d["field"] for d in out["differs"]], ["length of block_digests"])

    def test_a_later_block_is_placed(self):
        with open(fixture("circuits/porep-2kib.json"), encoding="utf-8") as f:
            r = json.load(f)
        r["block_digests"][40] = "33" * 32
        out = self.ok_json("circuit", "digest", "porep-2kib", "--against", self.write("r.json", json.dumps(r)), code=1)["against"]
        self.assertEqual((out["first_block"], out["first_constraint"], out["constraints"]), (40, 40 * 65536, 65536))
        self.assertIn("challenge_1", out["regions"])

    def test_records_that_cannot_be_used(self):
        r = records()[0]
        other = dict(r, circuit="other")
        for text, name, says in [
            (json.dumps(other), "E_MISMATCH", "a record of circuit other"),
            (json.dumps([other]), "E_MISMATCH", "no record of circuit"),
            (json.dumps({"circuit": r["circuit"]}), "E_FORMAT", "digest is missing"),
            ("{", "E_FORMAT", "not JSON"),
            ("7", "E_FORMAT", ""),
            ('{"a":1,"a":2}', "E_FORMAT", "not JSON"),
            (b'{"digest":"\xff\xfe"}', "E_FORMAT", "not JSON"),
            ("[" * 100000, "E_FORMAT", "not JSON"),
        ]:
            with self.subTest(text=text[:60]):
                self.fails(3, name, "circuit", "digest", r["circuit"], "--against", self.write("r.json", text), says=says)
        self.fails(6, "E_NOENT", "circuit", "digest", r["circuit"], "--against", self.path("absent"))


if __name__ == "__main__":
    harness.main()
