#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The shared library shows exactly the functions that the public headers declare, under one version.
check_symbols.py INCLUDE_FOLDER LIBRARY"""
import os
import re
import subprocess
import sys


def main():
    folder, library = sys.argv[1:]
    with open(os.path.join(folder, "cuzk.h"), encoding="utf-8") as f:
        want = set(re.findall(r"^CUZK_API [^;(]*?\b(libcuzk_\w+)\(", f.read(), re.M))
    with open(os.path.join(folder, "status.h"), encoding="utf-8") as f:
        want |= set(re.findall(r"\b(cuzk_status_\w+)\(", f.read()))
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in out.splitlines() if line.split()[-2] != "A"]
    seen = {n.split("@")[0] for n in names}
    for n in sorted(want - seen):
        print("declared, not in the library:", n)
    for n in sorted(seen - want):
        print("in the library, not declared:", n)
    versions = {n.split("@@")[1] for n in names if "@@" in n}
    print(len(seen), "symbols, versions", versions)
    return 0 if want == seen and len(want) > 10 and versions == {"LIBCUZK_0"} else 1


if __name__ == "__main__":
    sys.exit(main())
