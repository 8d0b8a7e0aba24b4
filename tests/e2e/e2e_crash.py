# SPDX-License-Identifier: MIT OR Apache-2.0
"""kill -9 at random instants under load. Of each accepted job the journal keeps what it had: none is lost, none gets two different results, and a
partition that was finished is never begun again. CUZK_KILL_COUNT kills (default 15), CUZK_KILL_SEED repeats a run's instants."""
import hashlib
import os
import random
import shutil
import signal
import sqlite3
import threading
import time

import harness
from resident import Resident

KILLS = int(os.environ.get("CUZK_KILL_COUNT", "15"))
SEED = int(os.environ.get("CUZK_KILL_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)


def right_proof(digest, partition):
    """What the trial prover makes of a request's partition."""
    out, link = b"", bytes(32)
    for _ in range(6):
        link = hashlib.sha256(link + digest + partition.to_bytes(4, "little")).digest()
        out += link
    return out


class Kill(harness.ProgramTest):
    KINDS = (("porep", 10), ("winning-post", 1))

    def begin(self, **more):
        return Resident(self.dir, "--set", "daemon.max_queued_jobs=100000", "--set", "daemon.result_max=100000", speed=1000, **more)

    def load(self, daemon, number, stop, draw):
        """Submits until the daemon is gone."""
        while not stop.is_set():
            with self.lock:
                self.n += 1
                name = f"job-{self.n}"
            kind, _ = self.KINDS[draw.randrange(4) == 0]
            words = ["--c1", self.c1, "--miner", "1000", "--sector", name[4:]]
            if kind == "winning-post":
                words = ["--meta", harness.fixture("sectors/s2k/winning.meta.json"), "--vanilla",
                         harness.fixture("sectors/s2k/winning-10.vanilla.bin"), "--miner", str(5000 + self.n)]
            r = harness.run("submit", kind, *words, "--request-id", name, "--addr", f"unix://{daemon.socket}", "--timeout", "20")
            if r.returncode == 0:
                with self.lock:
                    self.accepted[r.stdout.strip()] = kind
            elif daemon.process.poll() is None and not stop.is_set():
                time.sleep(0.005)  # it does not listen yet
            stop.wait(draw.uniform(0.0, 0.08))

    def journal(self):
        """Jobs, finished partitions and results as they stand; from a copy, which leaves the journal to the next daemon's own recovery."""
        copy = self.path("copy")
        shutil.rmtree(copy, True)
        os.mkdir(copy)
        for name in ("journal.db", "journal.db-wal"):
            if os.path.exists(os.path.join(self.dir, "state", name)):
                shutil.copy(os.path.join(self.dir, "state", name), copy)
        with_db = sqlite3.connect(os.path.join(copy, "journal.db"))
        try:
            if not with_db.execute("SELECT 1 FROM sqlite_master WHERE name = 'job'").fetchone():
                return {}, {}, {}  # killed before it was made
            jobs = {j: (d, e) for j, d, e in with_db.execute("SELECT job_id, digest, ended FROM job")}
            parts = {(j, k): p for j, k, p in with_db.execute("SELECT job_id, number, partition.proof FROM partition JOIN job USING (seq)")}
            proofs = {j: p for j, p in with_db.execute("SELECT job_id, proof FROM job WHERE ended = 1")}
        finally:
            with_db.close()
        return jobs, parts, proofs

    def timeline_from(self, offset):
        """(event, job, partition or None) of the lines since then."""
        events = []
        if not os.path.exists(self.path("timeline.log")):
            return events
        with open(self.path("timeline.log"), errors="replace") as f:
            f.seek(offset)
            for line in f:
                word = line.strip().split(",")
                if len(word) < 4 or word[0] != "TIMELINE":
                    continue  # a line that the kill cut
                part = [int(w[10:]) for w in word[4:] if w.startswith("partition=") and w[10:].isdigit()]
                events.append((word[2], word[3], part[0] if part else None))
        return events

    def test_kill(self):
        print(f"CUZK_KILL_COUNT={KILLS} CUZK_KILL_SEED={SEED}", flush=True)
        draw = random.Random(SEED)
        self.c1 = self.write("c1.json", "{}")
        self.lock, self.n, self.accepted = threading.Lock(), 0, {}
        parts, proofs, offset = {}, {}, 0
        resumed = 0

        def check(what):
            """What was begun since the last look, against what was finished before it; then the journal against what it was."""
            nonlocal parts, proofs, offset, resumed
            begun = set()
            for event, job, part in self.timeline_from(offset):
                if event in ("SYNTH_START", "GPU_START"):
                    self.assertNotIn((job, part), parts, f"{what}: {event} of a finished partition")
                    self.assertNotIn(job, proofs, f"{what}: {event} of a finished job")
                    self.assertNotIn((event, job, part), begun, f"{what}: {event} twice")
                    begun.add((event, job, part))
            jobs, new_parts, new_proofs = self.journal()
            for job in self.accepted:
                self.assertIn(job, jobs, f"{what}: an accepted job is lost")
            for job, proof in proofs.items():
                self.assertEqual(new_proofs.get(job), proof, f"{what}: the result of {job}")
            for (job, k), proof in parts.items():
                if job not in new_proofs:
                    self.assertEqual(new_parts.get((job, k)), proof, f"{what}: partition {k} of {job}")
            for (job, k), proof in new_parts.items():
                self.assertEqual(proof, right_proof(jobs[job][0], k))
            parts, proofs = new_parts, new_proofs
            resumed += len({job for job, _ in parts if job not in proofs})
            offset = os.path.getsize(self.path("timeline.log")) if os.path.exists(self.path("timeline.log")) else 0

        for i in range(KILLS):
            daemon = self.begin(wait=False)
            stop = threading.Event()
            loads = [threading.Thread(target=self.load, args=(daemon, k, stop, random.Random(draw.randrange(1 << 32)))) for k in range(2)]
            try:
                for t in loads:
                    t.start()
                time.sleep(draw.uniform(0.02, 0.6))
                self.assertIsNone(daemon.process.poll(), daemon.text())
            finally:
                daemon.signal(signal.SIGKILL)
                daemon.process.wait()
                stop.set()
                for t in loads:
                    t.join()
            check(f"kill {i}")

        daemon = self.begin()
        try:
            jobs, _, _ = self.journal()
            for job, kind in self.accepted.items():
                n = dict(self.KINDS)[kind]
                r = daemon.call("await", job, "--out", self.path("proof"), "--timeout", "60")
                self.assertEqual(r.returncode, 0, f"{job}: {r.stdout}{r.stderr}")
                self.assertEqual(self.read("proof"), b"".join(right_proof(jobs[job][0], k) for k in range(n)), job)
            self.assertEqual(daemon.stop(), 0, daemon.text())
        finally:
            daemon.kill()
        check("end")
        print(f"{KILLS} kills, {len(self.accepted)} accepted jobs, {resumed} resumed with finished partitions", flush=True)
        self.assertGreater(len(self.accepted), KILLS // 2)
        self.assertGreater(resumed, 0)


if __name__ == "__main__":
    harness.main()
