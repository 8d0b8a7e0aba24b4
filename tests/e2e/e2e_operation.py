# SPDX-License-Identifier: MIT OR Apache-2.0
"""What happens to a daemon in operation: limits of the drain, the third signal, rotated timelines, dumps, neighbours on the same journal, a socket
left behind, preloading, measuring it. Over the trial prover."""
import json
import os
import signal
import time
import zlib

import harness
from resident import Resident


class Operation(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.c1 = self.write("c1.json", "{}")

    def start(self, *more, **how):
        d = Resident(self.dir, *more, **how)
        self.addCleanup(d.kill)
        return d

    def submit(self, d, name):
        r = d.call("submit", "porep", "--c1", self.c1, "--sector", str(zlib.crc32(name.encode()) % 100000), "--request-id", name)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        return r.stdout.strip()

    def timeline(self, path):
        if not os.path.exists(path):
            return ""
        with open(path) as f:
            return f.read()

    def until(self, d, event, job):
        end = time.monotonic() + 30
        while f"{event},{job}," not in self.timeline(d.timeline):
            self.assertLess(time.monotonic(), end, d.text())
            time.sleep(0.01)

    def test_delivered_results_are_proved_again(self):
        """The same request is the same job until its result was delivered; who asks again after that did not accept it."""
        d = self.start()
        job = self.submit(d, "one [of, 2]")
        self.assertEqual(job, "one [of, 2]")
        first = json.loads(d.call("await", job, "--json").stdout)
        again = self.submit(d, job)
        self.assertRegex(again, r"^one \[of, 2\]~[0-9a-f]{8}$")
        self.assertEqual(json.loads(d.call("await", again, "--json").stdout)["proof"], first["proof"])
        self.assertEqual(d.stop(), 0, d.text())
        self.assertFalse(os.path.exists(d.socket) or os.path.exists(d.socket + ".lock"))

    def test_drain_timeout(self):
        d = self.start("--set", "daemon.drain_timeout=\"300ms\"", speed=20)
        self.until(d, "SYNTH_START", self.submit(d, "long"))
        t0 = time.monotonic()
        self.assertEqual(d.stop(10), 0, d.text())
        self.assertGreater(time.monotonic() - t0, 0.29)
        self.assertIn("drain_timeout has passed", d.text())

    def test_third_signal_ends_at_once(self):
        """While kernels run, which the second one waits for."""
        codes = []
        while 130 not in codes and len(codes) < 3:  # on a busy machine the kernels may be over first
            name = f"long {len(codes)}"
            d = self.start(speed=10, state=False)
            self.submit(d, name)
            self.until(d, "KERNEL_START", name)
            for text in ("draining", "boundary", "at once"):
                d.signal(signal.SIGINT)
                end = time.monotonic() + 5
                while text not in d.text() and d.process.poll() is None and time.monotonic() < end:
                    time.sleep(0.002)
            codes.append(d.process.wait(5))
        self.assertEqual(codes[-1], 130)

    def test_rotated_timeline_and_dump(self):
        d = self.start()
        self.submit(d, "one")
        self.assertEqual(d.call("await", "one").returncode, 0)
        os.rename(d.timeline, d.timeline + ".1")
        d.signal(signal.SIGHUP)
        end = time.monotonic() + 10
        while not os.path.exists(d.timeline):
            self.assertLess(time.monotonic(), end, d.text())
            time.sleep(0.01)
        self.submit(d, "two")
        self.assertEqual(d.call("await", "two").returncode, 0)
        self.assertIn("JOB_SUBMIT,two", self.timeline(d.timeline))
        self.assertNotIn("JOB_SUBMIT,two", self.timeline(d.timeline + ".1"))
        n = len(d.text())
        d.signal(signal.SIGUSR1)
        end = time.monotonic() + 10
        while len(d.text()) == n:
            self.assertLess(time.monotonic(), end, "no dump")
            time.sleep(0.01)
        self.assertEqual(d.stop(), 0, d.text())

    def test_neighbour_on_the_same_journal(self):
        """It leaves the living one its jobs."""
        d = self.start(speed=20)
        job = self.submit(d, "mine")
        other = self.start(listen=f"unix://{self.dir}/other.sock")
        self.assertIn("NOT_FOUND", other.call("await", job).stderr)
        self.assertEqual(d.call("await", job).returncode, 0)
        self.assertEqual(other.stop(), 0)
        self.assertEqual(d.stop(), 0)

    def test_socket_left_behind(self):
        d = self.start()
        d.kill()
        self.assertTrue(os.path.exists(d.socket))
        d = self.start()
        self.assertEqual(d.call("status").returncode, 0)
        self.assertEqual(d.stop(), 0)

    def test_json_log(self):
        d = self.start("--set", "logging.format=\"json\"", wait=False)
        d.says("trial prover")
        for line in d.text().splitlines():
            self.assertEqual(sorted(json.loads(line)), ["level", "message", "time"])
        self.assertEqual(d.stop(), 0)

    def test_preload(self):
        d = self.start("--set", 'srs.preload=["winning-32g","no-such-circuit"]')
        d.says("preload winning-32g: loaded")
        d.says("preload no-such-circuit: ")
        self.assertEqual(d.stop(), 0)

    def test_bench(self):
        d = self.start(speed=1000)
        r = json.loads(d.call("bench", "single", "porep", "--c1", self.c1, "--json").stdout)
        self.assertEqual(r["status"], "COMPLETED")
        r = d.call("bench", "batch", "porep", "--c1", self.c1, "--count", "6", "--concurrency", "3", "--warmup", "1", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual((report["completed"], report["failed"], report["transport_errors"]), (6, 0, 0))
        self.assertGreater(report["device_efficiency"], 0.05)
        self.assertLessEqual(report["device_efficiency"], 1.01)
        self.assertGreaterEqual(report["wall_s"]["p95"], report["wall_s"]["p50"])
        r = d.call("bench", "stress", "--mix", "porep=2/0.2,winning-post=1/0.1", "--sector-size", "2KiB", "--duration", "1", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertTrue(all(k["completed"] > 0 for k in json.loads(r.stdout)), r.stdout)
        self.assertEqual(d.stop(), 0)
        r = d.call("bench", "single", "porep", "--c1", self.c1)
        self.assertEqual(r.returncode, 2, r.stderr)
        r = d.call("bench", "batch", "porep", "--c1", self.c1, "--count", "2", "--json")
        self.assertEqual((r.returncode, json.loads(r.stdout)["transport_errors"]), (2, 2))


if __name__ == "__main__":
    harness.main()
