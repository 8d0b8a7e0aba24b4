# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program web_server, steered."""
import subprocess


class Server:
    def __init__(self, program, *args):
        self.p = subprocess.Popen([program, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.p.stdout.readline().split()[1]
        self.url = f"http://{self.address}/"

    def tell(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        return int(self.p.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.p.stdin.write("quit\n")
            self.p.stdin.close()
        except OSError:
            pass
        self.rest = self.p.stdout.read()
        if self.p.wait(60) != 0:
            raise SystemExit(f"web_server: exit {self.p.returncode}")
