# SPDX-License-Identifier: MIT OR Apache-2.0
"""A daemon with the trial prover in a folder of its own, for the tests of tests/e2e."""
import os
import re
import signal
import subprocess
import time

import harness
from harness import fixture

C1 = fixture("sectors/s2k/porep-10.c1.json")
WINNING = ["winning-post", "--meta", fixture("sectors/s2k/winning.meta.json"), "--vanilla", fixture("sectors/s2k/winning-10.vanilla.bin")]


class Daemon:
    """start() returns when it answers; log, timeline and journal stay over restarts."""

    def __init__(self, folder, speed, *more, listen=None, state=None, env=None):
        self.folder, self.process = folder, None
        self.listen = listen or f"unix://{folder}/s.sock"
        self.log = os.path.join(folder, "log")
        self.timeline = os.path.join(folder, "timeline")
        self.words = ["daemon", "--config", "/dev/null", "--listen", self.listen, "--status-listen", "127.0.0.1:0", "--fake", str(speed),
                      "--set", f'timeline.file="{self.timeline}"', "--set", f'daemon.state_dir="{state or os.path.join(folder, "state")}"', *more]
        self.env = dict(os.environ, **(env or {}))

    def start(self, **more):
        with open(self.log, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen([harness.PROGRAM, *self.words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env, **more)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            m = re.search(r"gRPC on (\S+), HTTP on (\S+),", self.text(begin))
            if m:
                self.addr, self.http = m.group(1), "http://" + m.group(2)
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError(f"the daemon does not start: {self.text(begin)}")

    def text(self, begin=0):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            f.seek(begin)
            return f.read()

    def wait_text(self, pattern, seconds=20):
        until = time.monotonic() + seconds
        while not re.search(pattern, self.text()):
            if time.monotonic() > until:
                raise AssertionError(f"no '{pattern}' in the log: {self.text()}")
            time.sleep(0.02)

    def wait_timeline(self, text, seconds=20):
        until = time.monotonic() + seconds
        while True:
            with open(self.timeline, encoding="utf-8") as f:
                if text in f.read():
                    return
            if time.monotonic() > until:
                raise AssertionError(f"no {text} in the timeline")
            time.sleep(0.01)

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM, seconds=30):
        """Its exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def clean(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
