# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory, threads and mapped files that fail the whole program, its libraries included: never a crash, never an answer that lacks
a part. test_memory.py PROGRAM LIBRARY, the library being fail_alloc.c"""
import os
import re
import resource
import subprocess
import sys
import time

import harness
from harness import ProgramTest, fixture

LIBRARY = os.path.abspath(sys.argv.pop())
PROOF = ("verify", "porep", "--c1", fixture("sectors/s2k/porep-10.c1.json"), "--vk", fixture("params/porep-2kib.vk"), "--proof",
         fixture("sectors/s2k/porep-10.p0.proof.json"))


def facts(text):
    """The output without what depends on the moment: times, the memory that was used."""
    return re.sub(r'"peak_anon_bytes": \d+|\d+\.\d+(e-?\d+)?', "", text)


def maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return f.read()


class Memory(ProgramTest):
    def every_allocation(self, *words):
        env = dict(os.environ, LD_PRELOAD=LIBRARY)
        good = harness.run(*words, env=dict(env, FAIL_COUNT="1"))
        self.assertEqual(good.returncode, 0, good.stderr)
        n = int(good.stderr.split("asked ")[1])
        self.assertGreater(n, 20)
        failed = 0
        for k in range(1, n + 1):
            r = harness.run(*words, env=dict(env, FAIL_AT=str(k)))
            with self.subTest(command=words[:2], allocation=k):
                if r.returncode == 0:  # not needed for the answer: a buffer of the C library, a name in the environment
                    self.assertEqual(facts(r.stdout), facts(good.stdout))
                else:
                    failed += 1
                    self.assertEqual(r.returncode, 4, r.stderr)
                    self.assertIn("E_NOMEM", r.stderr)
        self.assertGreater(failed, 10)

    def test_verify(self):
        self.every_allocation(*PROOF, "--json", "--threads", "2")

    def test_params(self):
        toxic = self.write("toxic.json", '{"toxic_waste_le":{%s}}' % ",".join(
            '"%s":"%s"' % (w, ("%02x" % (i + 3)) * 31 + "00") for i, w in enumerate(("alpha", "beta", "gamma", "delta", "tau"))))
        out = self.path("small.params")
        self.every_allocation("params", "generate", "bits-8", "--toxic-waste", toxic, "--out", out, "--json", "--threads", "2")
        self.every_allocation("params", "inspect", out, "--json", "--threads", "2")
        self.assertEqual(sorted(os.listdir(self.dir)), ["small.params", "toxic.json"])

    def test_circuits(self):
        self.every_allocation("circuit", "digest", "bits-8", "--json", "--threads", "1")
        self.every_allocation("circuit", "witness", "bits-8", "--json", "--threads", "1")

    def test_threads_that_cannot_be_started(self):
        def little_room():
            resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
        self.fails(4, "E_NOMEM", *PROOF, "--threads", "512", says="512 threads cannot be started", preexec_fn=little_room)

    def test_parameter_file_cut_short_while_it_is_used(self):
        path = self.path("cut.params")
        self.ok("params", "generate", "sha256-32", "--out", path, "--quiet")
        size = os.path.getsize(path)
        with open(path, "rb") as f:
            data = f.read()
        for more in ((), ("--json",)):
            with open(path, "wb") as f:
                f.write(data)
            with subprocess.Popen([harness.PROGRAM, "params", "check", "--full", "--threads", "2", path, *more],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
                while path not in maps(p.pid):
                    self.assertIsNone(p.poll())
                    time.sleep(0.001)
                os.truncate(path, size // 8)
                out, err = p.communicate(timeout=300)
            self.assertEqual((p.returncode, out), (6, ""), err)
            self.assertIn("E_IO", err)
            self.assertIn("cut short", err)
            self.assertEqual(err.count("\n"), 1, err)


if __name__ == "__main__":
    harness.main()
