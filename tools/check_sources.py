#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plain hygiene of the tracked text files: licence line, no tabs, no trailing blanks, no invisible or non-ASCII letters in
code, lines of at most 200 columns, no left-over markers."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = (".c", ".h", ".cpp", ".cu", ".cuh", ".S", ".py", ".sh", ".cmake", "CMakeLists.txt")
SKIP = ("tests/data/", "fuzz/corpus/", "build/", ".git/")
MARKERS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")


def files():
    for folder, names, leaves in os.walk(ROOT):
        rel = os.path.relpath(folder, ROOT)
        names[:] = sorted(n for n in names if not (os.path.normpath(os.path.join(rel, n)) + "/").startswith(SKIP)
                          and not n.startswith(".") and n != "__pycache__")
        for leaf in sorted(leaves):
            if leaf.endswith(CODE):
                yield os.path.normpath(os.path.join(rel, leaf))


def main():
    bad, n = [], 0
    for path in files():
        n += 1
        with open(os.path.join(ROOT, path), "rb") as f:
            data = f.read()
        try:
            text = data.decode("ascii")
        except UnicodeDecodeError as e:
            bad.append(f"{path}: byte {e.start} is not ASCII")
            continue
        lines = text.split("\n")
        if not any("SPDX-License-Identifier: MIT OR Apache-2.0" in line for line in lines[:2]):
            bad.append(f"{path}:1: the licence line is missing")
        for number, line in enumerate(lines, 1):
            if "\t" in line and not path.endswith(".S"):
                bad.append(f"{path}:{number}: tab")
            if line != line.rstrip():
                bad.append(f"{path}:{number}: trailing blank")
            if len(line) > 200:
                bad.append(f"{path}:{number}: {len(line)} columns")
            if MARKERS.search(line):
                bad.append(f"{path}:{number}: left-over marker")
        if text and not text.endswith("\n"):
            bad.append(f"{path}: no newline at the end")
    print("\n".join(bad))
    print(f"{n} files, {len(bad)} complaints")
    return 1 if bad or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
