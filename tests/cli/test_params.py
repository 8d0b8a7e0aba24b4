# SPDX-License-Identifier: MIT OR Apache-2.0
"""cuzk params on small circuits: made, inspected, checked, damaged. test_params.py PROGRAM"""
import hashlib
import json
import os
import resource

import harness
from harness import ProgramTest, g1_bytes, g1_infinity, g1_outside_subgroup

NAME = "poseidon-hash2"
TOXIC = {w: hashlib.sha256(w.encode()).digest()[:31].hex() + "00" for w in ("alpha", "beta", "gamma", "delta", "tau")}
SECTIONS = ("h", "l", "a", "b_g1", "b_g2")


class Params(ProgramTest):
    def setUp(self):
        super().setUp()
        self.toxic = self.write("toxic.json", json.dumps({"circuit": NAME, "toxic_waste_le": TOXIC}))
        self.file = self.path("small.params")

    def make(self, *more):
        return self.ok_json("params", "generate", NAME, "--toxic-waste", self.toxic, "--out", self.file, *more)

    def test_made_inspected_checked(self):
        made = self.make("--vk", self.path("small.vk"))
        data = self.read("small.params")
        self.assertEqual(made["params_sha256"], hashlib.sha256(data).hexdigest())
        self.assertEqual(made["params_bytes"], len(data))
        seen = self.ok_json("params", "inspect", self.file)
        self.assertEqual(seen["params_sha256"], made["params_sha256"])
        self.assertEqual(seen["params_digest"], hashlib.blake2b(data).hexdigest()[:32])
        self.assertEqual(seen["sections"]["end"], len(data))
        for s in SECTIONS:
            sec = seen["sections"][s]
            self.assertEqual(int.from_bytes(data[sec["offset"]:sec["offset"] + 4], "big"), sec["count"])
            size = 192 if s == "b_g2" else 96
            points = data[sec["offset"] + 4:sec["offset"] + 4 + size * sec["count"]]
            self.assertEqual(sec["sha256_points"], hashlib.sha256(points).hexdigest())
            self.assertEqual(made["sections"][s], {"count": sec["count"], "offset": sec["offset"]})
        self.assertEqual(seen["sections"]["vk_points"]["sha256"], hashlib.sha256(data[:864]).hexdigest())
        vk = self.read("small.vk")
        self.assertEqual(vk, data[:len(vk)])
        self.assertEqual(len(vk), seen["sections"]["h"]["offset"])
        self.assertTrue(self.ok_json("params", "check", self.file, "--full", "--circuit", NAME)["ok"])
        self.assertIn("all points on the curve", self.ok("params", "check", self.file).stdout)
        # a record made of it agrees, a changed one does not
        record = self.write("record.json", json.dumps(seen))
        self.assertTrue(self.ok_json("params", "inspect", self.file, "--against", record)["against"]["equal"])
        self.assertTrue(self.make("--against", record)["against"]["equal"])
        seen["sections"]["l"]["count"] += 1
        seen["params_sha256"] = "00" * 32
        record = self.write("record.json", json.dumps(seen))
        out = self.ok_json("params", "inspect", self.file, "--against", record, code=1)["against"]
        self.assertEqual({d["field"] for d in out["differs"]}, {"params_sha256", "sections.l.count"})
        self.assertIn("DIFFERS", self.ok("params", "inspect", self.file, "--against", record, code=1).stdout)
        self.assertNotIn("params_sha256", self.ok_json("params", "inspect", self.file, "--no-digests"))

    def test_same_waste_same_bytes_whatever_the_threads(self):
        first = self.make()["params_sha256"]
        self.assertEqual(self.make("--threads", "1")["params_sha256"], first)
        self.assertEqual(self.make("--threads", "5")["params_sha256"], first)
        self.assertEqual(self.make("--device", "cpu")["params_sha256"], first)
        self.fails(2, "E_ARG", "params", "generate", NAME, "--out", self.path("x"), "--device", "cuda:99", says="there is: ")
        self.assertFalse(os.path.exists(self.path("x")))
        random = self.ok_json("params", "generate", NAME, "--out", self.path("random.params"))
        again = self.ok_json("params", "generate", NAME, "--out", self.path("random.params"))
        self.assertEqual(len({first, random["params_sha256"], again["params_sha256"]}), 3)

    def test_wrong_circuit(self):
        self.make()
        self.fails(3, "E_MISMATCH", "params", "check", self.file, "--circuit", "poseidon-md-8")
        self.fails(2, "E_ARG", "params", "check", self.file, "--circuit", "poseidon-nothing")
        self.fails(3, "E_MISMATCH", "params", "generate", "poseidon-md-8", "--toxic-waste", self.toxic, "--out", self.path("x"))
        self.assertFalse(os.path.exists(self.path("x")))

    def test_toxic_waste_that_cannot_be_used(self):
        for change, says in [
            ({"tau": None}, "tau is missing"), ({"tau": "00"}, "64 hexadecimal"), ({"beta": "zz" * 32}, "64 hexadecimal"),
            ({"alpha": "ff" * 32}, "not below the group order"), ({"gamma": 5}, "64 hexadecimal"),
        ]:
            waste = {k: v for k, v in dict(TOXIC, **change).items() if v is not None}
            self.write("toxic.json", json.dumps({"toxic_waste_le": waste}))
            with self.subTest(change=change):
                self.fails(3, "E_FORMAT", "params", "generate", NAME, "--toxic-waste", self.toxic, "--out", self.file, says=says)
        for change in ({"delta": "00" * 32}, {"tau": "01" + "00" * 31}):
            self.write("toxic.json", json.dumps({"toxic_waste_le": dict(TOXIC, **change)}))
            with self.subTest(change=change):
                self.fails(2, "E_ARG", "params", "generate", NAME, "--toxic-waste", self.toxic, "--out", self.file)
        self.assertEqual(sorted(os.listdir(self.dir)), ["toxic.json"])

    def refused(self, data, name, *more, says=""):
        self.write("bad.params", data)
        return self.fails(3, name, "params", "check", self.path("bad.params"), *more, says=says)

    def test_truncated_everywhere(self):
        sections = self.make()["sections"]
        data = self.read("small.params")
        cuts = {1, 95, 96, 863, 864, 866, 868, len(data) - 1}
        for s in SECTIONS:
            at = sections[s]["offset"]
            cuts |= {at - 1, at, at + 1, at + 3, at + 4, at + 5, at + 99}
        # the reference's check lets this one pass: half of the last section is missing
        cuts.add(sections["b_g2"]["offset"] + 4 + 96 * sections["b_g2"]["count"])
        for cut in sorted(cuts):
            with self.subTest(cut=cut, of=len(data)):
                self.refused(data[:cut], "E_FORMAT")
        self.refused(data + b"\0", "E_FORMAT")
        self.refused(b"", "E_FORMAT")
        self.refused(b"<!DOCTYPE html><html><body>404</body></html>", "E_FORMAT", says="HTML")

    def test_lengths_that_lie(self):
        sections = self.make()["sections"]
        data = self.read("small.params")
        for s in ("ic",) + SECTIONS:
            at = sections[s]["offset"]
            for count in (0xFFFFFFFF, 0x80000000, sections[s]["count"] + 1, sections[s]["count"] - 1):
                with self.subTest(section=s, count=count):
                    changed = data[:at] + count.to_bytes(4, "big") + data[at + 4:]
                    self.write("bad.params", changed)
                    r = harness.run("params", "check", self.path("bad.params"), "--circuit", NAME, "--json")
                    self.assertEqual(r.returncode, 3, r.stdout)

    def test_points_that_are_none(self):
        sections = self.make()["sections"]
        data = self.read("small.params")
        outside = g1_bytes(*g1_outside_subgroup())
        for s in SECTIONS[:-1]:
            at = sections[s]["offset"] + 4 + 96 * (sections[s]["count"] // 2)

            def with_point(p):
                return data[:at] + p + data[at + 96:]
            x, y = data[at:at + 48], data[at + 48:at + 96]
            with self.subTest(section=s):
                self.assertIn(s, self.refused(with_point(x + y[:-1] + bytes([y[-1] ^ 1])), "E_NOT_CURVE"))
                self.refused(with_point(g1_infinity()), "E_INFINITY")
                self.refused(with_point(b"\x1f" + b"\xff" * 95), "E_FORMAT")
                self.refused(with_point(bytes([x[0] | 0x80]) + x[1:] + y), "E_FORMAT")
                self.refused(with_point(outside), "E_NOT_GROUP", "--full")
                self.write("bad.params", with_point(outside))
                self.ok("params", "check", self.path("bad.params"))
        # the verifying key is always checked in full
        for at in (0, 96, 576, 868):
            self.refused(data[:at] + outside + data[at + 96:], "E_NOT_GROUP")
            self.refused(data[:at + 95] + bytes([data[at + 95] ^ 1]) + data[at + 96:], "E_NOT_CURVE")

    def test_outputs(self):
        words = ("params", "generate", NAME, "--toxic-waste", self.toxic)
        self.fails(6, "E_NOENT", *words, "--out", self.path("no/such/folder/x"))
        self.fails(3, "E_FORMAT", *words, "--out", self.dir)
        self.fails(2, "E_ARG", *words, "--out", self.toxic, says="is an input")
        self.fails(2, "E_ARG", *words, "--out", self.file, "--vk", self.file)
        self.fails(2, "E_ARG", *words, "--out", self.file, "--vk", self.path("./small.params"), says="the same file")
        self.fails(2, "E_ARG", *words, "--out", "small.params", "--vk", self.file, says="the same file", cwd=self.dir)
        with open(self.toxic, encoding="utf-8") as f:
            self.assertIn("toxic_waste_le", json.load(f))
        self.assertEqual(os.listdir(self.dir), ["toxic.json"])

    def test_disk_full(self):
        words = ("params", "generate", NAME, "--toxic-waste", self.toxic)
        self.fails(6, "E_NOSPC", *words, "--out", "/dev/full")

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        self.write("small.params", b"old content")
        self.fails(6, "E_IO", *words, "--out", self.file, preexec_fn=small_files)
        self.assertEqual(self.read("small.params"), b"old content")
        self.fails(6, "E_IO", *words, "--out", self.path("new.params"), preexec_fn=small_files)
        self.assertEqual(sorted(os.listdir(self.dir)), ["small.params", "toxic.json"])


if __name__ == "__main__":
    harness.main()
