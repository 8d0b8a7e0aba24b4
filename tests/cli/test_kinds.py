# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inputs of the kinds of proofs in every form in which storage software hands them over, and contradictory ones.
test_kinds.py PROGRAM"""
import base64
import glob
import json
import os
import re
import shutil
import tempfile

import c1_bincode
import harness
from harness import ProgramTest, fixture, inputs_of, load

VK = {"winning-post": "winning-2kib.vk", "window-post": "window-2kib.vk", "snap": "update-2kib.vk"}


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Kinds(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="cuzk-kinds-")
        cls.addClassCleanup(shutil.rmtree, cls.work, True)
        cls.params = os.path.join(cls.work, "window-2kib.params")
        r = harness.run("params", "generate", "window-2kib", "--toxic-waste", fixture("params/window-2kib.json"), "--out", cls.params)
        assert r.returncode == 0, r.stderr

    def set(self, stem):
        """Kind, META and records of a bundled set, to be changed."""
        kind, _, meta, _, *files = inputs_of(fixture("sectors", stem))
        return kind, load(meta), [read(f) for f in files]

    def words(self, kind, meta, records):
        out = [kind, "--meta", self.write("meta.json", json.dumps(meta))]
        if records:
            out += ["--vanilla", *(self.write(f"{i}.bin", r) for i, r in enumerate(records))]
        return out

    def same_record(self, words, record):
        out = self.ok_json("circuit", "witness", *words, "--partition", re.search(r"p(\d+)\.witness", record).group(1), "--against",
                           fixture("sectors", record))
        self.assertTrue(out["against"]["equal"])

    # ---- what is right ----

    def test_bundled_proofs_hold(self):
        proofs = [p for p in sorted(glob.glob(fixture("sectors/*/*.proof.json"))) if "/porep-" not in p]
        self.assertGreaterEqual(len(proofs), 8)
        for proof in proofs:
            stem, k = re.fullmatch(r"(.*)\.p(\d+)\.proof\.json", proof).groups()
            kind, *words = inputs_of(stem)
            more = ("--vk", fixture("params", VK[kind]), "--proof", proof, "--partition", k)
            with self.subTest(proof=proof):
                out = self.ok_json("verify", kind, *words, *more)
                self.assertTrue(out["valid"])
                # a verifier has no vanilla proofs
                self.ok("verify", kind, *words[:2], *more)
                for flipped in (0, 100, 191):
                    bad = bytearray.fromhex(load(proof)["proof"])
                    bad[flipped] ^= 4
                    self.ok("verify", kind, *words[:2], *more[:2], "--proof", self.write("bad", bytes(bad)), "--partition", k, code=1)

    def test_order_of_words(self):
        kind, *words = inputs_of(fixture("sectors/x2k/window3"))
        files = words[3:]
        record = fixture("sectors/x2k/window3.p1.witness.json")
        for form in (["--vanilla", *files, "--partition", "1", *words[:2]],
                     ["--vanilla", files[0], "--partition", "1", "--vanilla", *files[1:], *words[:2]],
                     [*words[:2], "--partition=1", *(w for f in files for w in ("--vanilla", f))],
                     [*words[:2], "--partition", "1", "--vanilla", files[0], "--", *files[1:]]):
            with self.subTest(form=form):
                self.assertIn("equal to", self.ok("circuit", "witness", kind, "--against", record, *form).stdout)

    def test_lists_of_base64(self):
        for stem, n in (("x2k/window3", 2), ("s16k/update", 2), ("s2k/winning", 1)):
            kind, meta, records = self.set(stem)
            texts = [base64.b64encode(r).decode() for r in records]
            whole = self.write("list.json", " \n" + json.dumps(texts))
            parts = [self.write("a.json", json.dumps(texts[:1])), *(self.write(f"{i}.bin", r) for i, r in enumerate(records[1:]))]
            escaped = self.write("escaped.json", json.dumps(texts).replace("/", "\\/"))
            for files in ([whole], parts, [escaped]):
                for k in range(n):
                    with self.subTest(stem=stem, files=files, k=k):
                        self.same_record([kind, "--meta", self.write("m.json", json.dumps(meta)), "--vanilla", *files],
                                         f"{stem}.p{k}.witness.json")

    def test_unsaid_members(self):
        """Sizes that are 0 or missing, and what follows from the records."""
        kind, meta, records = self.set("x2k/window3")
        for less in ({"sector_size": 0}, {"sector_size": None}, {"sector_size": 0, "registered_proof": 10},
                     {"sectors": None, "challenges": None, "partitions": None}, {"api_version": None},
                     {"challenges_per_sector": 0, "sectors_per_partition": 0, "partitions": 0}):
            m = {k: v for k, v in {**meta, **less}.items() if v is not None}
            with self.subTest(less=less):
                self.same_record(self.words(kind, m, records), "x2k/window3.p1.witness.json")
        m = {k: v for k, v in self.set("x2k/window3old")[1].items() if k != "api_version"}
        m["registered_proof"] = 5
        self.same_record(self.words(kind, m, self.set("x2k/window3old")[2]), "x2k/window3old.p1.witness.json")
        # one partition alone, as a node that splits a deadline asks for it: challenges of the old type count through
        old = self.set("x2k/window3old")
        m = {"randomness": old[1]["randomness"], "registered_proof": 5, "partition_index": 1}
        self.ok("verify", kind, *self.words(kind, m, old[2][2:])[1:], "--vk", fixture("params/window-2kib.vk"), "--proof",
                fixture("sectors/x2k/window3old.p1.proof.json"))
        kind, meta, records = self.set("s32k/update")
        meta = {k: list(bytes.fromhex(v)) for k, v in meta.items() if k.startswith("comm_")}
        self.same_record(self.words(kind, meta, records), "s32k/update.p1.witness.json")

    def test_proof_sharing(self):
        kind, meta, records = self.set("s2k/update")
        ids = {"Miner": meta["miner_id"], "Number": meta["sector_number"]}
        snap = {"ProofType": 0, "Proofs": [base64.b64encode(r).decode() for r in records]}
        snap.update({a: list(bytes.fromhex(meta[b])) for a, b in (("old_r", "comm_r_old"), ("new_r", "comm_r_new"), ("new_d", "comm_d_new"))})
        path = self.write("share.json", json.dumps({"SectorID": ids, "PoRep": None, "Snap": snap}))
        self.same_record([kind, "--meta", path], "s2k/update.p0.witness.json")
        self.fails(64, "E_USAGE", "circuit", "witness", kind, "--meta", path, "--vanilla", path, says="holds vanilla proofs")
        self.fails(3, "E_FORMAT", "circuit", "witness", "porep", "--c1", path, says="not for a PoRep proof")
        c1 = load(fixture("sectors/s2k/porep-10.c1.json"))
        path = self.write("porep.json", json.dumps({"SectorID": ids, "PoRep": c1, "Snap": None}))
        self.same_record(["porep", "--c1", path], "s2k/porep-10.p0.witness.json")
        self.fails(3, "E_FORMAT", "circuit", "witness", kind, "--meta", path, "--vanilla", path)
        for change, says in (({"registered_proof": "x"}, "two"), ({"SectorNum": 10}, "two kinds of wrappers"), ({"PoRep": [1]}, "PoRep"),
                             ({"SectorID": {"Miner": 1}}, "Number"), ({"comm_r": c1["comm_r"]}, "beside those of its wrapper"),
                             ({"PoRep": {**c1, "ticket": 5}}, "ticket"),
                             ({"PoRep": {k: v for k, v in c1.items() if k != "seed"}}, "seed")):
            doc = {"SectorID": ids, "PoRep": c1, **change}
            r = harness.run("circuit", "witness", "porep", "--c1", self.write("bad.json", json.dumps(doc)))
            with self.subTest(change=list(change)):
                self.assertEqual(r.returncode, 3, r.stderr)
                if "registered_proof" not in change:
                    self.assertIn(says, r.stderr)
        # the replica id belongs to a miner and a sector
        for number in (10, 11):
            doc = self.write("other.json", json.dumps({"SectorID": {"Miner": 1001, "Number": number}, "PoRep": c1}))
            self.fails(3, "E_MISMATCH", "prove", "porep", "--c1", doc, "--params", self.params, "--out", self.path("o"),
                       says="replica_id does not belong to miner 1001 and sector 11" if number == 11 else "circuit")

    def test_phase1_output_in_bincode(self):
        for folder, n in (("s2k", 10), ("s2k", 12), ("s2k", 13), ("s16k", 10), ("s32k", 11), ("x2k", 1048576)):
            data = c1_bincode.encode(load(fixture(f"sectors/{folder}/porep-{n}.c1.json")))
            proof = fixture(f"sectors/{folder}/porep-{n}.p0.proof.json")
            path = self.write("c1", data)
            if os.path.exists(proof):
                self.ok("verify", "porep", "--c1", path, "--vk", fixture("params/porep-2kib.vk"), "--proof", proof, "--partition", "0")
        data = c1_bincode.encode(load(fixture("sectors/s2k/porep-10.c1.json")))
        def bad(change, says, name="E_FORMAT"):
            path = self.write("bad", change(data))
            self.fails(3, name, "circuit", "check", "porep", "--c1", path, says=says)
        bad(lambda b: b[:-1], "28247 bytes and 1 partitions is no phase-1 output")
        bad(lambda b: b + b"\0", "28249 bytes")
        bad(lambda b: b[:8], "8 bytes")
        bad(lambda b: bytes([2]) + b[1:], "2 partitions")
        bad(lambda b: b[:8] + b"\3" + b[9:], "number of challenges: expected 2, found 3")
        bad(lambda b: b[:16] + b"\1" + b[17:], "kind of Merkle proof")
        bad(lambda b: b[:20] + b"\xff" * 32 + b[52:], "not a canonical field element")
        bad(lambda b: b[:-160] + bytes(32) + b[-128:], "comm_r: all bytes are zero")
        # comm_r_last of the second challenge is another
        one = 14036
        at = 16 + one + 364 + 4
        bad(lambda b: b[:at] + bytes(32) + b[at + 32:], "root of comm_r_last_proof differs", "E_MISMATCH")
        # node of the encoding proof
        at = 16 + one - 8
        bad(lambda b: b[:at] + bytes([b[at] ^ 1]) + b[at + 1:], "encoding proof is of node", "E_MISMATCH")
        bad(lambda b: b[:at] + b"\x40" + b[at + 1:], "node: expected less than 64, found 64")

    # ---- what contradicts itself ----

    def refused(self, name, says, kind, meta, records, *more):
        path = self.path("never")
        self.fails(3, name, "prove", *self.words(kind, meta, records), "--params", self.params, "--out", path, *more, says=says)
        self.assertFalse(os.path.exists(path))

    def test_contradictory_window_sets(self):
        kind, meta, records = self.set("x2k/window3")
        def bad(name, says, records=records, **change):
            m = {k: v for k, v in {**meta, **change}.items() if v is not None}
            with self.subTest(says=says):
                self.refused(name, says, kind, m, records)
        a, b, c = records
        bad("E_MISMATCH", "vanilla proof 0 is of sector 7, ", [b, a, c])
        bad("E_MISMATCH", "2 vanilla proofs, ", [a, b])
        bad("E_MISMATCH", "4 vanilla proofs, ", [a, b, c, c])
        bad("E_MISMATCH", "drawn from the randomness", randomness="00" * 32, challenges=None)
        bad("E_MISMATCH", "challenges[0][0] is 6, the randomness asks for", randomness="00" * 32)
        bad("E_FORMAT", "randomness is not a canonical", randomness="ff" * 32, challenges=None)
        bad("E_FORMAT", "64 hexadecimal digits", randomness="00" * 31)
        bad("E_FORMAT", "member randomness is missing", randomness=None)
        bad("E_MISMATCH", "partitions is 1, expected 2", partitions=1)
        bad("E_MISMATCH", "challenges_per_sector is 66, expected 10", challenges_per_sector=66)
        bad("E_MISMATCH", "sectors_per_partition is 1, expected 2", sectors_per_partition=1)
        bad("E_MISMATCH", "30 challenges, expected 20", [a, b], sectors=meta["sectors"][:2], partitions=1)
        bad("E_FORMAT", "has 8160 bytes, found 5680", sector_size=16384)
        bad("E_UNSUPPORTED", "sectors of 1000 bytes", sector_size=1000)
        bad("E_MISMATCH", "registered proof 11 is of sectors of 8388608 bytes", registered_proof=11)
        bad("E_MISMATCH", "registered proof 5 is not of API version 1.2", registered_proof=5)
        bad("E_MISMATCH", "registered proof 0 is not one of WindowPoSt (5 to 14)", registered_proof=0)
        bad("E_FORMAT", "registered_proof", registered_proof=15)
        bad("E_UNSUPPORTED", "API version", api_version="1.3.0")
        bad("E_MISMATCH", "prover_id is not that of miner 5", miner_id=5)
        bad("E_MISMATCH", "fill more than one partition", partition_index=1)
        bad("E_MISMATCH", "drawn from the randomness", api_version="1.0.0", challenges=None)
        bad("E_FORMAT", "an empty list of sectors", sectors=[])
        bad("E_FORMAT", "comm_r", sectors=[{"sector_number": 1}])
        sectors = json.loads(json.dumps(meta["sectors"]))
        sectors[1]["comm_r"] = sectors[0]["comm_r"]
        bad("E_MISMATCH", "sector 7: comm_r of the vanilla proof is not that of", sectors=sectors)
        # records
        bad("E_FORMAT", "bytes", [a[:-1], b, c])
        bad("E_FORMAT", "no vanilla proof of WindowPoSt has 100 bytes", [a[:100], b, c], sector_size=0)
        bad("E_FORMAT", "kind of Merkle proof", [a, bytes(b[:56]) + b"\1" + bytes(b[57:]), c])
        leaf = 56 + 4 + 32
        bad("E_MISMATCH", "sector 7, challenge 0: path does not lead to comm_r_last", [a, bytes(b[:leaf]) + bytes(32) + bytes(b[leaf + 32:]), c])
        # lists
        for text, says in (("[]", "an empty list"), ("[1]", "string"), ('["AAA"]', "base64: "), ('["AA=A"]', "base64: "), ("[", "JSON"),
                           ('{"a": 1}', "array"), ("[" * 100, ""), ("<html>", "array")):
            bad("E_FORMAT", says if says != "JSON" else "", [text.encode()])

    def test_contradictory_partitions(self):
        kind, *words = inputs_of(fixture("sectors/x2k/window3"))
        self.fails(64, "E_USAGE", "prove", kind, *words, "--params", self.params, "--out", self.path("o"), "--partition", "2",
                   says="from 0 to 1")
        self.fails(64, "E_USAGE", "circuit", "witness", kind, *words, says="has 2 partitions: --partition K is needed")
        vk = fixture("params/window-2kib.vk")
        p0, p1 = (fixture(f"sectors/x2k/window3.p{k}.proof.json") for k in (0, 1))
        self.fails(3, "E_MISMATCH", "verify", kind, *words, "--vk", vk, "--proof", p0, says="1 proofs, 2 partitions")
        out = self.ok_json("verify", kind, *words, "--vk", vk, "--proof", p0, "--partition", "1", code=1)
        self.assertIn("not those that follow from the inputs", out["reason"])
        raw = self.write("raw", bytes.fromhex(load(p1)["proof"] + load(p0)["proof"]))
        self.assertIn("partition 0: the proof does not hold", self.ok("verify", kind, *words, "--vk", vk, "--proof", raw, code=1).stdout)
        # keys of other circuits
        self.fails(3, "E_MISMATCH", "verify", kind, *words, "--vk", fixture("params/winning-2kib.vk"), "--proof", p0, "--partition", "0")
        self.fails(3, "E_MISMATCH", "prove", *inputs_of(fixture("sectors/s2k/winning")), "--params", self.params, "--out", self.path("o"))

    def test_contradictory_winning(self):
        kind, meta, records = self.set("s2k/winning")
        self.refused("E_MISMATCH", "2 sectors, a winning proof is of one", kind, {"randomness": meta["randomness"]}, records * 2)
        self.refused("E_MISMATCH", "expected 66", kind, {**meta, "challenges_per_sector": 10}, records)
        window = self.set("s2k/window")
        self.refused("E_FORMAT", "has 36816 bytes, found 5680", kind, meta, window[2][:1])
        self.refused("E_MISMATCH", "challenge 0: path is of leaf", kind, {"randomness": "01" + "00" * 31}, records)

    def test_contradictory_updates(self):
        kind, meta, records = self.set("s16k/update")
        def bad(name, says, records=records, **change):
            m = {k: v for k, v in {**meta, **change}.items() if v is not None}
            with self.subTest(says=says):
                words = self.words(kind, m, records)
                self.fails(3, name, "circuit", "check", *words, says=says)
        zero = "00" * 32
        bad("E_MISMATCH", "an update of a sector of 16384 bytes has 2 partitions", records[:1])
        bad("E_MISMATCH", "partitions is 16, expected 2", partitions=16)
        bad("E_FORMAT", "comm_d_new is not a canonical", comm_d_new="ff" * 32)
        bad("E_MISMATCH", "is not comm_d_new", comm_d_new=zero)
        bad("E_FORMAT", "one is missing", comm_r_new=None)
        bad("E_FORMAT", "are missing", comm_r_new=None, comm_r_old=None, comm_d_new=None)
        bad("E_UNSUPPORTED", "h is 7", h=7)
        bad("E_MISMATCH", "not one of sector updates (0 to 4)", registered_proof=5)
        # what only the checks before proving can see: parameters of another circuit are looked at afterwards
        def wrong(says, records=records, **change):
            with self.subTest(says=says):
                self.refused("E_MISMATCH", says, kind, {**meta, **change}, records)
        wrong("partition 0, challenge 0: proof_r_old is of node", records[::-1])
        wrong("comm_r_new is not the hash", comm_r_new=zero)
        wrong("comm_r_old is not the hash", comm_r_old=zero)

    def test_options_of_other_kinds(self):
        c1 = fixture("sectors/s2k/porep-10.c1.json")
        kind, *words = inputs_of(fixture("sectors/s2k/window"))
        self.fails(64, "E_USAGE", "circuit", "witness", "porep", *words, says="--meta and --vanilla are not for PoRep")
        self.fails(64, "E_USAGE", "circuit", "witness", "porep", says="needs --c1 FILE")
        self.fails(64, "E_USAGE", "circuit", "witness", kind, "--c1", c1, *words, says="--c1 is not for WindowPoSt")
        self.fails(64, "E_USAGE", "circuit", "witness", kind, says="needs --meta META")
        self.fails(64, "E_USAGE", "circuit", "witness", kind, *words[:2], says="--vanilla FILE... is needed")
        self.fails(64, "E_USAGE", "prove", kind, *words[:2], "--out", self.path("o"), says="needs --vanilla FILE...")
        self.fails(64, "E_USAGE", "prove", kind, *words, "", "--out", self.path("o"), says="empty value")
        self.fails(64, "E_USAGE", "circuit", "witness", "boolean-alloc", *words, says="gadget")
        self.fails(64, "E_USAGE", "bench", "prove", "nothing", *words, says="no kind of proof")
        self.fails(2, "E_ARG", "prove", kind, *words, "--params", self.params, "--out", words[3], says="is an input")
        self.fails(6, "E_NOENT", "prove", kind, *words, self.path("missing"), "--params", self.params, "--out", self.path("o"), says="missing")

    def test_places_that_cannot_be_written(self):
        """Found before any proving: no timings come first."""
        words = inputs_of(fixture("sectors/s2k/window"))
        for out, code, name in ((self.dir, 3, "E_FORMAT"), (self.path("none/out"), 6, "E_NOENT"), (self.path("x" * 300), 6, "E_IO")):
            self.fails(code, name, "prove", *words, "--params", self.params, "--out", out)
            self.fails(code, name, "params", "generate", "sha256-32", "--out", out)
            self.fails(code, name, "params", "generate", "sha256-32", "--out", self.path("p"), "--vk", out)
        self.assertEqual(os.listdir(self.dir), [])
        self.write("real", b"x")
        os.symlink("real", self.path("link"))
        for vk in (self.path("./real"), self.path("link"), os.path.relpath(self.path("real"))):
            self.fails(2, "E_ARG", "params", "generate", "sha256-32", "--out", self.path("real"), "--vk", vk, says="same file")
        self.assertEqual(self.read("real"), b"x")

    def test_measured(self):
        kind, *words = inputs_of(fixture("sectors/x2k/window3"))
        out = self.ok_json("bench", "prove", kind, *words, "--params", self.params, "--partition", "1", "--runs", "1")
        self.assertTrue(out)


if __name__ == "__main__":
    harness.main()
