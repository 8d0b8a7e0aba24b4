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
    for m in re.finditer(r"^  (--[a-z0-9-]+)(?: (\S+))? ", text.split("\noptions:\n")[1], re.M):
        found[m.group(1)] = m.group(2) or ""
    return found


def man_sections():
    """Heading -> options of each .SH and .SS. Headings that follow each other share what stands under the last; "--a and --b are those of
    COMMAND" takes these options from that command's section."""
    with open(os.path.join(ROOT, "docs/cli/cuzk.1"), encoding="ascii") as f:
        lines = f.read().replace("\\-", "-").split("\n")
    sections, names, named, borrowed = {}, [], [], []
    for before, line in zip([""] + lines, lines):
        m = re.match(r"\.S[HS] (.*)", line)
        if m:
            name = re.sub(r"\\f.", "", m.group(1))
            name = re.sub(r" [A-Z\[].*", "", name) if line.startswith(".SS") else name
            names = names + [name] if before.startswith(".SS") else [name]
            for n in names:
                sections[n] = sections[names[0]] if n != names[0] else {}
            continue
        m = re.match(r'\.BI? (--[a-z0-9-]+)(?: "\s*([^"]*)")?$', line)
        if m and before == ".TP":
            sections[names[-1]][m.group(1)] = m.group(2) or ""
            continue
        m = re.match(r"\.BR? (--[a-z0-9-]+)(?: ,)?$", line)
        if m:
            named.append(m.group(1))
            continue
        m = re.match(r'\.BR "([a-z -]+)" \.$', line)
        if m and before == "are those of":
            borrowed += [(names[-1], o, m.group(1)) for o in named]
        if line not in ("and", "are those of"):
            named = []
    for section, option, source in borrowed:
        if option not in sections.get(source, {}):
            raise SystemExit(f"man page: {section} takes {option} from '{source}', which does not have it")
        sections[section][option] = sections[source][option]
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
