#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the #include lines of src/ and include/ against the allowed edges between layers (docs/architecture.md).

An include of a layer that is not in the table's row is an error, so is an include of the system's own headers where a
layer must not touch what they stand for (printing, exiting). With --self-test the checker is run on made-up lines.
"""
import os
import re
import sys

BASE = {"base"}
FF = BASE | {"ff"}
ALLOWED = {
    "base": set(),
    "ff": BASE,
    "hash": FF,
    "ec": FF,
    "poly": FF | {"ec"},
    "msm": FF | {"ec"},
    "r1cs": FF | {"hash", "ec", "poly", "msm"},
    "gadgets": FF | {"hash", "r1cs"},
    "circuits": FF | {"hash", "r1cs", "gadgets"},
    "groth16": FF | {"hash", "ec", "poly", "msm", "r1cs", "backend"},
    "backend": FF | {"hash", "ec", "poly", "msm", "r1cs"},
    "inputs": FF | {"hash", "r1cs", "circuits"},
    "synth": FF | {"hash", "circuits", "inputs"},
    "timeline": BASE,
    "engine": FF | {"hash", "timeline"},
    "sim": FF | {"hash", "timeline", "engine"},
    "store": FF | {"hash", "timeline", "engine"},
    "device": FF | {"hash", "ec", "poly", "msm", "r1cs", "groth16", "backend"},
    "prover": FF | {"hash", "ec", "poly", "msm", "r1cs", "circuits", "groth16", "inputs", "timeline", "engine", "device"},
    "rpc": BASE,
    "daemon": FF | {"hash", "r1cs", "circuits", "groth16", "inputs", "timeline", "engine", "store", "device", "prover", "rpc", "api"},
    "api": FF | {"hash", "timeline", "engine", "store", "device", "prover", "daemon"},
    "cli": FF | {"hash", "ec", "poly", "msm", "r1cs", "gadgets", "circuits", "groth16", "backend", "inputs", "synth", "timeline", "engine", "sim",
                 "store", "device", "prover", "rpc", "daemon", "api"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
# Nothing below cli prints or exits.
FORBIDDEN_CALL = re.compile(r"(?<![\w.>])(exit|_exit|abort|printf|puts|putchar|perror|fputs|fputc)\s*\(|(?<!\w)(stdout|stderr)\b")
# The end of a failed invariant in VERIFY builds; the daemon's third signal.
MAY_ABORT = {"src/base/status.c", "src/daemon/daemon.c"}


def strip_comments(text):
    """Blanks comments and string literals, line numbers kept; include lines keep their text."""
    out = []
    for m in re.finditer(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\n|[^\n/"\']+|.', text, re.S):
        t = m.group(0)
        if t.startswith(("//", "/*")):
            out.append("\n" * t.count("\n"))
        else:
            out.append(t)
    return "".join(out)


def check_text(path, text):
    """Complaints about one file; path is relative to the repository."""
    bad = []
    parts = path.split("/")
    layer = parts[1] if parts[0] == "src" and len(parts) > 2 else None
    if parts[0] == "include":
        layer = "include"
    for number, line in enumerate(strip_comments(text).split("\n"), 1):
        m = INCLUDE.match(line)
        if m:
            target = m.group(1)
            to = target.split("/")[0] if "/" in target else layer
            if to == "cuzk" or (layer == "include" and to == "include") or target.startswith("cuzk_"):
                continue
            if to == layer:
                continue
            if layer == "include":
                bad.append(f"{path}:{number}: a public header includes {target}")
            elif layer not in ALLOWED:
                bad.append(f"{path}:{number}: {layer} is not a layer of the table in tools/check_layers.py")
            elif to not in ALLOWED[layer]:
                bad.append(f"{path}:{number}: {layer} must not include {target}")
            continue
        if layer in (None, "cli", "include") or path in MAY_ABORT:
            continue
        call = FORBIDDEN_CALL.search(re.sub(r'"(?:\\.|[^"\\])*"', '""', line))
        if call:
            bad.append(f"{path}:{number}: {layer} must not print or exit ({call.group(0).strip()})")
    return bad


def self_test():
    cases = [
        ("src/ff/a.c", '#include "ec/g1.h"\n', 1),
        ("src/ec/a.c", '#include "ff/fp.h"\n#include "base/fail.h"\n', 0),
        ("src/groth16/a.c", '#include "circuits/circuit.h"\n', 1),
        ("src/inputs/a.c", '#include "circuits/circuit.h"\n', 0),
        ("src/base/a.c", '/* exit(1) */ const char *s = "exit(1)";\n', 0),
        ("src/base/a.c", "exit(1);\n", 1),
        ("src/msm/a.c", 'fprintf(stderr, "x");\n', 1),
        ("src/cli/a.c", 'printf("x"); exit(1);\n', 0),
        ("include/cuzk/a.h", '#include "base/fail.h"\n', 1),
        ("src/novel/a.c", '#include "base/fail.h"\n', 1),
    ]
    failed = [c for c in cases if (len(check_text(c[0], c[1])) > 0) != bool(c[2])]
    for c in failed:
        print(f"self-test: {c[0]}: {c[1]!r} expected {'a complaint' if c[2] else 'none'}")
    return len(failed)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if self_test():
        return 1
    bad, n = [], 0
    for top in ("src", "include"):
        for folder, _, files in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(files):
                if not name.endswith((".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".S")):
                    continue
                full = os.path.join(folder, name)
                with open(full, encoding="utf-8") as f:
                    bad += check_text(os.path.relpath(full, root), f.read())
                n += 1
    for line in bad:
        print(line)
    print(f"{n} files, {len(bad)} forbidden")
    return 1 if bad or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
