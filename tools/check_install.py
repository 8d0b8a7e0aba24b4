#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Installs a build into an empty folder and looks at what arrived. check_install.py CMAKE BUILD_FOLDER"""
import os
import subprocess
import sys
import tempfile

EXPECTED = ["bin/cuzk", "share/man/man1/cuzk.1", "share/bash-completion/completions/cuzk", "share/zsh/site-functions/_cuzk",
            "share/fish/vendor_completions.d/cuzk.fish", "share/doc/cuzk/LICENSE-MIT", "share/doc/cuzk/LICENSE-APACHE",
            "share/doc/cuzk/README.md", "share/doc/cuzk/operate.md", "share/doc/cuzk/config.md", "share/doc/cuzk/grafana/cuzk.json",
            "share/doc/cuzk/grafana/alerts.yml", "share/doc/cuzk/cuzk.example.toml", "share/doc/cuzk/examples/prove_in_process.c", "include/cuzk/cuzk.h", "include/cuzk/status.h",
            "lib/systemd/system/cuzk.service", "lib/sysusers.d/cuzk.conf", "share/doc/cuzk/cuzk.example.toml"]
LIBRARY = ["libcuzk.so", "pkgconfig/libcuzk.pc"]  # in lib or lib/ARCHITECTURE


def main():
    cmake, build = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        missing = [p for p in EXPECTED if not os.path.isfile(os.path.join(prefix, p))]
        libs = [os.path.join(root, f) for root, folders, files in os.walk(os.path.join(prefix, "lib"))
                for f in files + folders]
        missing += [p for p in LIBRARY if not any(f.endswith("/" + p) for f in libs)]
        for p in missing:
            print(f"not installed: {p}")
        out = subprocess.run([os.path.join(prefix, "bin/cuzk"), "version"], capture_output=True, text=True, check=True).stdout
        print(out.split("\n")[0])
        bash = subprocess.run(["bash", "-n", os.path.join(prefix, EXPECTED[2])])
        # the completion offers the commands and the options that the program names
        script = (f"source '{prefix}/{EXPECTED[2]}'; PATH='{prefix}/bin':$PATH; COMP_WORDS=(cuzk p); COMP_CWORD=1; _cuzk; "
                  'echo "${COMPREPLY[*]}"; COMP_WORDS=(cuzk prove porep --c); COMP_CWORD=3; _cuzk; echo "${COMPREPLY[*]}"')
        offered = subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.split("\n")
        print("completion offers", offered[:2])
        good = offered[0].split() == ["params", "preload", "prove"] and offered[1].split() == ["--c1"]
    return 1 if missing or bash.returncode or not good or not out.startswith("cuzk ") else 0


if __name__ == "__main__":
    sys.exit(main())
