#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The dashboard in Chromium, over the engine under load: live figures, frames, memory, reconnects without loss, hostile names, keyboard,
narrow screens, colours, motion. Takes the program web_server.

  test_dashboard.py web_server [--shots FOLDER] [--only NAME] [--soak SECONDS]

Without a browser it skips (exit 77), except where CUZK_REQUIRE_BROWSER is set. --soak watches the page for so long and prints frames and memory (for
docs/benchmarks/dashboard.md)."""
import argparse
import json
import os
import re
import sys
import tempfile
import time

import devtools
from server import Server


def check(ok, what, *more):
    if not ok:
        raise AssertionError(" ".join([what, *map(str, more)]))


STATS = "({...cuzkDashboard.stats, events: cuzkDashboard.model.events, now: performance.now()})"


def opened(browser, server, width=1280, height=900, network=True, from_start=False, **media):
    page = browser.page(server.url, network)
    page.size(width, height)
    if media:
        page.media(**media)
    page.wait(f"globalThis.cuzkDashboard && cuzkDashboard.model.spans.n > {0 if from_start else 50}", 15)
    return page


def quiet_console(page, server, also=()):
    left = [c for c in page.complaints if not any(a in c for a in also)]
    check(not left, "the console complains:", left)
    strange = [u for u in page.requests if not u.startswith((server.url, "data:", "about:"))]
    check(not strange, "fetched from elsewhere:", strange)


def live_figures(browser, server, shots):
    """500 jobs, 1,000 events a second: 30 frames a second, and figures that are those of the engine."""
    page = opened(browser, server)
    best = 0
    for _ in range(3):  # other programs may want the processor, too
        a = page.evaluate(STATS)
        times = page.evaluate("""new Promise((done) => {
          const t = []; const f = (now) => { t.push(now); t.length < 150 ? requestAnimationFrame(f) : done(t) }; requestAnimationFrame(f); })""")
        b = page.evaluate(STATS)
        seconds = (b["now"] - a["now"]) / 1000
        fps = (len(times) - 1) * 1000 / (times[-1] - times[0])
        best = max(best, fps)
        gaps = sorted(y - x for x, y in zip(times, times[1:]))
        print(f"  {fps:.1f} frames/s, slowest frames {gaps[-3]:.0f} {gaps[-2]:.0f} {gaps[-1]:.0f} ms, "
              f"{(b['events'] - a['events']) / seconds:.0f} events/s, {(b['drawn'] - a['drawn']) / seconds:.1f} drawn/s")
        if fps >= 30:
            break
    check(best >= 30, "too few frames:", best)
    check((b["events"] - a["events"]) / seconds > 300, "too few events came")
    check(b["lost"] == 0 and b["duplicates"] == 0, "events lost", b)
    jobs = page.evaluate("document.getElementById('jobs-say').textContent")
    check(re.search(r"1 to 25 of \d+ jobs", jobs), jobs)
    check(page.evaluate("document.querySelectorAll('#rows tr').length") == 25, "not a page of rows")
    busy = float(page.evaluate("document.getElementById('t-busy').textContent").split()[0])
    check(20 < busy <= 100, "devices busy", busy)
    # the shares of a device add up
    page.evaluate("""globalThis.sums = [...cuzkDashboard.model.devices.values()].map((d) => [d.total.busy, d.total.idle, d.total.ms.reduce((a, b) => a + b, 0),
      d.n, d.total.gaps])""")
    for busy_ms, idle, shares, n, gaps_n in page.evaluate("sums"):
        check(n > 20 and gaps_n > 5 and busy_ms > 0 and abs(idle - shares) < 1e-3 * max(1, idle), "gaps do not add up", idle, shares)
    if shots:
        page.screenshot(f"{shots}/desktop-light.png", True)
    quiet_console(page, server)
    page.call("Page.close")


def hostile_names(browser, server, shots):
    """Names of jobs are text, wherever they show up."""
    page = opened(browser, server)
    page.evaluate("document.getElementById('find').value = 'owned'; document.getElementById('find').dispatchEvent(new Event('input'))")
    page.wait("document.querySelector('#rows button') && document.querySelector('#rows button').textContent.includes('owned')", 15)
    check(page.evaluate("document.querySelectorAll('#rows img, #rows script, #rows svg, #problems img').length") == 0, "a name became markup")
    check(page.evaluate("document.title") == "cuzk", "a name ran")
    check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "a name makes the page wide")
    # the policy holds, too: neither inline code nor other hosts
    page.evaluate("""(() => { const s = document.createElement('script'); try { s.textContent = "document.title = 'owned'"; document.head.append(s) } catch {} })()""")
    blocked = page.evaluate("fetch('http://127.0.0.2:9/').then(() => 'went', () => 'blocked')")
    check(blocked == "blocked" and page.evaluate("document.title") == "cuzk", "the policy does not hold")
    check(any("Content Security Policy" in c for c in page.complaints), "not refused by the policy", page.complaints)
    page.call("Page.close")


def reconnect(browser, server, shots):
    """The endpoint goes away and comes back: every event is there, each once."""
    page = opened(browser, server)
    before = page.evaluate(STATS)
    server.tell("off")
    page.wait("document.getElementById('link').textContent.startsWith('no connection')", 10)
    time.sleep(0.7)
    last = server.tell("on")
    page.wait("document.getElementById('link').textContent === 'live'", 20)
    page.wait(f"cuzkDashboard.stats.lastSeq >= {last}", 20)
    after = page.evaluate(STATS)
    check(after["reconnects"] > before["reconnects"], "no reconnect seen")
    check(after["lost"] == 0 and after["duplicates"] == 0, "lost or repeated", after)
    check(after["lastSeq"] - before["lastSeq"] == after["events"] - before["events"], "not every event came", before, after)
    quiet_console(page, server, also=("ERR_", "Failed to load resource"))
    # the memory of the recorder has passed over: said, and the view goes on
    server.tell("off")
    page.wait("document.getElementById('link').textContent.startsWith('no connection')", 10)
    server.tell("flood 70000")
    last = server.tell("on")
    page.wait("!document.getElementById('notice').hidden", 20)
    words = page.evaluate("document.getElementById('notice').textContent")
    check("went out of the daemon's memory" in words, words)
    page.wait(f"cuzkDashboard.stats.lastSeq >= {last}", 20)
    check(page.evaluate("cuzkDashboard.stats.lost") > 1000, "losses are not counted")
    n = page.evaluate("cuzkDashboard.model.spans.n")
    page.wait(f"cuzkDashboard.model.spans.n > {n + 100}", 10)
    page.call("Page.close")


def keyboard(browser, server, shots):
    """Everything by keyboard: order of focus, moving in the waterfall, marking a job, paging."""
    page = opened(browser, server)
    seen = []
    for _ in range(14):
        page.key("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.slice(0, 20)"))
    check(seen[1:8] == ["theme", "live", "back", "forth", "span", "fall", "Keys"], "order of focus", seen)
    check({"find", "order", "next"} <= set(seen), "order of focus", seen)
    page.evaluate("document.getElementById('fall').focus()")
    page.key("ArrowLeft")
    check(page.evaluate("document.getElementById('live').getAttribute('aria-pressed')") == "false", "left does not leave live")
    page.key("End")
    check(page.evaluate("document.getElementById('live').getAttribute('aria-pressed')") == "true", "End does not go back to live")
    page.key("+")
    check(page.evaluate("document.getElementById('span').value") == "60", "plus")
    for _ in range(2):
        page.key("ArrowDown")
    page.key(",")
    words = page.evaluate("document.getElementById('fall-say').textContent")
    check(re.search(r"worker 0 of device 0: .+ partition \d+, .+ from \d\d:\d\d:\d\d", words), words)
    page.key("Enter")
    page.key("Escape")
    check(page.evaluate("document.getElementById('fall-say').textContent") == "", "Escape")
    page.evaluate("document.getElementById('next').focus()")
    page.key("Enter")
    check(page.evaluate("document.getElementById('jobs-say').textContent").startswith("26 to 50"), "next page")
    page.evaluate("document.querySelector('#rows button').focus()")
    page.key("Enter")
    page.wait("!!document.querySelector('#rows button[aria-pressed=true]')")
    unnamed = page.evaluate("""[...document.querySelectorAll('button, select, input, canvas, [role=img]')].filter((e) =>
      !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length))).map((e) => e.outerHTML)""")
    check(not unnamed, "without a name:", unnamed)
    # every control has a role and a name in the browser's own tree
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    bad = [n["role"]["value"] for n in tree if not n.get("ignored") and n.get("role", {}).get("value") in ("button", "combobox", "searchbox", "img")
           and not n.get("name", {}).get("value")]
    check(not bad, "controls without a name:", bad)
    quiet_console(page, server)
    page.call("Page.close")


def luminance(css):
    c = [int(v) / 255 for v in re.findall(r"\d+", css)[:3]]
    r, g, b = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in c)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def narrow_and_dark(browser, server, shots):
    """360 px without sideways scrolling; dark by the system or by choice; texts that can be read in both."""
    page = opened(browser, server, 360, 780, prefers_color_scheme="dark")
    check(page.evaluate("document.documentElement.scrollWidth") <= 360, "wider than the screen")
    wide = page.evaluate("""[...document.querySelectorAll('body *')].filter((e) => !e.closest('.hidden, .skip') && e.getBoundingClientRect().right > 361)
      .map((e) => e.outerHTML.slice(0, 100)).slice(0, 5)""")
    check(not wide, "sticks out:", wide)
    small = page.evaluate("""[...document.querySelectorAll('button, select, input')].map((e) => [e.id, e.getBoundingClientRect().height]).filter(([, h]) => h < 24)""")
    check(not small, "too small to touch:", small)
    check(page.evaluate("document.documentElement.dataset.theme") == "dark", "not dark")
    if shots:
        page.screenshot(f"{shots}/narrow-dark.png", True)
    pairs = """['body', 'h2', '.quiet', 'th', '.badge', 'button', '.tiles dt'].map((s) => { const e = document.querySelector(s); let b = e;
      while (getComputedStyle(b).backgroundColor === 'rgba(0, 0, 0, 0)') b = b.parentElement;
      return [s, getComputedStyle(e).color, getComputedStyle(b).backgroundColor]; })"""
    for theme in ("dark", "light"):
        for what, fg, bg in page.evaluate(pairs):
            a, b = sorted((luminance(fg), luminance(bg)))
            check((b + 0.05) / (a + 0.05) >= 4.5, "hard to read:", theme, what, fg, bg)
        page.media(prefers_color_scheme="light")
        page.wait("document.documentElement.dataset.theme === 'light'")
    page.evaluate("document.getElementById('theme').click()")
    check(page.evaluate("document.documentElement.dataset.theme") == "dark", "no dark by choice")
    page.size(1280, 900)
    time.sleep(0.5)
    if shots:
        page.screenshot(f"{shots}/desktop-dark.png", True)
    page.evaluate("document.getElementById('theme').click(); document.getElementById('theme').click()")
    page.media(prefers_color_scheme="light")
    page.size(360, 780)
    time.sleep(0.5)
    if shots:
        page.screenshot(f"{shots}/narrow-light.png", True)
    quiet_console(page, server)
    page.call("Page.close")


def calm(browser, server, shots):
    """Who wants less motion gets about two pictures a second, not sixty."""
    page = opened(browser, server, prefers_reduced_motion="reduce")
    a = page.evaluate(STATS)
    time.sleep(2)
    b = page.evaluate(STATS)
    check(0 < b["drawn"] - a["drawn"] <= 6, "drawn", b["drawn"] - a["drawn"])
    page.call("Page.close")


def another_run(browser, program):
    """The daemon is started anew at the same address: the page notices and begins anew, even if the new one has more events already."""
    with Server(program, 60, 300) as server:
        page = opened(browser, server)
        old = page.evaluate(STATS)
    port = server.address.rsplit(":", 1)[1]
    with Server(program, 200, 1500, 0, port) as server:
        server.tell(f"flood {old['lastSeq'] + 2000}")
        page.wait("document.getElementById('notice').textContent.includes('restarted')", 20)
        page.wait("cuzkDashboard.stats.lastSeq > 0 && document.getElementById('link').textContent === 'live'", 20)
        last = server.tell("last")
        page.wait(f"cuzkDashboard.stats.lastSeq >= {last} && cuzkDashboard.model.spans.n > 100", 20)
        check(page.evaluate("cuzkDashboard.stats.lost") == 0, "events lost")
        age = page.evaluate("cuzkDashboard.now() - cuzkDashboard.model.last")
        check(-50 < age < 1500, "the time now is not that of the new run:", age)
        page.call("Page.close")


def same_as_the_analyser(browser, program):
    """Busy time, gaps and their causes in the page are those that the analyser finds in the log of the same run."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(program, 3, 120, 0, 0, os.path.join(folder, "log")) as server:
            page = opened(browser, server, from_start=True)
            for wanted in (0, 3, 0):  # so that there are pauses without any job, and cold starts
                server.tell(f"live {wanted}")
                if wanted:
                    time.sleep(2)
                else:
                    page.wait("cuzkDashboard.model.active === 0", 30)
                    time.sleep(1)
            last = server.tell("last")
            page.wait(f"cuzkDashboard.stats.lastSeq >= {last}", 10)
            check(page.evaluate("cuzkDashboard.stats.lost") == 0, "events lost")
            ours = page.evaluate("""[...cuzkDashboard.model.devices.values()].sort((a, b) => a.index - b.index).map((d) =>
              ({device: d.index, busy: d.total.busy, idle: d.total.idle, gaps: d.total.gaps, ms: [...d.total.ms], count: [...d.total.count]}))""")
            page.call("Page.close")
        theirs = [tuple(map(int, m)) for m in re.findall(r"^device (\d+) busy (\d+) idle (\d+) gaps (\d+)$", server.rest, re.M)]
        classes = [(n, int(g), int(ms)) for n, g, ms in re.findall(r"^class (\w+) (\d+) gaps (\d+) ms$", server.rest, re.M)]
    check(len(theirs) == len(ours) == 2 and len(classes) == 7, "figures are missing", server.rest)
    slack = 1.5 * sum(t[3] for t in theirs) ** 0.5 + 5  # the log has whole ms, the stream more
    for o, (device, busy, idle, gaps) in zip(ours, theirs):
        check(o["device"] == device and abs(o["busy"] - busy) <= slack and abs(o["idle"] - idle) <= slack, "device", o, (busy, idle, gaps))
    some = 0
    for i, (name, gaps, ms) in enumerate(classes):
        mine = sum(o["ms"][i] for o in ours)
        print(f"  {name}: {sum(o['count'][i] for o in ours)} gaps {mine:.0f} ms, in the log {gaps} gaps {ms} ms")
        check(abs(mine - ms) <= slack + 0.02 * ms, "class", name, mine, ms)
        some += ms > 0
    check(some >= 3, "too few causes to compare")


TESTS = (live_figures, hostile_names, keyboard, narrow_and_dark, calm, reconnect)



def main():
    p = argparse.ArgumentParser()
    p.add_argument("server")
    p.add_argument("--shots")
    p.add_argument("--only")
    p.add_argument("--soak", type=float, help="seconds of load to watch")
    p.add_argument("--rate", default="1000")
    a = p.parse_args()
    path = devtools.find()
    if not path:
        print("skipped: no Chromium (tools/install_deps.sh web installs it)")
        return 1 if os.environ.get("CUZK_REQUIRE_BROWSER") else 77
    with Server(a.server, 500, a.rate) as server, devtools.Browser(path) as browser:
        if a.soak:
            return soak(browser, server, a.soak)
        for test in TESTS:
            if a.only in (None, test.__name__):
                start = time.monotonic()
                print(f"{test.__name__}: {test.__doc__}", flush=True)
                test(browser, server, a.shots)
                print(f"  good, {time.monotonic() - start:.1f} s", flush=True)
        for test in (another_run, same_as_the_analyser):
            if a.only in (None, test.__name__):
                start = time.monotonic()
                print(f"{test.__name__}: {test.__doc__}", flush=True)
                test(browser, a.server)
                print(f"  good, {time.monotonic() - start:.1f} s", flush=True)
    return 0


def soak(browser, server, seconds):
    """Prints time, events, frames/s, heap after collection, the renderer's resident memory."""
    page = opened(browser, server, network=False)
    end = time.monotonic() + seconds
    before = page.evaluate(STATS)
    while time.monotonic() < end:
        time.sleep(min(30, seconds))
        s = page.evaluate(STATS)
        page.evaluate("gc()")
        heap = page.evaluate("performance.memory.usedJSHeapSize")
        fps = (s["frames"] - before["frames"]) * 1000 / (s["now"] - before["now"])
        print(json.dumps({"s": round(s["now"] / 1000), "events": s["events"], "lost": s["lost"], "fps": round(fps, 1), "heap_mib": round(heap / 2**20, 1),
                          "renderer_mib": renderer_mib(browser)}), flush=True)
        before = s
    return 0


def renderer_mib(browser):
    """Private (unshared) memory of the largest renderer of this browser, MiB."""
    best = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(pid)) != browser.process.pid or b"--type=renderer" not in open(f"/proc/{pid}/cmdline", "rb").read():
                continue
            rows = dict(line.split(":") for line in open(f"/proc/{pid}/smaps_rollup", encoding="ascii").read().splitlines()[1:])
            best = max(best, sum(int(rows[k].split()[0]) for k in ("Private_Clean", "Private_Dirty")))
        except OSError:
            pass
    return round(best / 1024, 1)


if __name__ == "__main__":
    sys.exit(main())
