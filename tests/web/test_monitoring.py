#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Grafana dashboard and the Prometheus rules against the metrics that the engine really has: names, labels, and what a counter, gauge or
histogram may be used for. With promtool, where there is one, the rules and what fires. test_monitoring.py web_server FOLDER_OF_REPOSITORY"""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request

from server import Server


def check(ok, what, *more):
    if not ok:
        raise AssertionError(" ".join([what, *map(str, more)]))


def families(text):
    """name -> (type, labels) of a text exposition."""
    found = {}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M):
        found[name] = (kind, set())
    for name, labels in re.findall(r"^(cuzk_\w+?)(?:\{(.*)\})? \S+$", text, re.M):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        family = found.get(name) or (found.get(base) if found.get(base, ("",))[0] == "histogram" else None)
        check(family, "a sample without a type:", name)
        family[1].update(re.findall(r'(\w+)="', labels or ""))
    return found


# what Prometheus adds, and what stands in a dashboard for it
ADDED = {"instance", "job"}


def check_expression(expr, known, where):
    used = re.findall(r"\b(cuzk_\w+)\b", expr)
    check(used, "no metric in", where, expr)
    for name in used:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        kind, labels = known.get(name) or known.get(base) or (None, None)
        check(kind, f"{where}: the engine has no metric", name)
        check((kind == "histogram") == (name not in known or name.endswith(("_bucket", "_sum", "_count"))), f"{where}: a histogram is used by its parts:", name)
        grows = kind in ("counter", "histogram")
        over = re.search(rf"(\w+)\({name}(\{{[^}}]*\}})?\[", expr)
        if grows and name != "cuzk_gpu_errors_total":
            check(over and over.group(1) in ("rate", "increase"), f"{where}: a counter's value alone says nothing:", name)
        if over and over.group(1) in ("rate", "increase"):
            check(grows, f"{where}: rate of a gauge:", name)
        for matcher in re.findall(rf"{name}\{{([^}}]*)\}}", expr):
            strange = set(re.findall(r"(\w+)\s*[=!]", matcher)) - labels - ADDED
            check(not strange, f"{where}: {name} has no label", strange)
    all_labels = set().union(*(known.get(n, known.get(re.sub(r"_(bucket|sum|count)$", "", n)))[1] for n in used)) | ADDED | {"le"}
    for grouping in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expr):
        strange = {g.strip() for g in grouping.split(",")} - all_labels
        check(not strange, f"{where}: no such labels:", strange)


def dashboard(path, known):
    d = json.load(open(path, encoding="utf-8"))
    ids, used = set(), set()
    places = []
    for p in d["panels"]:
        check(p["id"] not in ids, "an id twice", p["id"])
        ids.add(p["id"])
        g = p["gridPos"]
        check(g["x"] + g["w"] <= 24, "beyond the edge", p["title"])
        for q, t in places:
            check(g["x"] >= q["x"] + q["w"] or q["x"] >= g["x"] + g["w"] or g["y"] >= q["y"] + q["h"] or q["y"] >= g["y"] + g["h"], "panels overlap:", p["title"], t)
        places.append((g, p["title"]))
        for t in p.get("targets", []):
            check_expression(t["expr"].replace("$__rate_interval", "5m"), known, p["title"])
            used.update(re.findall(r"\b(cuzk_\w+)\b", t["expr"]))
            for label in re.findall(r"\{\{(\w+)\}\}", t["legendFormat"]):
                check(label in ADDED or re.search(rf"\b{label}\b", t["expr"]) or "by (" not in t["expr"], "legend without its label", t)
    shown = {re.sub(r"_(bucket|sum|count)$", "", n) if n not in known else n for n in used}
    missing = set(known) - shown - {"cuzk_proof_duration_seconds"}  # cuzk_job_seconds says more
    check(not missing, "metrics that the dashboard does not show:", missing)


def rules(path, known, guide):
    text = open(path, encoding="utf-8").read()
    names = re.findall(r"^      - alert: (\w+)$", text, re.M)
    check(len(names) == len(set(names)) > 5, "names of alerts", names)
    for block in re.split(r"^      - alert: ", text, flags=re.M)[1:]:
        name = block.split("\n")[0]
        expr = re.search(r"^        expr: (?:>-\n((?:          .*\n)+)|(.*)\n)", block, re.M)
        check(expr, "no expression", name)
        check_expression(" ".join((expr.group(1) or expr.group(2)).split()), known, name)
        check(re.search(r"severity: (critical|warning|info)", block) and "summary:" in block and "description:" in block, "incomplete", name)
        check(f"`{name}`" in guide, "docs/operate.md does not say what to do about", name)
    for name in re.findall(r"`(Cuzk[A-Z]\w+)`", guide):
        check(name in names, "docs/operate.md speaks of an alert that there is not:", name)
    for name in re.findall(r"`(cuzk_\w+?)(?:\{[^`]*)?`", guide):
        check(name in known, "docs/operate.md speaks of a metric that there is not:", name)


def main():
    program, root = sys.argv[1:3]
    with Server(program, 20, 400) as server:
        end = time.monotonic() + 20
        while True:
            text = urllib.request.urlopen(server.url + "metrics", timeout=10).read().decode()
            if all(n in text for n in ("cuzk_gpu_errors_total", "cuzk_partition_kernel_seconds_sum", "cuzk_partition_synth_seconds_sum", "cuzk_srs_loads_total")):
                break
            check(time.monotonic() < end, "metrics are missing:\n" + text)
            time.sleep(0.3)
    known = families(text)
    dashboard(os.path.join(root, "docs/grafana/cuzk.json"), known)
    with open(os.path.join(root, "docs/operate.md"), encoding="utf-8") as f:
        rules(os.path.join(root, "docs/grafana/alerts.yml"), known, f.read())
    print(f"{len(known)} metrics")
    promtool = shutil.which("promtool")
    if not promtool:
        print("no promtool: syntax and firing of the rules are not checked")
        return
    subprocess.run([promtool, "check", "rules", os.path.join(root, "docs/grafana/alerts.yml")], check=True)
    subprocess.run([promtool, "test", "rules", os.path.join(root, "tests/web/alerts_test.yml")], check=True)


if __name__ == "__main__":
    main()
