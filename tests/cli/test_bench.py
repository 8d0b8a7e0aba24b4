# SPDX-License-Identifier: MIT OR Apache-2.0
"""cuzk bench: reports, and the other side of a comparison. test_bench.py PROGRAM"""
import os

import harness
from harness import ProgramTest

PEER = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
echo "a line of chatter"
case $1 in
  msm) echo '{"name":"blst_pippenger_g1","log2":'$2',"threads":2,"runs":1,"min_s":1,"median_s":2e0,"max_s":3}';;
  ntt) echo '{"name":"other_ntt","log2":'$2',"median_s":4}';;
  pairing) exit 3;;
  *) echo '{"name":7}';;
esac
"""


class Bench(ProgramTest):
    def setUp(self):
        super().setUp()
        self.peer = self.write("peer", PEER)
        os.chmod(self.peer, 0o755)

    def test_report(self):
        out = self.ok_json("bench", "ntt", "--log2", "8", "--runs", "3", "--threads", "2")
        self.assertEqual((out["bench"], out["threads"]), ("ntt", 2))
        for key in ("cpu", "cpu_features", "date", "commit", "compiler", "version"):
            self.assertIn(key, out)
        self.assertEqual([r["name"] for r in out["results"]], ["ntt", "intt", "coset_ntt", "coset_intt"])
        for r in out["results"]:
            self.assertEqual((r["log2"], r["n"], r["runs"]), (8, 256, 3))
            self.assertTrue(0 < r["min_s"] <= r["median_s"] <= r["max_s"])
            self.assertAlmostEqual(r["spread"], (r["max_s"] - r["min_s"]) / r["median_s"], places=3)
        self.assertIn("coset_intt", self.ok("bench", "ntt", "--log2", "4", "--runs", "1").stdout)

    def test_sums(self):
        for group in ("g1", "g2"):
            for scalars in ("random", "bits", "ones"):
                out = self.ok_json("bench", "msm", "--group", group, "--scalars", scalars, "--log2", "6", "--runs", "1")
                self.assertEqual(out["scalars"], scalars)
                self.assertEqual(out["results"][0]["name"], "msm_" + group)

    def test_gpu_that_is_not_there(self):
        self.fails(2, "E_ARG", "bench", "gpu", "--device", "cuda:99", says="there is: ")

    def test_other_side(self):
        out = self.ok_json("bench", "msm", "--log2", "5", "--runs", "3", "--peer", self.peer)
        peers = out["results"][0]["peers"]
        self.assertEqual([p["name"] for p in peers], ["blst_pippenger_g1"])
        self.assertEqual((peers[0]["runs"], peers[0]["median_s"]), (3, 2.0))
        self.assertAlmostEqual(peers[0]["ratio"], out["results"][0]["median_s"] / 2, places=6)
        self.assertEqual(self.read("calls").decode().split("\n")[:3], ["msm 5 1"] * 3)
        out = self.ok_json("bench", "ntt", "--log2", "5", "--runs", "1", "--peer", self.peer)
        self.assertEqual(out["results"][0]["peers"][0]["name"], "other_ntt")
        self.assertNotIn("peers", out["results"][1])
        self.assertIn("ratio", self.ok("bench", "ntt", "--log2", "5", "--runs", "1", "--peer", self.peer).stdout)

    def test_other_side_that_fails(self):
        self.fails(6, "E_IO", "bench", "pairing", "--runs", "1", "--peer", self.peer, says="status 3")
        self.fails(3, "E_FORMAT", "bench", "arith", "--runs", "1", "--peer", self.peer, says="without name")


if __name__ == "__main__":
    harness.main()
