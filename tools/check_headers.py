#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles each header alone: those of include/ as C and as C++, those of src/ as C. check_headers.py CC CXX"""
import concurrent.futures
import os
import platform
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLAGS = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only",
         "-I" + os.path.join(ROOT, "include"), "-I" + os.path.join(ROOT, "src")]


def headers(top):
    for folder, _, files in sorted(os.walk(os.path.join(ROOT, top))):
        for name in sorted(files):
            # a template, or a part of one, is included by its users only, after they have defined its parameters
            if name.endswith(".h") and not name.endswith(("_tmpl.h", "_mem.h")):
                yield os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, top))


def vector_flags(header):
    """Headers of vector code are included only by files that are compiled for those instructions."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    if header.startswith("ff/vec/") or re.search(r"_(ifma|avx512|avx2)\.h$", header):
        return ["-mavx2", "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mavx512ifma"]
    return []


def one(job):
    compiler, language, standard, header = job
    # included twice: the guard is checked, too; a header of macros alone declares nothing
    source = f'#include "{header}"\n#include "{header}"\nextern int checked;\n'
    r = subprocess.run([compiler, "-x", language, "-std=" + standard, *FLAGS, *vector_flags(header), "-"], input=source, text=True,
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
