/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The page: feeds the model from /events, polls /status, draws. Texts of others (job ids, errors) reach the page as text only. */
'use strict';
(() => {
  const {Model, CLASSES, GROUP, STAGE, eventId} = CuzkModel;
  const $ = (id) => document.getElementById(id);
  const model = new Model();
  const HISTORY = 20000; /* events asked for at the beginning */
  const POLL_MS = 2000, PAGE = 25, TILE = 256, MAX_TILES = 40;
  const NAMES = {dispatch_overhead: 'dispatch overhead', no_demand: 'no demand', cold_start: 'cold start', cross_sector_stall: 'stall between sectors',
    intra_sector_stall: 'stall within a sector', budget_wait: 'waits for memory', srs_load: 'loads parameters'};
  const STAGES = ['synth', 'pre', 'lock', 'kernels', 'finish'];
  const STAGE_NAMES = ['synthesis', 'before the device', 'waits for the device lock', 'on the device', 'finish'];
  const PRIORITY = ['', 'low', 'normal', 'high', 'critical'];
  const calm = matchMedia('(prefers-reduced-motion: reduce)'), darkQuery = matchMedia('(prefers-color-scheme: dark)');

  let status = null, statusAt = 0, statusFailed = 0;
  const stats = {frames: 0, drawn: 0, lost: 0, reconnects: 0, lastSeq: 0, duplicates: 0};

  /* ---- small helpers ---- */
  const text = (id, value) => {
    const e = $(id), s = String(value);
    if (e.textContent !== s) e.textContent = s;
  };
  const el = (tag, cls, value) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (value !== undefined) e.textContent = value;
    return e;
  };
  const secs = (s) => s < 10 ? `${s.toFixed(1)} s` : s < 120 ? `${Math.round(s)} s` : s < 7200 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` :
    s < 172800 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min` : `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
  const bytes = (b) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let i = 0;
    while (b >= 1024 && i < 4) { b /= 1024; i++; }
    return `${b >= 100 || i === 0 ? Math.round(b) : b.toFixed(1)} ${units[i]}`;
  };
  const percent = (x) => `${(100 * x).toFixed(1)} %`;
  const count = (n) => n.toLocaleString('en');
  const plural = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + 's'}`;
  const clock = (t) => {
    const d = new Date(t);
    return [d.getHours(), d.getMinutes(), d.getSeconds()].map((v) => String(v).padStart(2, '0')).join(':');
  };

  /* ---- the engine's time now: that of the freshest event, carried on ---- */
  let offset = null;
  const sawTime = (t) => {
    const o = t - performance.now();
    if (offset === null || o > offset) offset = o;
  };
  const now = () => offset === null ? model.last : performance.now() + offset;
  const wallOf = (t) => model.wall ? model.wall + t : Date.now() - (now() - t);

  /* ---- the stream ---- */
  let source = null, phase = 'probe', attempts = 0, retry = 0;

  const link = (cls, words) => {
    const e = $('link');
    e.className = `badge ${cls}`;
    if (e.textContent !== words) e.textContent = words;
  };
  const notice = (words) => {
    text('notice', words);
    $('notice').hidden = !words;
  };

  const restart = () => {
    model.reset();
    offset = null;
    selected = -1;
    cursor = null;
    stats.lastSeq = 0;
  };

  const anotherRun = () => {
    restart();
    notice('The daemon was restarted; the view begins anew.');
  };

  /* after < 0: from now on, with a snapshot first. */
  const connect = (after) => {
    if (source) source.close();
    source = new EventSource(after < 0 ? 'events' : `events?after=${after}`);
    source.addEventListener('open', () => { retry = 0; link('ok', 'live'); });
    source.addEventListener('snapshot', (m) => onSnapshot(m));
    source.addEventListener('timeline', (m) => onEvent(m));
    source.addEventListener('lost', (m) => onLost(m));
    source.addEventListener('error', () => {
      link('off', 'no connection, trying again');
      stats.reconnects++;
      if (source.readyState !== EventSource.CLOSED) return; /* the browser comes back by itself, with Last-Event-ID */
      retry = Math.min(retry + 1, 5);
      setTimeout(() => connect(phase === 'live' && stats.lastSeq ? stats.lastSeq : -1), 1000 * retry);
    });
  };

  const onSnapshot = (m) => {
    const id = Number(m.lastEventId) || 0;
    let s;
    try { s = JSON.parse(m.data); } catch { return; }
    takeStatus(s);
    if (phase === 'probe') { /* how far the daemon is; now from some way back */
      phase = 'history';
      stats.lastSeq = Math.max(0, id - HISTORY);
      connect(stats.lastSeq);
      return;
    }
    if (id < stats.lastSeq) { /* another run of the daemon */
      anotherRun();
    } else if (phase === 'live' || attempts >= 3) {
      model.seed(s, now());
    }
    stats.lastSeq = id;
    phase = 'live';
  };

  const onLost = (m) => {
    const {after, oldest} = JSON.parse(m.data);
    if (phase === 'history' && attempts < 3) { /* not kept so far back */
      attempts++;
      stats.lastSeq = oldest + 500 * attempts;
      connect(stats.lastSeq);
      return;
    }
    const n = Math.max(0, oldest - after - 1);
    stats.lost += n;
    notice(`${plural(n, 'event')} went out of the daemon's memory before this page could read them; times around ${clock(Date.now())} are incomplete.`);
  };

  const onEvent = (m) => {
    let e;
    try { e = JSON.parse(m.data); } catch { return; }
    if (e.seq <= stats.lastSeq) {
      stats.duplicates++;
      return;
    }
    if (phase !== 'live') phase = 'live';
    else if (e.seq !== stats.lastSeq + 1) stats.lost += e.seq - stats.lastSeq - 1;
    stats.lastSeq = e.seq;
    model.event(e);
    sawTime(e.t_us / 1000);
  };

  /* ---- /status ---- */
  const takeStatus = (s, asked) => {
    /* Numbers of events do not tell a new run that has already got as far as the old one. This was taken after it was asked for, the one before
     * was taken before it came. */
    const again = status && s.uptime_secs + 0.5 < status.uptime_secs + Math.max(0, (asked || 0) - statusAt) / 1000;
    status = s;
    statusAt = performance.now();
    statusFailed = 0;
    if (again && phase === 'live') {
      anotherRun();
      phase = 'probe';
      attempts = 0;
      connect(-1);
    }
  };
  let polling = false;
  const poll = async () => {
    if (polling) return;
    polling = true;
    const asked = performance.now();
    try {
      const r = await fetch('status', {cache: 'no-store', signal: AbortSignal.timeout(10000)});
      if (!r.ok) throw new Error(String(r.status));
      takeStatus(await r.json(), asked);
    } catch {
      statusFailed++;
    }
    polling = false;
  };

  /* ---- colours ---- */
  let colours = {};
  const readColours = () => {
    const css = getComputedStyle(document.documentElement);
    const get = (name) => css.getPropertyValue(name).trim();
    colours = {fg: get('--fg'), dim: get('--dim'), line: get('--line'), card: get('--card'), open: get('--c-open'), failed: get('--c-failed'),
      accent: get('--accent'), stage: STAGES.map((s) => get(`--c-${s}`)), gap: CLASSES.map((c) => get(`--g-${c}`))};
    colours.stage[STAGE.busy] = colours.stage[STAGE.kernels];
  };
  let theme = 'auto';
  try { theme = localStorage.getItem('cuzk-theme') || 'auto'; } catch { /* not allowed to keep it */ }
  const applyTheme = () => {
    document.documentElement.dataset.theme = theme === 'auto' ? (darkQuery.matches ? 'dark' : 'light') : theme;
    text('theme', `Colours: ${theme}`);
    $('theme').setAttribute('aria-label', `Colours: ${theme === 'auto' ? 'as the system' : theme}`);
    readColours();
    forgetTiles();
  };
  $('theme').addEventListener('click', () => {
    theme = {auto: 'dark', dark: 'light', light: 'auto'}[theme] || 'auto';
    try { localStorage.setItem('cuzk-theme', theme); } catch { /* not allowed to keep it */ }
    applyTheme();
  });
  darkQuery.addEventListener('change', () => applyTheme());

  /* ---- lanes ---- */
  const canvas = $('fall'), ctx = canvas.getContext('2d', {alpha: false});
  let lanes = [], laneAt = new Map(), layoutKey = '', height = 100, gutter = 80, width = 0, dpr = 1;
  const AXIS = 18;

  const layout = () => {
    const devices = [...model.devices.values()].sort((a, b) => a.index - b.index);
    const nSynth = Math.max(1, model.synth.used.length), nFinish = Math.max(1, model.finish.used.length);
    const key = devices.map((d) => `${d.index}:${[...d.workers].sort((a, b) => a - b)}`).join(';') + `|${nSynth}|${nFinish}|${width}|${dpr}`;
    if (key === layoutKey) return;
    layoutKey = key;
    lanes = [];
    let y = 2;
    const add = (group, lane, h, label, name) => {
      lanes.push({group, lane, y, h, label, name});
      y += h + 1;
    };
    const narrow = width < 500;
    gutter = narrow ? 58 : 92;
    for (const d of devices) {
      add(GROUP.device, d.index, 18, narrow ? `dev ${d.index}` : `device ${d.index}`, `device ${d.index}, busy and idle`);
      for (const w of [...d.workers].sort((a, b) => a - b)) add(GROUP.worker, w, 13, narrow ? `w ${w}` : `worker ${w}`, `worker ${w} of device ${d.index}`);
      y += 3;
    }
    const many = (group, n, label) => {
      const h = n <= 8 ? 11 : n <= 24 ? 7 : n <= 64 ? 4 : 3;
      for (let i = 0; i < n; i++) add(group, i, h, i === 0 ? label : '', `${label} ${i + 1}`);
      y += 3;
    };
    many(GROUP.synth, nSynth, 'synthesis');
    many(GROUP.finish, nFinish, 'finish');
    laneAt = new Map(lanes.map((l) => [l.group << 16 | l.lane, l]));
    height = y + AXIS;
    canvas.style.height = `${height}px`;
    canvas.height = Math.round(height * dpr);
    forgetTiles();
  };
  const resize = () => {
    const w = canvas.clientWidth, r = Math.min(2, devicePixelRatio || 1);
    if (w === width && r === dpr) return;
    width = w;
    dpr = r;
    canvas.width = Math.round(w * dpr);
    layout();
  };

  /* ---- view in time ---- */
  let span = 300, live = true, viewEnd = 0, selected = -1, cursor = null;
  const pxWidth = () => Math.max(50, Math.round((width - gutter) * dpr));
  const msPerPx = () => 1000 * span / pxWidth();
  const right = () => live ? now() : viewEnd;

  /* ---- tiles: what is over and done with is drawn once ---- */
  let tiles = new Map();
  function forgetTiles() { tiles = new Map(); dirty = true; }
  let dirty = true;

  const drawSpan = (c, x0, w, l, stage, job, failed) => {
    c.fillStyle = failed ? colours.failed : stage >= STAGE.gap ? colours.gap[stage - STAGE.gap] : colours.stage[stage];
    const h = Math.max(1, Math.round(l.h * dpr)), y = Math.round(l.y * dpr);
    c.globalAlpha = selected >= 0 && job !== selected && stage < STAGE.busy ? 0.22 : 1;
    const edge = w >= 4 && stage < STAGE.gap ? 1 : 0; /* tells neighbours apart */
    c.fillRect(x0, y, Math.max(1, w - edge), h);
    c.globalAlpha = 1;
  };
  const paint = (tile, i) => {
    const s = model.spans, l = laneAt.get(s.group[i] << 16 | s.lane[i]);
    if (!l) return;
    const mpp = tile.mpp, x0 = Math.floor(s.start[i] / mpp) - tile.k * TILE, x1 = Math.floor(s.end[i] / mpp) - tile.k * TILE;
    if (x1 < 0 || x0 >= TILE) return;
    drawSpan(tile.c, x0, x1 - x0, l, s.stage[i], s.job[i], s.failed[i]);
  };
  const makeTile = (k, mpp) => {
    const image = new OffscreenCanvas(TILE, canvas.height - Math.round(AXIS * dpr));
    const tile = {k, mpp, image, c: image.getContext('2d')};
    const from = k * TILE * mpp, to = (k + 1) * TILE * mpp, s = model.spans;
    for (let n = s.first; n < s.n; n++) {
      const i = n % s.size;
      if (s.end[i] >= from && s.start[i] < to) paint(tile, i);
    }
    return tile;
  };
  model.onSpan = (i) => {
    if (tiles.size === 0) return;
    const mpp = tileMpp, a = Math.floor(model.spans.start[i] / mpp / TILE), b = Math.floor(model.spans.end[i] / mpp / TILE);
    for (let k = a; k <= b; k++) {
      const t = tiles.get(k);
      if (t) paint(t, i);
      else if (b - k > MAX_TILES) k = b - MAX_TILES;
    }
    dirty = true;
  };
  let tileMpp = 0;

  const NICE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];
  const draw = () => {
    const w = pxWidth(), mpp = msPerPx(), g = Math.round(gutter * dpr), h = canvas.height - Math.round(AXIS * dpr);
    if (mpp !== tileMpp) {
      forgetTiles();
      tileMpp = mpp;
    }
    const endPx = Math.floor(right() / mpp), fromPx = endPx - w;
    ctx.fillStyle = colours.card;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.fillStyle = colours.open;
    for (const l of lanes) ctx.fillRect(g, Math.round(l.y * dpr), w, Math.max(1, Math.round(l.h * dpr)));
    const k0 = Math.floor(fromPx / TILE), k1 = Math.floor(endPx / TILE);
    for (let k = k0; k <= k1; k++) {
      let t = tiles.get(k);
      if (!t) {
        t = makeTile(k, mpp);
        tiles.set(k, t);
        if (tiles.size > MAX_TILES) tiles.delete([...tiles.keys()].sort((a, b) => Math.abs(b - k) - Math.abs(a - k))[0]);
      }
      ctx.drawImage(t.image, g + k * TILE - fromPx, 0);
    }
    /* what is going on */
    const t1 = now();
    const openSpan = (group, lane, stage, start, job) => {
      const l = laneAt.get(group << 16 | lane);
      const x0 = Math.max(0, Math.floor(start / mpp) - fromPx), x1 = Math.min(w, Math.floor(t1 / mpp) - fromPx);
      if (l && x1 >= x0 && x0 < w) drawSpan(ctx, g + x0, x1 - x0, l, stage, job, false);
    };
    for (const s of model.open) openSpan(s.group, s.lane, s.stage, s.start, s.job);
    for (const d of model.devices.values()) if (d.depth > 0) openSpan(GROUP.device, d.index, STAGE.busy, d.since, -1);
    /* the cursor */
    if (cursor) {
      const l = lanes[cursor.lane];
      if (l) {
        ctx.strokeStyle = colours.accent;
        ctx.lineWidth = 2 * dpr;
        const s = cursor.span;
        const x0 = s ? Math.max(0, Math.floor(s.start / mpp) - fromPx) : 0, x1 = s ? Math.min(w, Math.floor(s.end / mpp) - fromPx) : w;
        if (x1 >= 0 && x0 <= w) ctx.strokeRect(g + x0, l.y * dpr, Math.max(3, x1 - x0), l.h * dpr);
      }
    }
    /* gutter and axis */
    ctx.fillStyle = colours.card;
    ctx.fillRect(0, 0, g - 2, canvas.height);
    ctx.fillRect(0, h, canvas.width, canvas.height - h);
    ctx.font = `${Math.round(11 * dpr)}px system-ui, "DejaVu Sans", sans-serif`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    ctx.fillStyle = colours.fg;
    for (const l of lanes) if (l.label) ctx.fillText(l.label, 0, (l.y + Math.max(l.h, 9) / 2) * dpr, g - 6);
    const step = NICE.find((s) => 1000 * s / mpp >= 74 * dpr) || 14400;
    ctx.textAlign = 'center';
    const wall0 = wallOf(fromPx * mpp);
    for (let t = Math.ceil(wall0 / 1000 / step) * step; ; t += step) {
      const x = g + Math.round((1000 * t - wall0) / mpp);
      if (x > g + w) break;
      ctx.fillStyle = colours.line;
      ctx.fillRect(x, 0, 1, h + 3 * dpr);
      ctx.fillStyle = colours.dim;
      if (x > g + 26 * dpr && x < g + w - 26 * dpr) ctx.fillText(clock(1000 * t), x, h + 10 * dpr);
    }
    stats.drawn++;
    return endPx;
  };

  let lastPx = -1, lastDraw = 0;
  const frame = (t) => {
    stats.frames++;
    requestAnimationFrame(frame);
    if (t - lastDraw < (calm.matches && !dirty ? 1000 : calm.matches ? 500 : 14)) return;
    resize();
    layout();
    if (!dirty && model.open.size === 0 && Math.floor(right() / msPerPx()) === lastPx) return;
    dirty = false;
    lastDraw = t;
    lastPx = draw();
  };

  /* ---- pointing at spans ---- */
  const jobName = (index) => model.name(index) || '?';
  const describe = (s) => {
    const long = secs((s.end - s.start) / 1000), at = clock(wallOf(s.start));
    if (s.stage >= STAGE.gap) return `idle ${long} from ${at}: ${NAMES[CLASSES[s.stage - STAGE.gap]]}, before ${jobName(s.job)} partition ${s.part}`;
    if (s.stage === STAGE.busy) return `busy ${long} from ${at}`;
    return `${jobName(s.job)} partition ${s.part}\n${STAGE_NAMES[s.stage]} ${long} from ${at}${s.failed ? ', failed' : ''}`;
  };
  const copy = (i) => {
    const s = model.spans;
    return {start: s.start[i], end: s.end[i], stage: s.stage[i], job: s.job[i], part: s.part[i], failed: s.failed[i]};
  };
  const spanAt = (l, t) => {
    for (const o of model.open) if (o.group === l.group && o.lane === l.lane && o.start <= t && t <= now()) return {...o, end: now(), failed: 0};
    const s = model.spans, slack = msPerPx() * dpr * 2;
    for (let n = s.n - 1; n >= s.first; n--) {
      const i = n % s.size;
      if (s.group[i] === l.group && s.lane[i] === l.lane && s.start[i] <= t + slack && s.end[i] >= t - slack) return copy(i);
    }
    return null;
  };
  const hit = (ev) => {
    const box = canvas.getBoundingClientRect(), x = ev.clientX - box.left, y = ev.clientY - box.top;
    const l = lanes.find((v) => y >= v.y - 1 && y <= v.y + v.h + 1);
    if (!l || x < gutter) return null;
    return spanAt(l, right() - (width - x) * dpr * msPerPx());
  };
  const tip = $('tip');
  canvas.addEventListener('pointermove', (ev) => {
    const s = hit(ev);
    tip.hidden = !s;
    if (!s) return;
    tip.textContent = describe(s);
    const box = canvas.getBoundingClientRect();
    const x = Math.min(ev.clientX - box.left + 12, Math.max(0, box.width - tip.offsetWidth)), y = ev.clientY - box.top + 14;
    tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  });
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('click', (ev) => {
    const s = hit(ev);
    select(s && s.stage < STAGE.busy && s.job !== selected ? s.job : -1);
    if (s) text('fall-say', describe(s));
  });
  const select = (index) => {
    selected = index;
    forgetTiles();
    renderJobs();
  };

  /* ---- moving ---- */
  const setLive = (on) => {
    if (!on && live) viewEnd = now();
    live = on;
    $('live').setAttribute('aria-pressed', String(on));
    dirty = true;
  };
  const move = (share) => {
    setLive(false);
    viewEnd += 1000 * span * share;
    if (viewEnd >= now()) setLive(true);
    dirty = true;
  };
  const zoom = (by) => {
    const list = $('span');
    list.selectedIndex = Math.min(list.length - 1, Math.max(0, list.selectedIndex + by));
    span = Number(list.value);
    dirty = true;
    renderUsage();
  };
  $('live').addEventListener('click', () => setLive(!live));
  $('back').addEventListener('click', () => move(-0.25));
  $('forth').addEventListener('click', () => move(0.25));
  $('span').addEventListener('change', () => zoom(0));

  const say = () => {
    const l = cursor && lanes[cursor.lane];
    text('fall-say', !l ? '' : `${l.name}: ${cursor.span ? describe(cursor.span).replace('\n', ', ') : 'nothing chosen'}`);
    dirty = true;
  };
  const step = (dir) => {
    const l = cursor && lanes[cursor.lane];
    if (!l) return;
    const s = model.spans, at = cursor.span ? cursor.span.start : dir < 0 ? right() : right() - 1000 * span;
    let best = -1;
    for (let n = s.first; n < s.n; n++) {
      const i = n % s.size;
      if (s.group[i] !== l.group || s.lane[i] !== l.lane || s.stage[i] === STAGE.lock) continue;
      if (dir < 0 ? s.start[i] < at && (best < 0 || s.start[i] > s.start[best]) : s.start[i] > at && (best < 0 || s.start[i] < s.start[best])) best = i;
    }
    if (best < 0) return;
    cursor.span = copy(best);
    const from = right() - 1000 * span;
    if (cursor.span.start < from || cursor.span.end > right()) {
      setLive(false);
      viewEnd = Math.min(now(), (cursor.span.start + cursor.span.end) / 2 + 500 * span);
    }
    say();
  };
  const keys = {
    ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), End: () => setLive(true), ' ': () => setLive(!live),
    '+': () => zoom(-1), '=': () => zoom(-1), '-': () => zoom(1),
    ArrowUp: () => { cursor = {lane: cursor ? Math.max(0, cursor.lane - 1) : 0, span: null}; say(); },
    ArrowDown: () => { cursor = {lane: cursor ? Math.min(lanes.length - 1, cursor.lane + 1) : 0, span: null}; say(); },
    ',': () => step(-1), '.': () => step(1),
    Enter: () => { if (cursor && cursor.span && cursor.span.stage < STAGE.busy) select(cursor.span.job); },
    Escape: () => { cursor = null; tip.hidden = true; select(-1); say(); },
  };
  canvas.addEventListener('keydown', (ev) => {
    if (ev.ctrlKey || ev.metaKey || ev.altKey || !Object.hasOwn(keys, ev.key)) return;
    keys[ev.key]();
    ev.preventDefault();
  });

  /* ---- tables ---- */
  /* Rows are kept and refilled: list of [key, cells]; a cell is a text, or a function that fills it. */
  const fill = (body, rows, classes) => {
    while (body.rows.length > rows.length) body.deleteRow(-1);
    rows.forEach((cells, r) => {
      const row = body.rows[r] || body.insertRow();
      cells.forEach((value, c) => {
        const cell = row.cells[c] || row.insertCell();
        if (classes && classes[c] && cell.className !== classes[c]) cell.className = classes[c];
        if (typeof value === 'function') value(cell);
        else if (cell.textContent !== value) cell.textContent = value;
      });
      while (row.cells.length > cells.length) row.deleteCell(-1);
    });
  };
  const none = (body, columns, words) => {
    if (body.rows.length === 1 && body.rows[0].cells.length === 1 && body.rows[0].textContent === words) return;
    body.replaceChildren();
    const cell = body.insertRow().insertCell();
    cell.colSpan = columns;
    cell.className = 'quiet';
    cell.textContent = words;
  };
  const keyed = (colour, words) => (cell) => {
    if (cell.dataset.of === words) return;
    cell.dataset.of = words;
    const dot = el('i');
    dot.style.background = `var(${colour})`;
    cell.replaceChildren(dot, words);
  };
  const stack = (box, pieces, total) => {
    while (box.children.length > pieces.length) box.lastChild.remove();
    pieces.forEach(([colour, value], i) => {
      const e = box.children[i] || box.appendChild(el('span'));
      e.style.background = `var(${colour})`;
      e.style.width = `${total > 0 ? 100 * value / total : 0}%`;
    });
  };

  const renderUsage = () => {
    const box = $('usage'), t = now(), from = t - 1000 * span;
    const devices = [...model.devices.values()].filter((d) => d.ever).sort((a, b) => a.index - b.index);
    if (devices.length === 0) {
      if (box.textContent !== 'No device call yet.') box.replaceChildren(el('p', 'quiet', 'No device call yet.'));
      text('t-busy', '–');
      return;
    }
    if (box.children.length !== devices.length || box.dataset.n !== String(devices.length)) {
      box.dataset.n = String(devices.length);
      box.replaceChildren(...devices.map(() => {
        const part = el('div');
        const table = el('table');
        const head = table.createTHead().insertRow();
        for (const [name, cls] of [['Cause', ''], ['Gaps', 'num opt'], ['Time', 'num'], ['Share', 'num'], ['Busy without', 'num']]) {
          const th = el('th', cls, name);
          th.scope = 'col';
          head.append(th);
        }
        table.createTBody();
        const bar = el('div', 'stack');
        bar.setAttribute('role', 'img');
        part.append(el('h3'), bar, table);
        return part;
      }));
    }
    let busy = 0, all = 0;
    devices.forEach((d, n) => {
      const u = model.usage(d, from, t), part = box.children[n], length = Math.max(1, t - u.from), window = u.busy + u.idle;
      busy += u.busy;
      all += length;
      const title = `Device ${d.index}: ${percent(u.busy / length)} busy in ${u.from > from + 1000 ? 'the ' + secs(length / 1000) + ' known' : 'the last ' + secs(length / 1000)}`;
      if (part.children[0].textContent !== title) part.children[0].textContent = title;
      part.children[1].setAttribute('aria-label', title);
      stack(part.children[1], [['--c-kernels', u.busy], ...CLASSES.map((c, i) => [`--g-${c}`, u.ms[i]]), ['--c-open', u.open]], length);
      const rows = [[keyed('--c-kernels', 'busy'), '', secs(u.busy / 1000), percent(u.busy / length), '']];
      CLASSES.map((c, i) => [c, i]).filter(([, i]) => u.ms[i] > 0 || u.count[i]).sort((a, b) => u.ms[b[1]] - u.ms[a[1]]).forEach(([c, i]) => {
        rows.push([keyed(`--g-${c}`, NAMES[c]), count(u.count[i]), secs(u.ms[i] / 1000), percent(u.ms[i] / length),
          window - u.ms[i] > 0 ? percent(u.busy / (window - u.ms[i])) : '']);
      });
      if (u.open > 0) rows.push([keyed('--c-open', 'idle now'), '', secs(u.open / 1000), percent(u.open / length), '']);
      fill(part.children[2].tBodies[0], rows, ['', 'num opt', 'num', 'num', 'num']);
    });
    text('t-busy', percent(busy / all));
    text('t-busy-sub', plural(devices.length, 'device'));
  };

  const MEM = ['srs', 'pce', 'inputs', 'abc', 'aux', 'prover', 'pool_idle', 'scratch'];
  const MEM_NAMES = {srs: 'parameters', pce: 'compact circuits', inputs: 'inputs', abc: 'evaluations a, b, c', aux: 'witness', prover: 'prover', pool_idle: 'idle buffers', scratch: 'scratch'};
  const renderStatus = () => {
    const s = status;
    if (!s) return;
    const age = (performance.now() - statusAt) / 1000;
    text('about', `${s.version ? 'version ' + s.version + ' · ' : ''}up ${secs(s.uptime_secs + age)}${s.draining ? ' · draining' : ''}` +
      `${s.journal.enabled ? s.journal.healthy ? '' : ' · JOURNAL FAILS' : ' · no journal'} · ${plural(model.events, 'event')}, ${count(stats.lost)} lost` +
      `${statusFailed > 1 ? ` · status ${secs(age)} old` : ''}`);
    const live_ = s.pipelines.filter((p) => p.ended_secs_ago === null);
    const waiting = s.counters.queue_depth;
    text('t-jobs', count(Math.max(0, live_.length - waiting)));
    text('t-jobs-sub', `${count(waiting)} queued`);
    text('t-queue', count(s.gpu_queue_depth));
    text('t-queue-sub', s.gpu_queue_depth === 0 ? 'partitions' : plural(s.gpu_queue_depth, 'partition'));
    text('t-synth', `${s.synthesis.active} / ${s.synthesis.max_concurrent}`);
    text('t-synth-sub', 'at work / most');
    text('t-mem', bytes(s.memory.used_bytes));
    text('t-mem-sub', `of ${bytes(s.memory.total_bytes)}`);
    text('t-done', count(s.counters.total_completed));
    text('t-done-sub', `${count(s.counters.total_failed)} failed, ${count(s.counters.total_cancelled)} cancelled`);

    const by = s.memory.by_class || {}, known = MEM.filter((m) => by[m] > 0);
    stack($('mem-bar'), known.map((m) => [`--m-${m}`, by[m]]), s.memory.total_bytes);
    $('mem-bar').setAttribute('aria-label', `${bytes(s.memory.used_bytes)} of ${bytes(s.memory.total_bytes)} reserved`);
    if (known.length) fill($('mem'), known.map((m) => [keyed(`--m-${m}`, MEM_NAMES[m]), bytes(by[m]), percent(by[m] / s.memory.total_bytes)]), ['', 'num', 'num']);
    else none($('mem'), 3, 'nothing reserved');
    const w = s.budget_waiters, longest = w.reduce((a, b) => Math.max(a, b.waiting_secs), 0);
    text('waiters', w.length ? `${w.length >= 16 ? 'At least ' : ''}${plural(w.length, 'partition waits', 'partitions wait')} for memory, the longest for ${secs(longest + age)}.` : '');
    $('waiters').className = w.length ? 'notice' : '';

    const srs = s.allocations.srs;
    if (srs.length) fill($('srs'), srs.map((x) => [x.circuit_id, bytes(x.bytes), count(x.refs), x.loading ? 'loading' : x.refs ? 'in use' : `${secs(x.last_used_secs_ago + age)} ago${x.evictable ? ', may go' : ''}`]), ['', 'num', 'num', '']);
    else none($('srs'), 4, 'none');
    if (s.gpus.length) {
      fill($('gpus'), s.gpus.map((g) => [`${g.ordinal} ${g.name}`, g.lost ? 'lost' : g.quarantined ? 'quarantined' : g.errors ? plural(g.errors, 'error') : 'good',
        g.current_job === null ? '–' : g.current_job, secs(g.busy_secs), g.memory_total_bytes ? bytes(g.memory_free_bytes) : '–']), ['', '', '', 'num', 'num']);
    } else none($('gpus'), 5, 'none');
    const PHASES = {none: 'idle', pre: 'before the device', lock_wait: 'waits for the lock', kernels: 'on the device', post: 'finish'};
    fill($('workers'), s.gpu_workers.map((x) => [`${x.worker_id} (device ${x.gpu_ordinal})`, PHASES[x.phase] || x.phase,
      x.current_job === null ? '–' : `${x.current_job}, ${x.current_partition}`, x.busy_secs === null ? '–' : secs(x.busy_secs + (x.state === 'proving' ? age : 0))]), ['', '', '', 'num']);
  };

  let problemsShown = -1;
  const renderProblems = () => {
    if (problemsShown === model.nProblems) return;
    problemsShown = model.nProblems;
    const list = $('problems');
    list.replaceChildren(...model.problems.slice().reverse().map((p) => el('li', '', `${clock(wallOf(p.t))}  ${p.text}`)));
    if (model.problems.length === 0) list.append(el('li', 'quiet', 'none'));
  };

  /* ---- jobs ---- */
  let page = 0;
  const STAGE_ORDER = {QUEUED: 0, PREPARING: 1, RUNNING: 2, ASSEMBLED: 3, CHECKING: 4, COMPLETED: 5, FAILED: 6, CANCELLED: 7};
  const stageOf = (p) => {
    const n = {pending: 0, synthesizing: 0, synth_done: 0, gpu: 0, done: 0, failed: 0};
    for (const q of p.partitions) n[q.state]++;
    const words = [];
    if (n.synthesizing) words.push(`${n.synthesizing} in synthesis`);
    if (n.synth_done) words.push(`${n.synth_done} wait for a device`);
    if (n.gpu) words.push(`${n.gpu} on a device`);
    return {n, words: p.state.toLowerCase() === 'running' && words.length ? words.join(', ') : p.state.toLowerCase()};
  };
  function renderJobs() {
    if (!status) return;
    const age = (performance.now() - statusAt) / 1000, find = $('find').value.toLowerCase(), order = $('order').value;
    const rank = (p) => STAGE_ORDER[p.state.toUpperCase()] || 0;
    const list = status.pipelines.filter((p) => !find || p.job_id.toLowerCase().includes(find) || p.proof_kind.includes(find) || p.state.toLowerCase().includes(find));
    const byAge = (a, b) => b.age_secs - a.age_secs;
    list.sort(order === 'new' ? (a, b) => -byAge(a, b) : order === 'state' ? (a, b) => rank(b) - rank(a) || byAge(a, b) :
      order === 'kind' ? (a, b) => a.proof_kind < b.proof_kind ? -1 : a.proof_kind > b.proof_kind ? 1 : byAge(a, b) :
        (a, b) => (a.ended_secs_ago !== null) - (b.ended_secs_ago !== null) || byAge(a, b));
    const pages = Math.max(1, Math.ceil(list.length / PAGE));
    page = Math.min(page, pages - 1);
    const shown = list.slice(page * PAGE, (page + 1) * PAGE);
    $('prev').disabled = page === 0;
    $('next').disabled = page >= pages - 1;
    text('jobs-say', list.length ? `${count(page * PAGE + 1)} to ${count(page * PAGE + shown.length)} of ${plural(list.length, 'job')}${find ? ' found' : ''}; ended ones stay for 30 s` :
      find ? 'No job matches.' : 'No jobs.');
    const body = $('rows');
    fill(body, shown.map((p) => {
      const {n, words} = stageOf(p);
      return [
        (cell) => {
          let b = cell.firstChild;
          if (!b) {
            b = cell.appendChild(el('button'));
            b.type = 'button';
            b.title = 'Mark in the waterfall';
            b.addEventListener('click', () => {
              const j = model.jobs.get(eventId(b.dataset.job));
              select(j && j.index !== selected ? j.index : -1);
            });
          }
          const j = model.jobs.get(eventId(p.job_id));
          b.dataset.job = p.job_id;
          if (b.textContent !== p.job_id) b.textContent = p.job_id;
          b.setAttribute('aria-pressed', String(!!j && j.index === selected));
        },
        p.proof_kind, PRIORITY[p.priority] || String(p.priority),
        (cell) => {
          const all = p.error ? `${words}: ${p.error}` : words;
          if (cell.textContent !== all) cell.textContent = all;
          cell.className = p.error ? 'error' : '';
        },
        (cell) => {
          if (!cell.firstChild) cell.append(el('span'), el('div', 'stack small'));
          const words_ = `${p.partitions_done} of ${p.total_partitions}`;
          if (cell.firstChild.textContent !== words_) cell.firstChild.textContent = words_;
          stack(cell.lastChild, [['--good', n.done], ['--c-kernels', n.gpu], ['--c-pre', n.synth_done], ['--c-synth', n.synthesizing], ['--c-failed', n.failed]], p.total_partitions);
        },
        p.ended_secs_ago === null ? secs(p.age_secs + age) : `ended ${secs(p.ended_secs_ago + age)} ago`,
      ];
    }), ['', 'opt', 'opt', '', '', 'num']);
  }
  $('find').addEventListener('input', () => { page = 0; renderJobs(); });
  $('order').addEventListener('change', () => { page = 0; renderJobs(); });
  $('prev').addEventListener('click', () => { page--; renderJobs(); });
  $('next').addEventListener('click', () => { page++; renderJobs(); });

  /* ---- legend ---- */
  const legend = () => {
    const item = (colour, words) => {
      const li = el('li'), dot = el('i');
      dot.style.background = `var(${colour})`;
      li.append(dot, words);
      return li;
    };
    $('legend').append(...STAGES.map((s, i) => item(`--c-${s}`, STAGE_NAMES[i])), item('--c-failed', 'failed'),
      ...CLASSES.map((c) => item(`--g-${c}`, `idle: ${NAMES[c]}`)));
  };

  /* ---- life ---- */
  const label = () => {
    const busy = $('t-busy').textContent;
    canvas.setAttribute('aria-label', `Partitions over the ${live ? 'last ' + secs(span) : secs(span) + ' up to ' + clock(wallOf(viewEnd))}; devices busy ${busy}`);
  };
  let ticks = 0;
  const tick = () => {
    ticks++;
    if (document.hidden && ticks % 10 !== 0) return;
    if (ticks * 1000 % POLL_MS === 0) void poll();
    if (offset !== null) offset -= 0.02; /* follows a clock that is slower than ours */
    renderUsage();
    renderStatus();
    renderProblems();
    renderJobs();
    label();
  };
  legend();
  applyTheme();
  new ResizeObserver(() => { resize(); dirty = true; }).observe(canvas);
  requestAnimationFrame(frame);
  connect(-1);
  void poll();
  setInterval(tick, 1000);
  globalThis.cuzkDashboard = {model, stats, now}; /* for tests and the curious */
})();
