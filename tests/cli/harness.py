# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running the program and making damaged inputs, for the tests of tests/cli and tests/e2e."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests/data/fixtures")
PROGRAM = None  # set by main()


def fixture(*parts):
    return os.path.join(FIXTURES, *parts)


def run(*words, **more):
    """Runs the program; returns the completed process with bytes decoded."""
    more.setdefault("timeout", 900)
    more.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([PROGRAM, *words], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **more)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="cuzk-test-")
        self.addCleanup(shutil.rmtree, self.dir, True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def ok(self, *words, code=0, **more):
        r = run(*words, **more)
        self.assertEqual(r.returncode, code, f"{words}: {r.stdout}{r.stderr}")
        return r

    def ok_json(self, *words, code=0):
        return json.loads(self.ok(*words, "--json", code=code).stdout)

    def fails(self, code, name, *words, says="", **more):
        """The command ends with this exit code and this status, as text and as JSON; nothing goes to standard output."""
        r = run(*words, **more)
        self.assertEqual(r.returncode, code, f"{words}: {r.stdout}{r.stderr}")
        self.assertTrue(r.stderr.startswith("cuzk: "), r.stderr)
        self.assertIn(f"({name})", r.stderr)
        self.assertIn(says, r.stderr)
        self.assertEqual(r.stdout or "", "")
        r = run(*words, "--json", **more)
        self.assertEqual(r.returncode, code)
        e = json.loads(r.stderr)
        self.assertEqual(sorted(e), ["code", "detail", "name", "text"])
        self.assertEqual(e["name"], name)
        self.assertLess(e["code"], 0)
        self.assertIn(says, e["detail"])
        return e["detail"]


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def inputs_of(stem):
    """Kind, --meta and --vanilla of a bundled set of PoSt or update proofs: "s2k/window" has window.meta.json beside it."""
    meta = stem + ".meta.json"
    name = os.path.basename(stem)
    if name == "update":
        kind, files = "snap", [f"{stem}.p{k}.vanilla.bin" for k in range(load(meta)["partitions"])]
    else:
        kind = "winning-post" if name.startswith("winning") else "window-post"
        files = [f"{stem}-{s['sector_number']}.vanilla.bin" for s in load(meta)["sectors"]]
    return [kind, "--meta", meta, "--vanilla", *files]


def main():
    global PROGRAM
    # the test files import this module by its name; run as a script it is another copy
    sys.modules["harness"].PROGRAM = PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(module="__main__", verbosity=1)


# ---- BLS12-381, just enough to make points that a reader has to refuse ----

P = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB


def g1_outside_subgroup():
    """A point of the curve y^2 = x^3 + 4 that is not in the subgroup: the cofactor is large, nearly every point is one."""
    x = 1
    while True:
        x += 1
        y = pow(x ** 3 + 4, (P + 1) // 4, P)
        if y * y % P == (x ** 3 + 4) % P:
            return x, y


def g1_bytes(x, y):
    return x.to_bytes(48, "big") + y.to_bytes(48, "big")


def g1_compress(x, y):
    b = bytearray(x.to_bytes(48, "big"))
    b[0] |= 0x80 | (0x20 if y > (P - 1) // 2 else 0)
    return bytes(b)


def g1_infinity():
    return bytes([0x40]) + bytes(95)
