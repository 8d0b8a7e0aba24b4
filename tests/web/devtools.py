# SPDX-License-Identifier: MIT OR Apache-2.0
"""A headless Chromium, steered through the DevTools protocol (a WebSocket, RFC 6455). Standard library only."""
import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


class BrowserError(Exception):
    pass


def find():
    """Path of a Chromium, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Socket:
    """The client's half of a WebSocket to 127.0.0.1."""

    def __init__(self, port, path):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise BrowserError(head.decode(errors="replace"))

    def _fill(self):
        data = self.s.recv(1 << 16)
        if not data:
            raise BrowserError("the browser closed the connection")
        self.buffer += data

    def _take(self, n):
        while len(self.buffer) < n:
            self._fill()
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def send(self, text):
        data = text.encode()
        head = bytes([0x81])
        if len(data) < 126:
            head += bytes([0x80 | len(data)])
        elif len(data) < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(data))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(data))
        mask = os.urandom(4)
        self.s.sendall(head + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(data)))

    def receive(self):
        whole = b""
        while True:
            first, second = self._take(2)
            n = second & 0x7F
            if n == 126:
                n = struct.unpack(">H", self._take(2))[0]
            elif n == 127:
                n = struct.unpack(">Q", self._take(8))[0]
            data = self._take(n)
            if first & 0x0F in (0, 1, 2):
                whole += data
                if first & 0x80:
                    return whole.decode()
            elif first & 0x0F == 8:
                raise BrowserError("the browser closed the connection")


class Page:
    """One tab."""

    def __init__(self, port, target, network=True):
        self.socket = Socket(port, "/" + target["webSocketDebuggerUrl"].split("/", 3)[3])
        self.n = 0
        self.complaints = []  # errors and warnings of the console, exceptions, refused loads
        self.requests = []
        for domain in ("Page", "Runtime", "Log", "Performance") + (("Network",) if network else ()):
            self.call(f"{domain}.enable")

    def _event(self, m):
        method, p = m.get("method"), m.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(p["exceptionDetails"].get("exception", p["exceptionDetails"]))[:500])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(p["args"])[:500])
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.complaints.append(p["entry"]["text"][:500] + " " + p["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def call(self, method, **params):
        self.n += 1
        self.socket.send(json.dumps({"id": self.n, "method": method, "params": params}))
        while True:
            m = json.loads(self.socket.receive())
            if m.get("id") == self.n:
                if "error" in m:
                    raise BrowserError(f"{method}: {m['error']}")
                return m["result"]
            self._event(m)

    def evaluate(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise BrowserError(f"{expression}: {json.dumps(r['exceptionDetails'])[:600]}")
        return r["result"].get("value")

    def wait(self, expression, seconds=10):
        end = time.monotonic() + seconds
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise BrowserError(f"not within {seconds} s: {expression}")
            time.sleep(0.1)

    def size(self, width, height, scale=1, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def media(self, **features):
        self.call("Emulation.setEmulatedMedia", features=[{"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def key(self, key, text="", modifiers=0):
        code = {"Tab": 9, "Enter": 13, " ": 32, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "End": 35}.get(key, ord(key[0].upper()))
        text = text or (key if len(key) == 1 else "\r" if key == "Enter" else "")
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code, modifiers=modifiers)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def screenshot(self, path, whole=False):
        params = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            params.update(captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", **params)["data"]))


class Browser:
    """with Browser(path) as b: page = b.page(url)"""

    def __init__(self, path):
        self.home = tempfile.mkdtemp(prefix="cuzk-browser-")
        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync", "--mute-audio",
             "--js-flags=--expose-gc", "--enable-precise-memory-info", "--remote-debugging-port=0", f"--user-data-dir={self.home}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 30
        port_file = os.path.join(self.home, "DevToolsActivePort")
        while not (os.path.exists(port_file) and open(port_file, encoding="ascii").read().count("\n") >= 1):
            if self.process.poll() is not None or time.monotonic() > end:
                self.close()
                raise BrowserError(f"{path} does not start (exit {self.process.returncode})")
            time.sleep(0.05)
        self.port = int(open(port_file, encoding="ascii").read().split("\n")[0])

    def page(self, url, network=True):
        """network: note requests. The browser then keeps what is loaded in the page's process, which is no way to measure its memory."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=30) as r:
            page = Page(self.port, json.load(r), network)
        page.call("Page.navigate", url=url)
        return page

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except ProcessLookupError:
            pass
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
