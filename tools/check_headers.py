#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles each header alone: those of include/ as C and as C++, those of src/ as C. check_headers.py CC CXX"""
import concurrent.futures
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLAGS = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only",
         "-I" + os.path.join(ROOT, "include"), "-I" + os.path.join(ROOT, "src")]


def headers(top):
    for folder, _, files in sorted(os.walk(os.path.join(ROOT, top))):
        for name in sorted(files):
            # a template is included by its users only, after they have defined its parameters
            if name.endswith(".h") and not name.endswith("_tmpl.h"):
                yield os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, top))


def one(job):
    compiler, language, standard, header = job
    # included twice: the guard is checked, too
    source = f'#include "{header}"\n#include "{header}"\n'
    r = subprocess.run([compiler, "-x", language, "-std=" + standard, *FLAGS, "-"], input=source, text=True,
                       capture_output=True, cwd=ROOT)
    return f"{header} as {language}:\n{r.stderr}" if r.returncode else None


def main():
    cc, cxx = sys.argv[1], sys.argv[2]
    jobs = []
    for h in headers("include"):
        jobs += [(cc, "c", "c17", h), (cxx, "c++", "c++17", h)]
    jobs += [(cc, "c", "c17", h) for h in headers("src") if not h.startswith("backend/cuda/")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [r for r in pool.map(one, jobs) if r]
    print("\n".join(bad))
    print(f"{len(jobs)} compilations, {len(bad)} failed")
    return 1 if bad or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
