# SPDX-License-Identifier: MIT OR Apache-2.0
"""cuzk verify porep on the bundled proofs and on damaged ones; cuzk prove porep on inputs that it has to refuse.
test_proof.py PROGRAM"""
import json
import os

import harness
from harness import P, ProgramTest, fixture, g1_compress, g1_outside_subgroup

VK = fixture("params/porep-2kib.vk")
C1 = fixture("sectors/s2k/porep-10.c1.json")
PROOF = fixture("sectors/s2k/porep-10.p0.proof.json")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def dump(value):
    return json.dumps(value, separators=(",", ":"))


class Verify(ProgramTest):
    def verify(self, proof, *more, c1=C1, vk=VK, code=0):
        return self.ok("verify", "porep", "--c1", c1, "--vk", vk, "--proof", proof, *more, code=code)

    def rejected(self, data, says):
        path = self.write("bad", data)
        text = self.verify(path, code=1).stdout
        self.assertTrue(text.startswith("INVALID: partition 0"), text)
        out = json.loads(self.verify(path, "--json", code=1).stdout)
        self.assertFalse(out["valid"])
        self.assertEqual(out["invalid_partition"], 0)
        self.assertIn(says, out["reason"])

    def test_bundled_proofs_hold(self):
        for n, more in ((10, ()), (11, ()), (12, ()), (13, ("--partition", "0"))):
            c1, proof = fixture(f"sectors/s2k/porep-{n}.c1.json"), fixture(f"sectors/s2k/porep-{n}.p0.proof.json")
            with self.subTest(sector=n):
                self.assertIn("valid: 1 proof", self.verify(proof, *more, c1=c1).stdout)
                raw = self.write("raw", bytes.fromhex(load(proof)["proof"]))
                out = json.loads(self.verify(raw, *more, "--json", c1=c1).stdout)
                self.assertTrue(out["valid"])
                self.assertEqual(out["circuit"], "porep-2kib")
        self.verify(PROOF, c1=fixture("sectors/s2k/porep-10.curio.json"))

    def test_flipped_bits(self):
        raw = bytes.fromhex(load(PROOF)["proof"])
        # a stride that is prime to eight meets every position of a bit, every point and the flags
        for bit in list(range(0, 8 * 192, 37)) + [0, 1, 2, 384, 385, 386, 1152, 1153, 1154]:
            bad = bytearray(raw)
            bad[bit // 8] ^= 0x80 >> (bit % 8)
            with self.subTest(bit=bit):
                self.verify(self.write("bad", bytes(bad)), code=1)

    def test_points_that_are_none(self):
        raw = bytes.fromhex(load(PROOF)["proof"])
        a, b, c = raw[:48], raw[48:144], raw[144:]
        x = next(x for x in range(1, 100) if pow(x ** 3 + 4, (P - 1) // 2, P) != 1)
        off = g1_compress(x, 0)
        outside = g1_compress(*g1_outside_subgroup())
        infinity1, infinity2 = bytes([0xC0]) + bytes(47), bytes([0xC0]) + bytes(95)
        for data, says in [
            (off + b + c, "E_NOT_CURVE"), (a + b + off, "E_NOT_CURVE"),
            (outside + b + c, "E_NOT_GROUP"), (a + b + outside, "E_NOT_GROUP"),
            (infinity1 + b + c, "E_INFINITY"), (a + infinity2 + c, "E_INFINITY"), (a + b + infinity1, "E_INFINITY"),
            (bytes([a[0] & 0x7F]) + a[1:] + b + c, "E_FORMAT"),
            (b"\x9f" + b"\xff" * 47 + b + c, "E_FORMAT"),
            (c + b + a, "does not hold"),
            (bytes([a[0] ^ 0x20]) + a[1:] + b + c, "does not hold"),
        ]:
            with self.subTest(says=says, data=data[:4].hex()):
                self.rejected(data, says)

    def test_other_inputs(self):
        other = fixture("sectors/s2k/porep-11.c1.json")
        raw = self.write("raw", bytes.fromhex(load(PROOF)["proof"]))
        self.verify(raw, c1=other, code=1)
        self.verify(PROOF, c1=other, code=1)
        record = load(PROOF)
        for i in (0, 1, 2, 20, 38):
            changed = dict(record, public_inputs_le=list(record["public_inputs_le"]))
            changed["public_inputs_le"][i] = "01" + "00" * 31
            with self.subTest(input=i):
                self.rejected(dump(changed), "public inputs")
        self.rejected(dump(dict(record, public_inputs_le=record["public_inputs_le"][:-1])), "public inputs")
        bare = {"proof": record["proof"]}
        self.assertTrue(self.verify(self.write("bare", dump(bare))))
        self.assertTrue(self.verify(self.write("list", "\n [" + dump(bare) + "]")))

    def test_files_that_cannot_be_used(self):
        words = ("verify", "porep", "--c1", C1, "--vk", VK, "--proof")
        raw = bytes.fromhex(load(PROOF)["proof"])
        record = load(PROOF)
        for data, says in [
            (b"", ""), (raw[:-1], "multiple of 192"), (raw + b"\0", "multiple of 192"), (b"{}", "member proof"),
            (b"[1]", "member proof"), (b"{", "not JSON"), (dump(dict(record, proof=record["proof"][:-2])), "hexadecimal"),
            (dump(dict(record, proof="zz" * 192)), "hexadecimal"), (dump(dict(record, public_inputs_le=5)), "a list"),
            (dump(dict(record, public_inputs_le=["00"] * 39)), "hexadecimal"),
        ]:
            with self.subTest(says=says):
                self.fails(3, "E_FORMAT", *words, self.write("bad", data), says=says)
        self.fails(3, "E_MISMATCH", *words, self.write("bad", raw + raw), says="2 proofs, 1 partition")
        self.fails(3, "E_MISMATCH", *words, self.write("bad", "[]"), says="0 proofs")
        self.fails(6, "E_NOENT", *words, self.path("absent"))
        n13 = ("verify", "porep", "--c1", fixture("sectors/s2k/porep-13.c1.json"), "--vk", VK, "--proof")
        self.fails(3, "E_MISMATCH", *n13, fixture("sectors/s2k/porep-13.p0.proof.json"), says="--partition K")

    def test_keys_that_cannot_be_used(self):
        with open(VK, "rb") as f:
            vk = f.read()
        words = ("verify", "porep", "--c1", C1, "--proof", PROOF, "--vk")
        for data, name in [
            (b"", "E_FORMAT"), (vk[:500], "E_FORMAT"), (vk[:-1], "E_FORMAT"), (vk + b"\0", "E_FORMAT"),
            (vk[:864] + b"\xff\xff\xff\xff" + vk[868:], "E_FORMAT"), (b"<html></html>", "E_FORMAT"),
            (vk[:95] + bytes([vk[95] ^ 1]) + vk[96:], "E_NOT_CURVE"),
            (vk[:868] + bytes([0x40]) + bytes(95) + vk[964:], "E_INFINITY"),
        ]:
            with self.subTest(name=name, n=len(data)):
                self.fails(3, name, *words, self.write("bad.vk", data))
        self.fails(6, "E_NOENT", *words, self.path("absent.vk"))
        self.fails(3, "E_MISMATCH", *words, fixture("params/winning-2kib.vk"))
        # a key of the right shape, but of another circuit
        swapped = vk[:868] + vk[964:1060] + vk[868:964] + vk[1060:]
        self.ok(*words, self.write("other.vk", swapped), code=1)


class ProveRefuses(ProgramTest):
    """None of these gets as far as a proof, so a small parameter file will do."""

    def setUp(self):
        super().setUp()
        self.params = self.path("small.params")
        self.ok("params", "generate", "bits-8", "--out", self.params, "--quiet")
        self.out = self.path("proof")

    def refused(self, name, data, says="", code=3):
        path = self.write("c1.json", data)
        detail = self.fails(code, name, "prove", "porep", "--c1", path, "--params", self.params, "--out", self.out, says=says)
        self.assertFalse(os.path.exists(self.out))
        return detail

    def test_text_that_is_no_document(self):
        with open(C1, "rb") as f:
            text = f.read()
        for data, name in [
            (b"", "E_FORMAT"), (text[:-1], "E_FORMAT"), (text[:5000], "E_FORMAT"), (text + b"x", "E_FORMAT"),
            (text + text, "E_FORMAT"), (text.replace(b"comm_r", b"comm_\xff", 1), "E_FORMAT"), (b"[" * 1000000, "E_FORMAT"),
            (b"null", "E_FORMAT"), (b"{}", "E_FORMAT"), (b"[]", "E_FORMAT"), (b"\0" * 4096, "E_FORMAT"), (b'"', "E_FORMAT"),
        ]:
            with self.subTest(start=data[:20], n=len(data)):
                self.refused(name, data)

    def test_members(self):
        doc = load(C1)
        details = set()
        for key in doc:
            with self.subTest(missing=key):
                details.add(self.refused("E_FORMAT", dump({k: v for k, v in doc.items() if k != key}), says=key))
            with self.subTest(type_of=key):
                details.add(self.refused("E_FORMAT", dump(dict(doc, **{key: True})), says=key))
        # each of these says something of its own
        self.assertEqual(len(details), 2 * len(doc))
        text = dump(doc)
        self.refused("E_FORMAT", '{"comm_r":' + dump(doc["comm_r"]) + "," + text[1:], says="comm_r")

    def test_values(self):
        doc = load(C1)
        for key in ("comm_r", "comm_d", "replica_id"):
            with self.subTest(key=key):
                self.refused("E_FORMAT", dump(dict(doc, **{key: [255] * 32})), says=key)
                self.refused("E_FORMAT", dump(dict(doc, **{key: doc[key][:31]})), says=key)
                self.refused("E_FORMAT", dump(dict(doc, **{key: [256] + doc[key][1:]})), says=key)
        for proof in ("StackedDrg3KiBV1_1", "StackedDrg2KiBV9", ""):
            r = harness.run("prove", "porep", "--c1", self.write("c1.json", dump(dict(doc, registered_proof=proof))), "--params",
                            self.params, "--out", self.out)
            self.assertEqual(r.returncode, 3, proof)

    def test_contradictions_are_found_before_any_work(self):
        doc = load(C1)

        def changed(key):
            v = list(doc[key])
            v[0] ^= 1
            return dump(dict(doc, **{key: v}))
        for key in ("comm_r", "comm_d", "replica_id", "seed"):
            with self.subTest(key=key):
                self.refused("E_MISMATCH", changed(key))
        # a sector's own 13 partitions, one of them gone
        n13 = load(fixture("sectors/s2k/porep-13.c1.json"))
        vanilla = next(k for k in n13 if "vanilla" in k)
        inner = n13[vanilla]
        kind = next(iter(inner)) if isinstance(inner, dict) else None
        lists = inner[kind] if kind else inner
        short = dict(n13, **{vanilla: {kind: lists[:-1]} if kind else lists[:-1]})
        r = harness.run("prove", "porep", "--c1", self.write("c1.json", dump(short)), "--params", self.params, "--out", self.out)
        self.assertEqual(r.returncode, 3, r.stderr)

    def test_files(self):
        words = ("prove", "porep", "--c1", C1, "--out", self.out)
        self.fails(3, "E_MISMATCH", *words, "--params", self.params)
        self.fails(6, "E_NOENT", *words, "--params", self.path("absent"))
        self.fails(3, "E_FORMAT", *words, "--params", self.write("empty", b""))
        self.fails(3, "E_FORMAT", *words, "--params", self.write("html", b"<html><body>Not Found</body></html>"), says="HTML")
        self.fails(6, "E_NOENT", "prove", "porep", "--c1", self.path("absent"), "--params", self.params, "--out", self.out)
        self.fails(2, "E_ARG", "prove", "porep", "--c1", self.write("c1", "{}"), "--params", self.params, "--out", self.path("c1"))
        self.fails(2, "E_ARG", "prove", "porep", "--c1", C1, "--params", self.params, "--out", self.params)
        env = dict(os.environ, FIL_PROOFS_PARAMETER_CACHE=self.dir)
        self.fails(6, "E_NOENT", *words, env=env, says=self.dir + "/v28-stacked-proof-of-replication-")
        self.assertFalse(os.path.exists(self.out))

    def test_identity(self):
        words = ("prove", "porep", "--c1", C1, "--params", self.params, "--out", self.out)
        self.fails(64, "E_USAGE", *words, "--miner", "1001", says="go together")
        self.fails(3, "E_MISMATCH", *words, "--miner", "1002", "--sector", "10", says="replica")
        self.fails(3, "E_MISMATCH", *words, "--miner", "1001", "--sector", "11", says="replica")
        # the right ones get as far as the parameters, which are another circuit's
        self.fails(3, "E_MISMATCH", *words, "--miner", "1001", "--sector", "10", says="small.params")

    def test_randomness(self):
        words = ("prove", "porep", "--c1", C1, "--params", self.params, "--out", self.out, "--randomness")
        good = load(PROOF)
        for value, name, says in [
            ({}, "E_FORMAT", "r_le is missing"), ({"r_le": good["r_le"]}, "E_FORMAT", "s_le is missing"),
            ({"r_le": "ff" * 32, "s_le": good["s_le"]}, "E_FORMAT", "not below"), ([], "E_FORMAT", "empty list"),
            ([good, good], "E_MISMATCH", "2 partitions"), (7, "E_FORMAT", ""),
        ]:
            with self.subTest(says=says):
                self.fails(3, name, *words, self.write("rs", json.dumps(value)), says=says)
        self.fails(6, "E_NOENT", *words, self.path("absent"))


if __name__ == "__main__":
    harness.main()
