# SPDX-License-Identifier: MIT OR Apache-2.0
"""The daemon from outside, over a prover that only takes time. e2e_daemon.py PROGRAM"""
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import harness
from daemon import C1, WINNING, Daemon
from harness import ProgramTest, run


class DaemonTest(ProgramTest):
    def daemon(self, speed, *more, name="d", **kw):
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        d = Daemon(folder, speed, *more, **kw)
        self.addCleanup(d.clean)
        return d.start()

    def submit(self, d, *more, inputs=("porep", "--c1", C1, "--miner", "1001", "--sector", "10")):
        return self.ok("submit", *inputs, *more, "--addr", d.addr).stdout.strip()

    def get(self, d, path):
        with urllib.request.urlopen(d.http + path, timeout=10) as r:
            return r.status, r.headers, r.read().decode()

    def calls(self, d):
        job = self.submit(d, "--request-id", "first")
        self.assertEqual(job, self.submit(d, "--request-id", "first"))  # the same request is the same job
        other = self.submit(d, "--request-id", "first", inputs=("porep", "--c1", C1, "--miner", "1001", "--sector", "11"))
        self.assertNotEqual(job, other)
        out = self.path("proof")
        r = self.ok_json("await", job, "--out", out, "--timeout", "60", "--addr", d.addr)
        self.assertEqual((r["job_id"], r["status"], r["error"]), (job, "COMPLETED", ""))
        with open(out, "rb") as f:
            self.assertEqual(f.read().hex(), r["proof"])
        self.assertEqual(len(r["proof"]), 2 * 192 * 10)
        self.assertEqual(r, self.ok_json("await", job, "--timeout", "60", "--addr", d.addr))  # kept
        winning = self.ok("await", self.submit(d, inputs=WINNING), "--timeout", "60", "--addr", d.addr).stdout
        self.assertIn("COMPLETED", winning)
        self.assertIn("192 bytes of proof", winning)
        s = self.ok_json("status", "--addr", d.addr)
        self.assertGreaterEqual(s["total_proofs_completed"], 2)
        self.assertEqual([g["ordinal"] for g in s["gpus"]], [0])
        self.assertIn("porep-32g", [p["circuit_id"] for p in s["loaded_srs"]])
        self.assertIn("\ncuzk_proofs_completed_total ", self.ok("metrics", "--addr", d.addr).stdout)
        self.assertIn("not running", self.ok("cancel", job, "--addr", d.addr).stdout)
        self.assertIn("loaded", self.ok("preload", "snap-32g", "--addr", d.addr).stdout)
        self.assertIn("loaded already", self.ok("preload", "snap-32g", "--addr", d.addr).stdout)
        self.assertIn("evict", self.ok("evict", "snap-32g", "--addr", d.addr).stdout)
        self.fails(6, "E_NOENT", "await", "nothing", "--addr", d.addr, says="no job has this id")

    def test_calls_over_a_unix_socket(self):
        self.calls(self.daemon(1000))

    def test_calls_over_tcp(self):
        self.calls(self.daemon(1000, listen="127.0.0.1:0"))

    def test_cancel_and_timeout(self):
        d = self.daemon(20)
        job = self.submit(d)
        r = self.ok("await", job, "--timeout", "1", "--addr", d.addr, code=1)
        self.assertIn("TIMEOUT", r.stdout)
        d.wait_timeline(f"SYNTH_START,{job}")
        self.assertIn("cancelled while it ran", self.ok("cancel", job, "--addr", d.addr).stdout)
        self.assertIn("CANCELLED", self.ok("await", job, "--timeout", "30", "--addr", d.addr, code=1).stdout)
        self.assertEqual(d.end(), 0)

    def test_waiting_longer_than_a_connection_may_be_silent(self):
        d = self.daemon(4)  # 12 s and more
        self.assertIn("COMPLETED", self.ok("await", self.submit(d, inputs=("porep", "--c1", C1, "--partition", "0")), "--addr", d.addr).stdout)

    def test_http(self):
        d = self.daemon(1000)
        self.assertEqual(self.get(d, "/healthz")[2].strip(), "ok")
        status = json.loads(self.get(d, "/status")[2])
        for name in ("uptime_secs", "memory", "synthesis"):
            self.assertIn(name, status)
        self.assertIn("cuzk_proofs_completed_total 0", self.get(d, "/metrics")[2])
        self.assertTrue(self.get(d, "/")[1]["Content-Type"].startswith("text/html"))
        with self.assertRaises(urllib.error.HTTPError) as e:
            self.get(d, "/nothing")
        self.assertEqual(e.exception.code, 404)
        e.exception.close()
        self.submit(d)
        with urllib.request.urlopen(d.http + "/events", timeout=20) as r:
            seen = [r.readline().decode() for _ in range(30)]
        self.assertIn("event: snapshot\n", seen)
        with open(d.timeline, encoding="utf-8") as f:
            self.assertTrue(f.readline().startswith("TIMELINE,0,EPOCH,-,"))

    def test_reload(self):
        config = self.write("c.toml", "[daemon]\nmax_queued_jobs = 10\n")
        folder = self.path("d")
        os.mkdir(folder)
        d = Daemon(folder, 1000)
        d.words[d.words.index("/dev/null")] = config
        self.addCleanup(d.clean)
        d.start()
        self.write("c.toml", "[daemon]\nmax_queued_jobs = 20\n[gpus]\ngpu_workers_per_device = 3\n")
        d.send(signal.SIGHUP)
        d.wait_text(r"reload: daemon.max_queued_jobs = 20 \(was 10\)")
        d.wait_text(r"reload: gpus.gpu_workers_per_device = 3 takes effect at the next start")
        self.write("c.toml", "[daemon]\nmax_queued_jobs = many\n")
        d.send(signal.SIGHUP)
        d.wait_text(r"reload: .*c\.toml:2.*everything stays as it was")
        d.send(signal.SIGUSR1)
        self.ok("status", "--addr", d.addr)
        self.assertEqual(d.end(), 0)

    def test_drain(self):
        d = self.daemon(100)
        job = self.submit(d)
        d.send(signal.SIGTERM)
        d.wait_text("draining")
        r = run("submit", *WINNING, "--addr", d.addr)
        self.assertEqual(r.returncode, 6, r.stderr)
        self.assertEqual(d.process.wait(60), 0)
        self.assertIn("stopped", d.text())
        d.start()  # what was not finished goes on; what was finished is kept
        self.assertEqual(self.ok_json("await", job, "--timeout", "60", "--addr", d.addr)["status"], "COMPLETED")

    def test_second_signal_keeps_the_jobs(self):
        d = self.daemon(50)
        jobs = [self.submit(d, "--request-id", f"job-{i}") for i in range(3)]
        d.send(signal.SIGTERM)
        d.wait_text("draining")
        begin = time.monotonic()
        self.assertEqual(d.end(), 0)
        self.assertLess(time.monotonic() - begin, 10)
        d.start()
        for job in jobs:
            self.assertEqual(self.ok_json("await", job, "--timeout", "120", "--addr", d.addr)["status"], "COMPLETED")

    def test_drain_without_a_journal(self):
        d = self.daemon(300, state="none")
        job = self.submit(d)
        waiting = subprocess.Popen([harness.PROGRAM, "await", job, "--addr", d.addr], stdout=subprocess.PIPE, text=True)
        time.sleep(0.2)
        self.assertEqual(d.end(), 0)
        self.assertIn("COMPLETED", waiting.communicate(timeout=20)[0])

    def test_one_socket_one_daemon(self):
        d = self.daemon(1000)
        r = run(*d.words, timeout=20)
        self.assertEqual(r.returncode, 6)
        self.assertIn("s.sock: in use by another process", r.stderr)
        self.ok("status", "--addr", d.addr)
        # the folder of the journal may be shared: neither takes the other's jobs
        second = self.daemon(1000, name="e", state=os.path.join(d.folder, "state"))
        job = self.submit(d)
        self.assertEqual(self.ok_json("await", job, "--timeout", "60", "--addr", d.addr)["status"], "COMPLETED")
        self.assertEqual(second.end(), 0)
        self.assertEqual(d.end(), 0)
        self.assertFalse(os.path.exists(os.path.join(d.folder, "s.sock")))

    def test_configuration(self):
        good = self.write("good.toml", "[daemon]\nmax_queued_jobs = 77\n")
        self.assertIn("good", self.ok("config", "check", good).stdout)
        self.assertEqual(self.ok_json("config", "check", good), {"ok": True})
        self.assertRegex(self.ok("config", "show", good).stdout, r"\bmax_queued_jobs *= *77\b")
        shown = self.write("shown.toml", self.ok("config", "show", good).stdout)
        self.assertEqual(self.ok("config", "show", shown).stdout, self.ok("config", "show", good).stdout)
        for text, line, key in (("[daemon]\nmax_queued_jobs = 0\n", 2, "daemon.max_queued_jobs"), ("[gpus]\n\nnonsense = 1\n", 3, "gpus.nonsense"),
                                ("[memory]\ntotal_budget = \"much\"\n", 2, "memory.total_budget")):
            bad = self.write("bad.toml", text)
            r = run("config", "check", bad)
            self.assertNotEqual(r.returncode, 0)
            self.assertEqual(r.returncode, run("daemon", "--config", bad, "--fake", "1").returncode)
            self.assertIn(f"bad.toml:{line}", r.stderr)
            self.assertIn(key, r.stderr)
        self.assertEqual(run("config", "check", self.path("none.toml")).returncode, 6)

    def test_listening_wider_needs_protection(self):
        words = ["daemon", "--config", "/dev/null", "--listen", "0.0.0.0:0", "--fake", "1000", "--set", 'daemon.state_dir="none"']
        r = run(*words, timeout=20)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("allow_insecure_remote", r.stderr)

    def test_token(self):
        token = self.write("token", "correct-horse-battery\n")
        wrong = self.write("wrong", "incorrect-horse\n")
        d = self.daemon(1000, "--set", f'daemon.auth_token_file="{token}"', listen="127.0.0.1:0")
        self.ok("status", "--addr", d.addr, "--token-file", token)
        self.fails(2, "E_ARG", "status", "--addr", d.addr, "--token-file", wrong, says="PERMISSION_DENIED")
        self.fails(2, "E_ARG", "status", "--addr", d.addr, says="UNAUTHENTICATED")

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_tls(self):
        cert, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert,
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        d = self.daemon(1000, "--set", f'daemon.tls_cert="{cert}"', "--set", f'daemon.tls_key="{key}"', listen="127.0.0.1:0")
        self.ok("status", "--addr", d.addr, "--ca", cert)
        self.assertNotEqual(run("status", "--addr", d.addr, "--timeout", "5").returncode, 0)

    def test_what_the_service_manager_hears(self):
        path = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            s.settimeout(20)
            d = self.daemon(1000, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "600000"})
            self.assertIn("READY=1", s.recv(4096).decode().split("\n"))
            for _ in range(2):
                self.assertEqual(s.recv(4096).decode().strip(), "WATCHDOG=1")
            d.send(signal.SIGTERM)
            heard = s.recv(4096).decode()
            while "WATCHDOG=1" in heard:
                heard = s.recv(4096).decode()
            self.assertIn("STOPPING=1", heard)
            self.assertEqual(d.process.wait(30), 0)


if __name__ == "__main__":
    harness.main()
