# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kills the daemon at random instants under load, starts it again and compares what clients were told with what comes out.
e2e_kill.py PROGRAM; CUZK_KILL_COUNT instants (default 12), CUZK_KILL_SEED.

What must hold: a job whose id was printed completes; whoever asks gets the same proof, before and after a kill; a partition whose
record the journal has at a kill is not proved again: no later run has a KERNEL_START of it. (The event GPU_END comes before that record
is durable, so a partition that a kill catches between the two may be proved again; these are counted, not faults.)"""
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

import harness
from daemon import C1, WINNING, Daemon
from harness import ProgramTest, run

COUNT = int(os.environ.get("CUZK_KILL_COUNT", "12"))
SEED = int(os.environ.get("CUZK_KILL_SEED", str(time.time_ns() & 0xFFFFFF)))


def events(path):
    """(event, job, fields) of the whole lines of a timeline's file; a kill may tear the last line of a run."""
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            m = re.match(r"TIMELINE,\d+,([A-Z_]+),([^,]*),(.*)\n$", line)
            if m:
                yield m.group(1), m.group(2), dict(kv.split("=", 1) for kv in m.group(3).split(",") if "=" in kv)


class Kill(ProgramTest):
    def setUp(self):
        super().setUp()
        self.lock = threading.Lock()
        self.accepted, self.results, self.unexpected = [], {}, []
        self.on, self.number = True, 0
        self.random = random.Random(SEED)

    def client(self, k):
        """Submits and awaits through kills and restarts, as a client would: the same request id until there is an answer."""
        rng = random.Random(SEED * 10 + k)
        while self.on:
            with self.lock:
                self.number += 1
                n = self.number
            inputs = ["porep", "--c1", C1, "--miner", "1001", "--sector", str(n)] if n % 3 else [*WINNING, "--miner", "1001", "--sector", str(n)]
            job = None
            while self.on and not job:
                r = run("submit", *inputs, "--request-id", f"r{n}", "--addr", self.d.addr, "--timeout", "10")
                if r.returncode == 0:
                    job = r.stdout.strip()
                    with self.lock:
                        self.accepted.append(job)
                else:
                    time.sleep(0.05)
            if job and rng.random() < 0.5:
                self.take(job, 3)

    def take(self, job, seconds):
        """Asks for a result; remembers it. True if there was one."""
        r = run("await", job, "--json", "--timeout", str(seconds), "--addr", self.d.addr)
        if not r.stdout:
            return False
        a = json.loads(r.stdout)
        with self.lock:
            if a["status"] == "COMPLETED":
                if self.results.setdefault(job, a["proof"]) != a["proof"]:
                    self.unexpected.append(f"{job}: two results")
                return True
            if a["status"] != "TIMEOUT":
                self.unexpected.append(f"{job}: {a['status']} {a['error']}")
        return False

    def settle(self):
        """Every accepted job has its proof, and each proof can be fetched again."""
        until = time.monotonic() + 240
        for job in self.accepted:
            while not self.take(job, 20):
                self.assertLess(time.monotonic(), until, f"{job} does not end (seed {SEED}): {self.d.text()[-2000:]}")
                self.assertIsNone(self.d.process.poll(), self.d.text()[-2000:])
                time.sleep(0.05)
        self.assertEqual(self.unexpected, [], f"seed {SEED}")
        self.assertEqual(set(self.results), set(self.accepted))

    def recorded(self):
        """(job, partition) of the partitions and (job, None) of the ends that the journal holds. A copy is read: opening the original would
        do the recovery that is the next daemon's."""
        copy = self.path("copy")
        shutil.rmtree(copy, True)
        os.mkdir(copy)
        for name in ("journal.db", "journal.db-wal"):
            path = os.path.join(self.dir, "state", name)
            if os.path.exists(path):
                shutil.copy(path, copy)
        db = sqlite3.connect(os.path.join(copy, "journal.db"))
        try:
            found = set(db.execute("SELECT job_id, CAST(number AS TEXT) FROM partition JOIN job USING(seq)"))
            return found | set(db.execute("SELECT job_id, NULL FROM job WHERE ended != 0"))
        finally:
            db.close()

    def repeated(self, recorded):
        """Partitions with kernels in a run after the kill at which they, or their job's end, were recorded; partitions with kernels after a
        good end; good ends."""
        run_number, done, between, again = -1, set(), set(), []
        known = set()
        for event, job, f in events(self.d.timeline):
            if event == "EPOCH":
                run_number += 1
                if run_number:
                    known |= recorded[run_number - 1]
            elif event == "GPU_END" and "err" not in f:
                done.add((job, f["partition"]))
            elif event == "KERNEL_START":
                if (job, f["partition"]) in known or (job, None) in known:
                    again.append((run_number, job, f["partition"]))
                if (job, f["partition"]) in done:
                    between.add((job, f["partition"]))
        self.assertEqual(run_number, len(recorded))
        return again, between, len(done)

    def load(self, d, clients):
        self.d = d
        threads = [threading.Thread(target=self.client, args=(k,)) for k in range(clients)]
        for t in threads:
            t.start()
        return threads

    def test_kill(self):
        d = Daemon(self.dir, 400, "--set", 'daemon.result_ttl="1h"', "--set", "daemon.result_max=100000", "--set", "daemon.max_queued_jobs=40",
                   "--set", 'daemon.orphan_policy="keep"')
        self.addCleanup(d.clean)
        threads = self.load(d.start(), 3)
        recorded = []
        try:
            for _ in range(COUNT):
                time.sleep(self.random.uniform(0, 1.2))
                d.end(signal.SIGKILL)
                recorded.append(self.recorded())
                d.start()
        finally:
            self.on = False
            for t in threads:
                t.join()
        self.settle()
        again, between, done = self.repeated(recorded)
        kinds = {event for event, _, _ in events(d.timeline)}
        print(f"seed {SEED}: {COUNT} kills, {len(self.accepted)} jobs accepted, {done} partitions, "
              f"{sum(1 for r in recorded for _, k in r if k)} found in the journal at kills, {len(again)} of them proved again, "
              f"{len(between)} others proved again that were caught before their record")
        self.assertEqual(again, [], f"seed {SEED}")
        self.assertGreaterEqual(len(self.accepted), COUNT // 2)
        self.assertTrue(any(k for r in recorded for _, k in r), "no kill came between a partition and its job's end")
        self.assertLessEqual({"JOB_SUBMIT", "KERNEL_START", "GPU_END"}, kinds)
        self.assertEqual(d.end(), 0)

    def test_full_disk(self):
        """The journal cannot grow any more: submissions are refused, what was accepted is kept and completes with room again."""
        d = Daemon(self.dir, 1000, "--set", 'daemon.result_ttl="1h"')
        self.addCleanup(d.clean)
        d.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (192 << 10, 192 << 10)))
        self.d = d
        refused = 0
        for n in range(60):
            r = run("submit", "porep", "--c1", C1, "--miner", "1001", "--sector", str(n), "--addr", d.addr, "--timeout", "10")
            if r.returncode == 0:
                self.accepted.append(r.stdout.strip())
            else:
                refused += 1
                if refused == 3:
                    break
        self.assertGreater(refused, 0)
        self.assertGreater(len(self.accepted), 0)
        self.assertIsNone(d.process.poll(), d.text())
        d.end(signal.SIGKILL)
        d.start()
        self.settle()
        self.assertEqual(d.end(), 0)


if __name__ == "__main__":
    harness.main()
