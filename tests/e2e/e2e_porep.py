# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parameters of porep-2kib from the reference's toxic waste, and the reference's proofs from its blinding values: byte for byte.
e2e_porep.py PROGRAM"""
import json
import os
import shutil
import tempfile

import harness
from harness import ProgramTest, fixture


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


class PoRep(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="cuzk-e2e-")
        cls.params = os.path.join(cls.work, "porep-2kib.params")
        cls.record = fixture("params/porep-2kib.json")
        cls.vk = os.path.join(cls.work, "porep-2kib.vk")
        cls.made = harness.run("params", "generate", "porep-2kib", "--toxic-waste", cls.record, "--out", cls.params, "--vk", cls.vk,
                               "--against", cls.record, "--json")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work, True)

    def test_parameters_equal_the_reference(self):
        self.assertEqual(self.made.returncode, 0, self.made.stderr)
        made = json.loads(self.made.stdout)
        self.assertTrue(made["against"]["equal"])
        self.assertEqual(made["params_sha256"], load(self.record)["params_sha256"])
        seen = self.ok_json("params", "inspect", self.params, "--against", self.record)
        self.assertTrue(seen["against"]["equal"])
        for s, want in load(self.record)["sections"].items():
            self.assertEqual(seen["sections"][s], want, s)
        self.assertEqual(seen["params_sha256"], load(self.record)["params_sha256"])
        with open(self.vk, "rb") as a, open(fixture("params/porep-2kib.vk"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.ok("params", "check", self.params, "--circuit", "porep-2kib")
        self.fails(3, "E_MISMATCH", "params", "check", self.params, "--circuit", "porep-16kib")

    def test_proofs_equal_the_reference(self):
        for n, more in ((10, ()), (11, ()), (12, ()), (13, ("--partition", "0"))):
            c1 = fixture(f"sectors/s2k/porep-{n}.c1.json")
            want = load(fixture(f"sectors/s2k/porep-{n}.p0.proof.json"))
            out = self.path(f"{n}.json")
            with self.subTest(sector=n):
                report = self.ok_json("prove", "porep", "--c1", c1, "--params", self.params, "--out", out, "--randomness",
                                      fixture(f"sectors/s2k/porep-{n}.p0.proof.json"), *more)
                self.assertEqual(report["proof"], want["proof"])
                self.assertEqual(load(out), want)
                self.assertLess(report["peak_anon_bytes"], 2 << 30)
                self.ok("verify", "porep", "--c1", c1, "--vk", self.vk, "--proof", out, *more)

    def test_random_blinding(self):
        c1, out = fixture("sectors/s2k/porep-10.curio.json"), self.path("raw")
        self.write("raw", b"an older file")
        r = self.ok("prove", "porep", "--c1", c1, "--params", self.params, "--out", out)
        self.assertIn("1 proof of porep-2kib written", r.stdout)
        self.assertIn("partition 0:", r.stderr)
        proof = self.read("raw")
        self.assertEqual(len(proof), 192)
        self.assertNotEqual(proof.hex(), load(fixture("sectors/s2k/porep-10.p0.proof.json"))["proof"])
        self.ok("verify", "porep", "--c1", c1, "--vk", self.params, "--proof", out)
        # found in the cache by its name, and a proof that cannot be written leaves nothing
        cache = self.path("cache")
        os.mkdir(cache)
        name = self.ok_json("circuit", "count", "porep-2kib")["parameter_id"]
        os.symlink(self.params, os.path.join(cache, f"v28-{name}.params"))
        self.fails_once(6, "E_NOSPC", "prove", "porep", "--c1", c1, "--out", "/dev/full",
                        env=dict(os.environ, FIL_PROOFS_PARAMETER_CACHE=cache))

    def test_synthetic_sector(self):
        c1, out = self.path("c1.json"), self.path("proof")
        self.ok("synth", "porep", "--sector-size", "2KiB", "--seed", "5", "--miner", "77", "--sector-number", "8", "--out", c1)
        self.ok("prove", "porep", "--c1", c1, "--params", self.params, "--out", out, "--miner", "77", "--sector", "8")
        self.ok("verify", "porep", "--c1", c1, "--vk", fixture("params/porep-2kib.vk"), "--proof", out)

    def test_bad_points_in_the_parameters(self):
        sections = self.ok_json("params", "inspect", self.params, "--no-digests")["sections"]
        outside = harness.g1_bytes(*harness.g1_outside_subgroup())
        words = ("prove", "porep", "--c1", fixture("sectors/s2k/porep-10.c1.json"), "--params", self.params, "--out",
                 self.path("proof"))
        with open(self.params, "r+b") as f:
            def change(section, index, size, point, name, says):
                at = sections[section]["offset"] + 4 + size * (index % sections[section]["count"])
                f.seek(at)
                was = f.read(size)
                try:
                    f.seek(at)
                    f.write(point(was))
                    f.flush()
                    self.fails_once(3, name, *words, says=says)
                    self.assertEqual(os.listdir(self.dir), [])
                finally:
                    f.seek(at)
                    f.write(was)
                    f.flush()
            # off the curve: found on the way in; on it, but outside the subgroup: the finished proof is not handed out
            change("h", 1000, 96, lambda p: p[:-1] + bytes([p[-1] ^ 1]), "E_NOT_CURVE", "h[1000]")
            change("b_g2", -1, 192, lambda p: p[:-1] + bytes([p[-1] ^ 1]), "E_NOT_CURVE", "b_g2[")
            change("l", -3, 96, lambda p: outside, "E_NOT_GROUP", "outside the subgroup")

    def fails_once(self, code, name, *words, says="", **more):
        r = harness.run(*words, **more)
        self.assertEqual(r.returncode, code, r.stderr)
        self.assertIn(f"({name})", r.stderr)
        self.assertIn(says, r.stderr)


if __name__ == "__main__":
    harness.main()
