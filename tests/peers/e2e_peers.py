# SPDX-License-Identifier: MIT OR Apache-2.0
"""The daemon with its trial prover, driven by grpc-go and grpc-js: on a unix socket, then on TCP with mutual TLS and a token.
e2e_peers.py PROGRAM FOLDER; exit status 77 (skipped) if the clients' modules cannot be fetched."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUN = os.path.join(HERE, "run.sh")


class Daemon:
    def __init__(self, program, folder, listen, *more):
        self.log = os.path.join(folder, "log")
        os.makedirs(folder)
        # The trial prover's stages take a 25th of the published times: jobs last long enough to be waited for and cancelled.
        words = [program, "daemon", "--fake", "25", "--listen", listen, "--set", f'daemon.state_dir="{folder}/state"',
                 "--set", "timeline.enabled=false"]
        for m in more:
            words += ["--set", m]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.address = self.find("gRPC on ").split(",")[0]

    def find(self, text):
        until = time.monotonic() + 20
        while time.monotonic() < until and self.process.poll() is None:
            with open(self.log) as f:
                for line in f:
                    if text in line and line.endswith("\n"):
                        return line.split(text)[1].strip()
            time.sleep(0.02)
        raise SystemExit(f"the daemon does not say '{text}':\n" + open(self.log).read())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def clients(address, **env):
    r = subprocess.run([RUN, address], env={**os.environ, **env})
    if r.returncode:
        sys.exit(r.returncode)


def main():
    program, build = sys.argv[1:]
    os.environ["CUZK_PEERS_DIR"] = build
    for words in (["bash", os.path.join(ROOT, "tools/install_deps.sh"), "peers"], [RUN, "--build"]):
        r = subprocess.run(words)
        if r.returncode:
            sys.exit(r.returncode)
    peer = os.path.join(build, "bin/peer")
    folder = tempfile.mkdtemp(prefix="cuzk-peers-")
    daemons = []
    try:
        plain = Daemon(program, os.path.join(folder, "plain"), f"unix://{folder}/cuzk.sock")
        daemons.append(plain)
        clients(plain.address)
        # A client that watches health learns that the service stops.
        with subprocess.Popen([peer, "--watch", plain.address], stdout=subprocess.PIPE, text=True) as watch:
            if watch.stdout.readline() != "watching\n":
                sys.exit("no watch: " + watch.stdout.read())
            code = plain.stop()
            text = watch.stdout.read()
            if watch.wait(30) or code:
                sys.exit(f"watch: {watch.returncode}, {text}; the daemon ended with {code}")
        print(text.strip())

        subprocess.run([peer, "--certificates", folder], check=True)
        with open(os.path.join(folder, "token"), "w") as f:
            f.write("a-token-of-the-tests\n")
        secure = Daemon(program, os.path.join(folder, "secure"), "127.0.0.1:0", f'daemon.tls_cert="{folder}/server.pem"',
                        f'daemon.tls_key="{folder}/server.key"', f'daemon.tls_client_ca="{folder}/ca.pem"',
                        f'daemon.auth_token_file="{folder}/token"')
        daemons.append(secure)
        clients(secure.address, CUZK_TLS_DIR=folder, CUZK_TOKEN="a-token-of-the-tests")
        if secure.stop():
            sys.exit("the daemon did not end well")
    finally:
        for d in daemons:
            if d.process.poll() is None:
                d.process.kill()
                d.process.wait()
        shutil.rmtree(folder, True)


main()
