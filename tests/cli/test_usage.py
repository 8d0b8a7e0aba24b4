# SPDX-License-Identifier: MIT OR Apache-2.0
"""Command line, help, exit codes, where output goes. test_usage.py PROGRAM"""
import json
import os
import pty
import signal
import subprocess
import time

import harness
from harness import ProgramTest, fixture, run

COMMANDS = [
    ("params", "generate"), ("params", "inspect"), ("params", "check"), ("circuit", "list"), ("circuit", "digest"),
    ("circuit", "count"), ("circuit", "check"), ("circuit", "witness"), ("prove", "porep"), ("verify", "porep"),
    ("bench", "arith"), ("bench", "ntt"), ("bench", "msm"), ("bench", "pairing"), ("bench", "prove"),
    ("daemon",), ("config", "check"), ("config", "show"), ("submit",), ("await",), ("cancel",), ("status",), ("preload",), ("evict",),
    ("metrics",), ("bench", "single"), ("bench", "batch"), ("bench", "stress"), ("version",), ("help",),
]


class Usage(ProgramTest):
    def test_help_of_every_command(self):
        listing = self.ok("--help").stdout
        self.assertEqual(listing, self.ok("help").stdout)
        for c in COMMANDS:
            self.assertIn("  " + " ".join(c), listing)
            text = self.ok(*c, "--help")
            self.assertEqual(text.stderr, "")
            self.assertTrue(text.stdout.startswith("usage: cuzk " + " ".join(c)), text.stdout)
            for o in ("--help", "--json", "--threads N", "--quiet", "--progress WHEN"):
                self.assertIn(o, text.stdout)
            self.assertEqual(text.stdout, self.ok("help", *c).stdout)
        self.assertIn("usage: cuzk params check", self.ok("params", "--help").stdout)

    def test_wrong_usage_is_64(self):
        c1 = fixture("sectors/s2k/porep-10.c1.json")
        for words, says in [
            ((), "a command is missing"),
            (("nonsense",), "no command 'nonsense'"),
            (("params",), "generate, inspect, check"),
            (("params", "nonsense"), "no command 'params nonsense'"),
            (("prove", "window"), "no command 'prove window'"),
            (("circuit", "digest"), "needs NAME"),
            (("circuit", "digest", "porep-2kib", "more"), "one argument too many"),
            (("circuit", "digest", "porep-2kib", "--nonsense"), "no option '--nonsense'"),
            (("--quiet", "circuit", "list"), "options follow the command"),
            (("circuit", "digest", "porep-2kib", "--against="), "empty value"),
            (("circuit", "list", "--quiet=yes"), "takes no value"),
            (("circuit", "list", "--threads", "0"), "--threads"),
            (("circuit", "list", "--threads", "1025"), "--threads"),
            (("circuit", "list", "--threads", "-1"), "--threads"),
            (("circuit", "list", "--threads", "2x"), "--threads"),
            (("circuit", "list", "--threads", "99999999999999999999999"), "--threads"),
            (("circuit", "list", "--progress", "sometimes"), "always"),
            (("circuit", "list", "--threads", "1", "--threads", "2"), "given twice"),
            (("prove", "porep"), "needs --c1 FILE"),
            (("prove", "porep", "--c1", c1), "needs --out FILE"),
            (("verify", "porep", "--c1", c1, "--proof", c1), "needs --vk FILE"),
            (("params", "generate", "bits-8"), "needs --out FILE"),
            (("submit",), "needs KIND"),
            (("submit", "nonsense"), "no kind of proof 'nonsense'"),
            (("submit", "porep"), "--c1 FILE is needed"),
            (("submit", "winning-post"), "--meta META is needed"),
            (("submit", "porep", "--c1", c1, "--priority", "urgent"), "urgent"),
            (("submit", "porep", "--c1", c1, "--timeout", "0"), "--timeout"),
            (("await",), "needs JOB"),
            (("await", "a", "b"), "one argument too many"),
            (("cancel",), "needs JOB"),
            (("preload",), "needs CIRCUIT"),
            (("evict",), "needs CIRCUIT"),
            (("status", "--listen", "127.0.0.1:1"), "no option '--listen'"),
            (("metrics", "more"), "one argument too many"),
            (("config",), "check, show"),
            (("daemon", "--fake", "fast"), "a number from 0.01 to 1000000"),
            (("daemon", "--fake", "0"), "a number from 0.01 to 1000000"),
            (("daemon", "--listen", 'a"b'), "is no address"),
            (("circuit", "witness", "porep"), "needs --c1 FILE"),
            (("circuit", "witness", "porep-2kib"), "neither a kind of proof (porep, winning-post, window-post, snap) nor a gadget"),
            (("circuit", "check", "bits-8", "--c1", c1), "do not apply"),
            (("circuit", "witness", "porep", "--c1", c1, "--partition", "1"), "--partition"),
            (("circuit", "witness", "porep", "--c1", fixture("sectors/s2k/porep-13.c1.json")), "--partition K is needed"),
            (("bench", "msm", "--group", "g3"), "--group"),
            (("bench", "msm", "--scalars", "dense"), "--scalars"),
            (("bench", "ntt", "--log2", "0"), "--log2"),
            (("bench", "ntt", "--runs", "0"), "--runs"),
            (("help", "nonsense"), "no command 'nonsense'"),
        ]:
            with self.subTest(words=words):
                self.fails(64, "E_USAGE", *words, says=says)

    def test_option_without_value(self):
        r = run("circuit", "digest", "--json", "porep-2kib", "--against")
        self.assertEqual(r.returncode, 64)
        self.assertIn("'--against' needs a value", json.loads(r.stderr)["detail"])

    def test_other_errors_have_their_codes(self):
        self.fails(2, "E_ARG", "circuit", "digest", "porep-3kib", says="porep-3kib")
        self.fails(6, "E_NOENT", "params", "inspect", self.path("absent"), says="absent")
        self.fails(3, "E_FORMAT", "params", "inspect", self.write("empty", b""))
        self.fails(3, "E_FORMAT", "params", "inspect", self.dir)

    def test_version(self):
        v = self.ok_json("version")
        self.assertEqual(sorted(v), ["build_type", "commit", "compiler", "features", "version"])
        self.assertTrue(self.ok("--version").stdout.startswith(f"cuzk {v['version']} ({v['commit']})"))
        env = dict(os.environ, CUZK_CPU_MASK="0")
        self.assertIn("portable code only", self.ok("version", env=env).stdout)

    def test_results_that_cannot_be_printed(self):
        with open("/dev/full", "w") as full:
            for words in [("circuit", "list"), ("circuit", "list", "--json"), ("version",), ("help",)]:
                r = run(*words, stdout=full)
                self.assertEqual(r.returncode, 6, words)
                self.assertIn("E_NOSPC", r.stderr)

    def test_reader_that_went_away(self):
        r, w = os.pipe()
        os.close(r)
        p = run("circuit", "list", stdout=w)
        os.close(w)
        self.assertEqual(p.returncode, 6)
        self.assertIn("E_IO", p.stderr)


class Progress(ProgramTest):
    WORDS = ("circuit", "digest", "porep-2kib")

    def test_quiet_in_a_pipe(self):
        self.assertEqual(self.ok("circuit", "digest", "sha256-64").stderr, "")
        self.assertEqual(self.ok("circuit", "digest", "sha256-64", "--progress=never").stderr, "")

    def test_lines_when_asked_for(self):
        r = self.ok(*self.WORDS, "--progress=always")
        self.assertIn("%", r.stderr)
        self.assertNotIn("\r", r.stderr)
        self.assertEqual(self.ok(*self.WORDS, "--progress=always", "--quiet").stderr, "")

    def test_bar_on_a_terminal(self):
        ours, theirs = pty.openpty()
        p = subprocess.Popen([harness.PROGRAM, *self.WORDS], stdout=subprocess.PIPE, stderr=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:
            pass  # the terminal's other end is closed
        p.stdout.close()
        p.wait()
        os.close(ours)
        self.assertIn(b"\r", seen)
        self.assertIn(b"%", seen)

    def test_interrupt_cancels_and_leaves_nothing(self):
        def wanted():  # the tests themselves may run under nohup, or in the background
            for sig in (signal.SIGINT, signal.SIGHUP):
                signal.signal(sig, signal.SIG_DFL)
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            p = subprocess.Popen([harness.PROGRAM, "params", "generate", "porep-2kib", "--out", self.path("x.params"), "--json"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=wanted)
            while not os.listdir(self.dir):
                self.assertIsNone(p.poll())
                time.sleep(0.01)
            time.sleep(1.0)
            p.send_signal(sig)
            out, err = p.communicate(timeout=300)
            self.assertEqual(p.returncode, 7, err)
            self.assertEqual(json.loads(err)["name"], "E_CANCELLED")
            self.assertEqual(out, "")
            self.assertEqual(os.listdir(self.dir), [])


if __name__ == "__main__":
    harness.main()
