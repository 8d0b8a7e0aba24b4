#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""cuzk top in a terminal of 80 x 24 and in others, and in a pipe, over the engine under load. test_top.py CUZK web_server [--show]"""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

from server import Server

SHOW = "--show" in sys.argv


def check(ok, what, *more):
    if not ok:
        raise AssertionError(" ".join([what, *map(str, more)]))


class Screen:
    """What a VT100 shows: enough of it for ncurses."""

    def __init__(self, width, height):
        self.resize(width, height)

    def resize(self, width, height):
        self.w, self.h, self.x, self.y = width, height, 0, 0
        self.top, self.bottom = 0, height - 1
        self.cells = [[" "] * width for _ in range(height)]

    def lines(self):
        return ["".join(r).rstrip() for r in self.cells]

    def scroll(self, up):
        if up:
            del self.cells[self.top]
            self.cells.insert(self.bottom, [" "] * self.w)
        else:
            del self.cells[self.bottom]
            self.cells.insert(self.top, [" "] * self.w)

    def feed(self, text):
        for m in re.finditer(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b([()].|[=>78MDE])|(.)", text, re.S):
            args, final, escape, c = m.groups()
            if final:
                self.control([int(a) if a.isdigit() else 0 for a in args.lstrip("?").split(";")], final, args.startswith("?"))
            elif escape == "M":
                if self.y == self.top:
                    self.scroll(False)
                else:
                    self.y -= 1
            elif c == "\r":
                self.x = 0
            elif c == "\n":
                if self.y == self.bottom:
                    self.scroll(True)
                else:
                    self.y = min(self.y + 1, self.h - 1)
            elif c == "\b":
                self.x = max(0, self.x - 1)
            elif c and c >= " ":
                if self.x >= self.w:
                    self.x, self.y = 0, min(self.y + 1, self.h - 1)
                self.cells[self.y][self.x] = c
                self.x += 1
            elif c and c not in "\x0e\x0f\x07\0":
                raise AssertionError(f"unexpected on the terminal: {c!r}")

    def control(self, a, final, private):
        n = max(1, a[0])
        if final in "Hf":
            self.y, self.x = min(n, self.h) - 1, min(max(1, a[1] if len(a) > 1 else 1), self.w) - 1
        elif final == "A":
            self.y = max(0, self.y - n)
        elif final == "B":
            self.y = min(self.h - 1, self.y + n)
        elif final == "C":
            self.x = min(self.w - 1, self.x + n)
        elif final == "D":
            self.x = max(0, self.x - n)
        elif final == "J":
            if a[0] == 2:
                self.cells = [[" "] * self.w for _ in range(self.h)]
            else:
                self.cells[self.y][self.x:] = [" "] * (self.w - self.x)
                for y in range(self.y + 1, self.h):
                    self.cells[y] = [" "] * self.w
        elif final == "K":
            lo, hi = ((self.x, self.w), (0, self.x + 1), (0, self.w))[a[0]]
            self.cells[self.y][lo:hi] = [" "] * (hi - lo)
        elif final == "r":
            self.top, self.bottom = n - 1, (a[1] if len(a) > 1 and a[1] else self.h) - 1
            self.x = self.y = 0
        elif not (final in "mlh" or private):
            raise AssertionError(f"unexpected control {a} {final}")


class Terminal:
    def __init__(self, argv, width, height):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="vt100", LC_ALL="C")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            os.execv(argv[0], argv)
        self.screen = Screen(width, height)
        self.raw = b""
        self.over = False

    def pump(self, seconds):
        end = time.monotonic() + seconds
        while not self.over and (left := end - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    data = b""
                if not data:
                    self.over = True
                    break
                self.raw += data
                self.screen.feed(data.decode("latin-1"))

    def wait(self, pattern, seconds=10):
        end = time.monotonic() + seconds
        while True:
            self.pump(0.1)
            text = "\n".join(self.screen.lines())
            if re.search(pattern, text):
                return text
            check(not self.over and time.monotonic() < end, f"not on the screen: {pattern}:\n{text}")

    def resize(self, width, height):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.screen.resize(width, height)

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        self.pump(3)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def in_terminal(cuzk, server):
    t = Terminal([cuzk, "top", "--status-addr", server.address], 80, 24)
    t.wait(r"JOB 1-\d+ of \d+, oldest")
    t.wait(r"devices \d+\.\d % busy")
    text = t.wait(r"(?m)^ +0 +0 \S+ *\S* .*[#+]")
    if SHOW:
        print(text)
    lines = t.screen.lines()
    check(re.match(r"cuzk test  127\.0\.0\.1:\d+  up \S+  live", lines[0]), lines[0])
    check(re.search(r"jobs \d+ running, \d+ queued  done \d+, failed \d+", lines[1]), lines[1])
    check(re.search(r"memory  \[=+ *\] \d+(\.\d)? of 500 GiB: srs", text), "memory")
    check(re.search(r"params  .*porep-32g 44\.0", text), "parameters")
    check(lines[23].startswith("q leave"), "last line", lines[23])
    check(sum(bool(re.search(r"\d+/\d+ +\d+\.\ds$", line)) for line in lines) >= 5, "too few jobs in 24 lines:\n" + text)
    check(re.search(r"PARTS +AGE$", text, re.M), "head of the jobs")
    # every line in its place and nothing over the edge
    check(all(len(line) <= 80 for line in lines), "wide")
    # the terminal gets no bytes of a job's name but printable ones
    t.press("G")
    t.pump(1)
    check(not re.search(rb"[\x80-\xff]", t.raw), "bytes that are no ASCII reach the terminal")
    t.press("s")
    t.wait("of [0-9]+, newest")
    t.press("ss")
    t.wait("of [0-9]+, oldest")
    t.press("jjj")
    t.wait(r"JOB 4-")
    t.press("+")
    t.wait(r"0\.5 s a sign")
    t.press("h")
    t.wait("# on the device")
    t.press("h")
    for width, height in ((120, 40), (40, 12), (20, 3), (80, 24)):
        t.resize(width, height)
        text = t.wait(r"JOB " if height > 10 else r"cuzk test", 5)
        t.pump(0.6)
        if SHOW:
            print(f"--- {width} x {height}\n" + "\n".join(t.screen.lines()))
        check(t.screen.lines()[0].startswith("cuzk test"[:width]), "after resizing", width, height)
    server.tell("off")
    t.wait("NO CONNECTION", 15)
    server.tell("on")
    t.wait(r"up \S+  live", 15)
    check("events lost 0" in t.wait("events lost"), "events lost")
    t.press("q")
    code = t.end()
    check(code == 0, "exit", code)


def in_pipe(cuzk, server):
    run = lambda *a: subprocess.run([cuzk, "top", "--status-addr", *a], capture_output=True, text=True, timeout=30)
    r = run(server.address, "--lines", "2")
    check(r.returncode == 0 and not r.stderr, r.stderr)
    lines = r.stdout.splitlines()
    check(len(lines) == 2, r.stdout)
    for line in lines:
        check(re.fullmatch(r"up \d+ s, jobs \d+ running \d+ queued, synthesis \d+/16, workers \d/\d, waiting \d+, memory \d+\.\d/500\.0 GiB, done \d+, failed \d+", line), line)
    r = run(server.address, "--lines", "1", "--json")
    check(json.loads(r.stdout)["version"] == "test", r.stdout[:200])
    # what is wrong is said, with the exit codes of the table
    r = run("127.0.0.1:1", "--lines", "1")
    check(r.returncode == 6 and "127.0.0.1:1: Connection refused" in r.stderr, r.returncode, r.stderr)
    r = run("nonsense", "--lines", "1")
    check(r.returncode == 2 and "host:port" in r.stderr, r.returncode, r.stderr)
    # a reader that has enough ends it
    p = subprocess.Popen([cuzk, "top", "--status-addr", server.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(p.stdout.readline().startswith("up "), "no line")
    p.terminate()
    p.communicate(timeout=10)
    check(p.returncode in (0, 7), "exit", p.returncode)


def main():
    cuzk, program = sys.argv[1:3]
    with Server(program, 60, 300) as server:
        for test in (in_pipe, in_terminal):
            start = time.monotonic()
            test(cuzk, server)
            print(f"{test.__name__}: good, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
