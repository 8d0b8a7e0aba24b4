# SPDX-License-Identifier: MIT OR Apache-2.0
"""timeline, timeline compare, timeline simulate from outside; time and memory for a long log. test_timeline.py PROGRAM"""
import csv
import io
import json
import os
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

import harness
from harness import ProgramTest, run


def vector_b():
    """The published totals (engine specification 6.9 B)."""
    out, t = [], 100000
    for k in range(110):
        n = 4119 if k < 109 else 4129
        out.append(f"TIMELINE,{t},GPU_START,job{k // 10},worker=0,partition={k % 10}")
        out.append(f"TIMELINE,{t + n},GPU_END,job{k // 10},worker=0,partition={k % 10},gpu_ms={n}")
        t += n + {9: 125900, 19: 54100, 29: 32900, 39: 29300, 49: 708, 59: 708, 69: 708, 79: 708}.get(k, 68)
    return "\n".join(out) + "\n"


def long_log(lines):
    """Sectors of ten partitions through two workers of a device, as the daemon writes them; an iterator of pieces."""
    n, k, t = 0, 0, 30000
    while n < lines:
        s, p, w, j = t - 30000, k % 10, k & 1, f"3a64913b-51f6-4be3-8b32-{k // 10:012x}"
        out = []
        if not p:
            out += [f"TIMELINE,{s},JOB_SUBMIT,{j},kind=porep-c2,prio=2,bytes=1", f"TIMELINE,{s},JOB_PREP,{j},circuit=porep-32g,partitions=10,seq=1"]
        out += [f"TIMELINE,{s},SYNTH_START,{j},partition={p},tid=1,pinned=0", f"TIMELINE,{s + 25000},SYNTH_END,{j},partition={p},synth_ms=25000",
                f"TIMELINE,{s + 25000},GPU_QUEUE,{j},partition={p}", f"TIMELINE,{s + 25010},GPU_PICKUP,{j},worker={w},partition={p},gpu=0",
                f"TIMELINE,{s + 25010},GPU_START,{j},worker={w},partition={p},gpu=0",
                f"TIMELINE,{s + 26000},KERNEL_START,{j},worker={w},gpu=0,partition={p}",
                f"TIMELINE,{s + 29500},KERNEL_END,{j},worker={w},gpu=0,partition={p}",
                f"TIMELINE,{s + 29500},FIN_START,{j},worker={w},partition={p}",
                f"TIMELINE,{s + 30000},GPU_END,{j},worker={w},partition={p},gpu_ms=4990,gpu=0"]
        if p == 9:
            out.append(f"TIMELINE,{s + 30000},JOB_DONE,{j},total_ms=60000")
        n += len(out)
        k += 1
        t += 3600 + k * 7919 % 300
        yield "\n".join(out) + "\n"


class Timeline(ProgramTest):
    def test_published_totals(self):
        log = self.write("b.log", vector_b())
        lines = self.ok("timeline", log).stdout.split("\n")
        self.assertEqual(lines[:11], [
            "epoch 1  window 705.0 s  basis event  classify threshold  lines 220 (0 malformed)",
            "intervals 110  unfinished 0  orphan 0  inferred 0  failed 0  jobs 11",
            "device workers calls  busy_s  idle_s  eff_%  gaps  max_gap_s",
            "0      1       110    453.1   251.9   64.3   109   125.9",
            "worker device  calls  busy_s  idle_s  eff_%",
            "0      0       110    453.1   251.9   64.3",
            "category             gaps  total_s  share_%  eff_without_%",
            "cold_start              1    125.9     50.0           78.2",
            "cross_sector_stall      3    116.3     46.2           77.0",
            "intra_sector_stall      0      0.0      0.0           64.3",
            "dispatch_overhead     105      9.7      3.9           65.2"])
        r = json.loads(self.ok("timeline", log, "--json").stdout)
        self.assertEqual((r["window_ms"], r["busy_ms"], r["idle_ms"]), (705000, 453100, 251900))
        self.assertEqual(r["categories"]["cold_start"]["total_ms"], 125900)
        self.assertEqual(r["categories"]["cross_sector_stall"], {"gaps": 3, "total_ms": 116300, "efficiency_without": 0.769662})
        self.assertEqual(sum(h["count"] for h in r["histogram"]), 109)
        self.assertEqual(sum(h["total_ms"] for h in r["histogram"]), 251900)
        self.assertEqual(len(r["top"]), 10)
        self.assertEqual(len(r["jobs"]), 11)
        rows = list(csv.DictReader(io.StringIO(self.ok("timeline", log, "--format", "csv").stdout)))
        self.assertEqual(len(rows), 109)
        self.assertEqual(sum(int(g["gap_ms"]) for g in rows), 251900)
        self.assertEqual(self.ok("timeline", log, "--format", "json").stdout, self.ok("timeline", log, "--json").stdout)

    def test_pictures(self):
        log = self.write("b.log", vector_b())
        svg, trace = self.path("b.svg"), self.path("b.json")
        text = self.ok("timeline", log, "--waterfall", "--legacy", "--svg", svg, "--trace", trace).stdout
        self.assertIn("worker 0    #", text)
        self.assertTrue(ElementTree.parse(svg).getroot().tag.endswith("svg"))
        with open(trace, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        self.assertEqual(sum(e["ph"] == "b" and e["name"] == "call" for e in events), 110)
        self.assertEqual(sum(e["ph"] == "b" for e in events), sum(e["ph"] == "e" for e in events))

    def test_trace_of_time_0(self):
        log = self.write("zero.log", "TIMELINE,0,GPU_START,j \"x\",worker=0\nTIMELINE,0,GPU_END,j \"x\",worker=0,gpu_ms=0\n")
        self.ok("timeline", log, "--svg", self.path("z.svg"), "--trace", self.path("z.json"))
        ElementTree.parse(self.path("z.svg"))
        self.assertEqual([e["ts"] for e in json.loads(self.read("z.json"))["traceEvents"] if e["name"] == "call"], [0, 0])

    def test_what_is_no_log(self):
        self.assertEqual(run("timeline", self.write("empty.log", "")).returncode, 1)
        self.assertEqual(run("timeline", self.write("text.log", "nothing of it\n")).returncode, 1)
        self.assertEqual(run("timeline", self.path("absent.log")).returncode, 6)
        bad = self.write("bad.log", vector_b() + "TIMELINE,x,GPU_END,j,\n")
        self.assertEqual(run("timeline", bad).returncode, 0)
        self.assertEqual(run("timeline", bad, "--strict").returncode, 2)
        for words in (("--basis", "no"), ("--classify", "no"), ("--format", "no"), ("--epoch", "0"), ("--top", "x")):
            self.assertEqual(run("timeline", bad, *words).returncode, 64, words)
        for words in (("synth",), ("synth=",), ("synth=x",), ("=2",), ("nothing=2",), ("synth=-1",), ("synth=2x",)):
            self.assertEqual(run("timeline", "simulate", bad, "--scale", *words).returncode, 64, words)

    def test_several_runs(self):
        log = self.write("two.log", vector_b() + "TIMELINE,0,EPOCH,-,wall_ms=1,pid=1,version=1,gpus=1,workers_per_gpu=1\n"
                         "TIMELINE,5,GPU_START,j,worker=0,partition=0\nTIMELINE,9,GPU_END,j,worker=0,partition=0,gpu_ms=4\n")
        self.assertIn("intervals 1 ", self.ok("timeline", log).stdout)
        self.assertIn("intervals 110 ", self.ok("timeline", log, "--epoch", "1").stdout)
        self.assertEqual(self.ok("timeline", log, "--epoch", "all").stdout.count("intervals "), 2)
        self.assertEqual(run("timeline", log, "--epoch", "3").returncode, 6)

    def test_compare_and_simulate(self):
        a = self.write("a.log", vector_b())
        b = self.write("b.log", "".join(long_log(1000)))
        self.assertIn("needs", self.ok("timeline", "compare", a, b).stdout)
        r = json.loads(self.ok("timeline", "compare", a, b, "--json").stdout)
        self.assertEqual(r["a"]["calls"], 110)
        r = json.loads(self.ok("timeline", "simulate", b, "--json", "--scale", "kernels=2").stdout)
        self.assertAlmostEqual(r["model"]["proofs_per_hour"] / r["recorded"]["proofs_per_hour"], 1, delta=0.05)
        self.assertLess(r["predicted"]["proofs_per_hour"], 0.6 * r["model"]["proofs_per_hour"])
        again = json.loads(self.ok("timeline", "simulate", b, "--json", "--scale", "kernels=2", "--scale", "synth=1", "--gpus", "2").stdout)
        self.assertGreater(again["predicted"]["proofs_per_hour"], 1.5 * r["predicted"]["proofs_per_hour"])
        self.assertEqual(again["settings"]["gpus"], 2)

    @unittest.skipUnless(os.environ.get("CUZK_TEST_SLOW"), "slow, and a sanitizer's times and memory say nothing")
    def test_long_log(self):
        # ten million lines in 10 s and 200 MB: a fifth of the lines, a fifth of the time; what a process takes at all comes on top
        lines = 2000000
        p = subprocess.Popen([harness.PROGRAM, "timeline", "-", "--json", "--quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for piece in long_log(lines):
            p.stdin.write(piece.encode())
        p.stdin.close()
        r = json.loads(p.stdout.read())
        p.stdout.close()
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = status
        self.assertEqual(status, 0)
        self.assertGreaterEqual(r["lines"], lines)
        self.assertEqual(r["busy_ms"] + r["idle_ms"], r["window_ms"])
        self.assertLess(use.ru_utime, 2 * lines / 1e6)
        self.assertLess(use.ru_maxrss, 20000 + 20 * lines / 1000)


if __name__ == "__main__":
    harness.main()
