# SPDX-License-Identifier: MIT OR Apache-2.0
"""A daemon under test: with the trial prover, its socket, journal, timeline and log in a folder of its own."""
import os
import signal
import subprocess
import time

import harness


class Resident:
    """speed divides the published stage times (a PoRep takes 40 s alone); more are words of the command line."""

    def __init__(self, folder, *more, speed=500, listen=None, state=True, env=None, wait=True):
        self.folder = folder
        self.socket = os.path.join(folder, "cuzk.sock")
        self.timeline = os.path.join(folder, "timeline.log")
        self.state = os.path.join(folder, "state")
        self.log = os.path.join(folder, f"log-{time.monotonic_ns()}")
        words = [harness.PROGRAM, "daemon", "--fake", str(speed), "--listen", listen or f"unix://{self.socket}",
                 "--set", f'timeline.file="{self.timeline}"', "--set", f'daemon.state_dir="{self.state if state else "none"}"', *more]
        if "--config" not in more:
            words += ["--config", "/dev/null"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **(env or {})})
        self.address = self.http = None
        if wait:
            line = self.says("gRPC on ")
            self.address = line.split("gRPC on ")[1].split(",")[0]
            self.http = line.split("HTTP on ")[1].split(",")[0]

    def text(self):
        with open(self.log) as f:
            return f.read()

    def says(self, text, seconds=20):
        """The line of the log that has this text, once it is there."""
        until = time.monotonic() + seconds
        while True:
            ended = self.process.poll() is not None
            for line in self.text().splitlines(True):
                if text in line and line.endswith("\n"):
                    return line.strip()
            if ended or time.monotonic() > until:
                raise AssertionError(f"the daemon does not say '{text}':\n{self.text()}")
            time.sleep(0.01)

    def call(self, *words, **more):
        return harness.run(*words, "--addr", self.address, **more)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=30):
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
