#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares the options and commands of the program's --help with the man page. check_man.py PROGRAM"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMON = {"--help", "--json", "--threads", "--quiet", "--progress"}


def help_of(program, words):
    r = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=60)
    if r.returncode or r.stderr:
        raise SystemExit(f"cuzk {' '.join(words)} --help: exit {r.returncode}: {r.stderr}")
    return r.stdout


def options(text):
    """--name -> argument ("" for a flag) of the lines below "options:"."""
    found = {}
    for m in re.finditer(r"^  (--[a-z0-9-]+)(?: (\S+))?  ", text.split("\noptions:\n")[1], re.M):
        found[m.group(1)] = m.group(2) or ""
    return found


def man_sections():
    """Heading -> options of each .SH and .SS."""
    with open(os.path.join(ROOT, "docs/cli/cuzk.1"), encoding="ascii") as f:
        lines = f.read().replace("\\-", "-").split("\n")
    sections, name = {}, ""
    for before, line in zip([""] + lines, lines):
        m = re.match(r"\.S[HS] (.*)", line)
        if m:
            name = re.sub(r"\\f.", "", m.group(1))
            name = re.sub(r" [A-Z\[].*", "", name) if line.startswith(".SS") else name
            sections[name] = {}
        m = re.match(r'\.BI? (--[a-z0-9-]+)(?: "\s*([^"]*)")?$', line)
        if m and before == ".TP":
            sections[name][m.group(1)] = m.group(2) or ""
    return sections


def main():
    program = sys.argv[1]
    man, bad = man_sections(), []
    listing = help_of(program, [])
    commands = [m.group(1).strip() for m in re.finditer(r"^  ((?:[a-z]+ )?[a-z-]+) +\S", listing, re.M)]
    if set(man["COMMON OPTIONS"]) != COMMON:
        bad.append(f"common options of the man page: {sorted(man['COMMON OPTIONS'])}")
    for command in commands:
        have = options(help_of(program, command.split()))
        page = man.get(command)
        if page is None:
            bad.append(f"{command}: not in the man page")
            continue
        if not COMMON <= set(have):
            bad.append(f"{command}: common options are missing: {sorted(COMMON - set(have))}")
        for o in sorted(set(have) - set(page) - COMMON):
            bad.append(f"{command}: {o} is not in the man page")
        for o in sorted(set(page) - set(have)):
            bad.append(f"{command}: {o} is in the man page only")
        for o in set(page) & set(have):
            if page[o] != have[o]:
                bad.append(f"{command}: {o} takes '{have[o]}', the man page says '{page[o]}'")
    known = {"COMMON OPTIONS"} | set(commands)
    for section, opts in man.items():
        if opts and section not in known:
            bad.append(f"the man page describes '{section}', which is no command")
    print("\n".join(bad))
    print(f"{len(commands)} commands, {len(bad)} differences")
    return 1 if bad or len(commands) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
