# SPDX-License-Identifier: MIT OR Apache-2.0
"""The example program proves a bundled sector in process; the command line verifies what it wrote.
e2e_in_process.py PROGRAM EXAMPLE"""
import os
import subprocess
import sys

EXAMPLE = os.path.abspath(sys.argv.pop())
import harness  # noqa: E402
from harness import ProgramTest, fixture  # noqa: E402


class InProcess(ProgramTest):
    def test_porep(self):
        cache, out = self.path("cache"), self.path("proof")
        os.mkdir(cache)
        name = self.ok_json("circuit", "count", "porep-2kib")["parameter_id"]
        params = os.path.join(cache, f"v28-{name}.params")
        self.ok("params", "generate", "porep-2kib", "--toxic-waste", fixture("params/porep-2kib.json"), "--out", params)
        c1 = fixture("sectors/s2k/porep-10.curio.json")
        r = subprocess.run([EXAMPLE, cache, c1, "1001", "10", out], capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("192 bytes", r.stdout)
        self.ok("verify", "porep", "--c1", c1, "--vk", params, "--proof", out)
        bad = subprocess.run([EXAMPLE, cache, c1, "1002", "10", out], capture_output=True, text=True)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("bad_input: ", bad.stderr)


if __name__ == "__main__":
    harness.main()
