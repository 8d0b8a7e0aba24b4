/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the recorder's events say: spans of every partition, busy time and gaps of every device by cause (engine specification 6.7, kernel
 * basis), jobs in work. Knows no page; all memory is bounded. Times are ms of the engine's clock. */
'use strict';

const CuzkModel = (() => {
  const CLASSES = ['dispatch_overhead', 'no_demand', 'cold_start', 'cross_sector_stall', 'intra_sector_stall', 'budget_wait', 'srs_load'];
  const [DISPATCH, NO_DEMAND, COLD, CROSS, INTRA, BUDGET, SRS] = [0, 1, 2, 3, 4, 5, 6];
  const GROUP = {synth: 0, worker: 1, finish: 2, device: 3};
  const STAGE = {synth: 0, pre: 1, lock: 2, kernels: 3, finish: 4, busy: 5, gap: 8}; /* gap + class */
  const MAX_SPANS = 1 << 17, MAX_CALLS = 1 << 15, MAX_NAMES = 1 << 13, MAX_LOADS = 64, MAX_PROBLEMS = 50, MAX_JOBS = 20000;

  /* Closed spans, oldest overwritten. seq of a span is its number since the beginning. */
  class Spans {
    constructor(size) {
      this.size = size;
      this.n = 0;
      this.start = new Float64Array(size);
      this.end = new Float64Array(size);
      this.job = new Uint32Array(size);
      this.lane = new Uint16Array(size);
      this.part = new Uint16Array(size);
      this.group = new Uint8Array(size);
      this.stage = new Uint8Array(size);
      this.failed = new Uint8Array(size);
    }
    get first() { return Math.max(0, this.n - this.size); }
    add(group, lane, stage, start, end, job, part, failed) {
      const i = this.n++ % this.size;
      this.start[i] = start;
      this.end[i] = end;
      this.job[i] = job;
      this.lane[i] = lane;
      this.part[i] = part;
      this.group[i] = group;
      this.stage[i] = stage;
      this.failed[i] = failed ? 1 : 0;
      return i;
    }
  }

  /* Lowest free place, so that lanes stay few. */
  class Slots {
    constructor() { this.used = []; }
    take() {
      let i = this.used.indexOf(false);
      if (i < 0) i = this.used.length;
      this.used[i] = true;
      return i;
    }
    give(i) { if (i >= 0) this.used[i] = false; }
  }

  /* Busy stretches and gaps of a device: kind -1 busy, else 7 shares follow in ms. */
  class Device {
    constructor(index) {
      this.index = index;
      this.depth = 0;       /* kernels running now */
      this.ever = false;
      this.since = 0;       /* of the busy stretch or of the gap */
      this.before = null;   /* job that ended last */
      this.active = false;  /* was a job active when the gap began */
      this.firstJob = -1;   /* first job since the gap began */
      this.workers = new Set();
      this.n = 0;
      this.start = new Float64Array(MAX_CALLS);
      this.end = new Float64Array(MAX_CALLS);
      this.label = new Int8Array(MAX_CALLS);
      this.share = new Float32Array(MAX_CALLS * CLASSES.length);
      this.total = {busy: 0, idle: 0, gaps: 0, ms: new Float64Array(CLASSES.length), count: new Uint32Array(CLASSES.length)};
    }
    add(start, end, label, ms) {
      const i = this.n++ % MAX_CALLS;
      this.start[i] = start;
      this.end[i] = end;
      this.label[i] = label;
      for (let c = 0; c < CLASSES.length; c++) this.share[i * CLASSES.length + c] = ms ? ms[c] : 0;
      if (label < 0) {
        this.total.busy += end - start;
        return;
      }
      this.total.idle += end - start;
      this.total.gaps++;
      this.total.count[label]++;
      for (let c = 0; c < CLASSES.length; c++) this.total.ms[c] += ms[c];
    }
  }

  const details = (text) => {
    const out = {};
    for (const piece of text.split(',')) {
      const eq = piece.indexOf('=');
      if (eq > 0 && !(piece.slice(0, eq) in out)) out[piece.slice(0, eq)] = piece.slice(eq + 1);
    }
    return out;
  };
  const plain = (text) => {
    try { return decodeURIComponent(text); } catch { return text; }
  };

  /* A job id as events carry it: encoded, cut at 63 bytes between characters, decoded. */
  const encoder = new TextEncoder();
  const eventId = (id) => {
    let used = 0, out = '';
    for (const c of id) {
      const code = c.codePointAt(0);
      const n = code < 0x20 || code === 0x7f || c === '%' || c === ',' ? 3 : encoder.encode(c).length;
      if (used + n > 63) break;
      used += n;
      out += c;
    }
    return out;
  };

  class Model {
    constructor() {
      this.problems = [];
      this.nProblems = 0;
      this.onSpan = null; /* (index in spans) */
      this.reset();
    }

    reset() {
      this.spans = new Spans(MAX_SPANS);
      this.jobs = new Map();
      this.names = new Array(MAX_NAMES).fill('');
      this.nNames = 0;
      this.active = 0;
      this.devices = new Map();
      this.synth = new Slots();
      this.finish = new Slots();
      this.open = new Set();
      this.loads = [];
      this.last = 0;       /* newest time seen */
      this.first = -1;
      this.wall = 0;       /* Unix ms of time 0; 0: unknown */
      this.events = 0;
      this.queued = 0;
      this.draining = false;
      this.version = (this.version || 0) + 1;
    }

    name(index) { return this.nNames - index <= MAX_NAMES ? this.names[index % MAX_NAMES] : ''; }

    device(index) {
      let d = this.devices.get(index);
      if (!d) {
        if (index > 255) return null;
        d = new Device(index);
        this.devices.set(index, d);
      }
      return d;
    }

    job(id, t) {
      let j = this.jobs.get(id);
      if (j) return j;
      if (this.jobs.size >= MAX_JOBS) {
        const [old, gone] = this.jobs.entries().next().value;
        this.closeJob(gone, t);
        this.jobs.delete(old);
        this.active--;
      }
      j = {id, index: this.nNames++, first: t, parts: new Map(), stage: 'queued', circuit: ''};
      this.names[j.index % MAX_NAMES] = id;
      this.jobs.set(id, j);
      this.active++;
      for (const d of this.devices.values())
        if (d.depth === 0 && d.firstJob < 0) d.firstJob = t;
      return j;
    }

    part(j, p) {
      let x = j.parts.get(p);
      if (!x) {
        if (p < 0 || p > 65535) return null;
        x = {job: j, p, ready: -1, synth1: -1, b0: -1, b1: -1, gpu0: -1, k0: -1, worker: 0, gpu: 0, waits: false, stage: null};
        j.parts.set(p, x);
      }
      return x;
    }

    begin(x, group, lane, stage, t) {
      this.close(x, t, false);
      x.stage = {group, lane, stage, start: t, job: x.job.index, part: x.p};
      this.open.add(x.stage);
    }
    close(x, t, failed) {
      const s = x.stage;
      if (!s) return;
      x.stage = null;
      this.open.delete(s);
      if (s.group === GROUP.synth) this.synth.give(s.lane);
      if (s.group === GROUP.finish) this.finish.give(s.lane);
      this.span(s.group, s.lane, s.stage, s.start, t, s.job, s.part, failed);
    }
    span(group, lane, stage, start, end, job, part, failed) {
      const i = this.spans.add(group, lane, stage, start, end, job, part, failed);
      if (this.onSpan) this.onSpan(i);
    }
    leaveQueue(x) {
      if (x.waits) this.queued--;
      x.waits = false;
    }
    closeJob(j, t) {
      for (const x of j.parts.values()) {
        if (x.stage && x.stage.stage === STAGE.kernels) this.kernelsEnd(x, t);
        this.close(x, t, true);
        this.leaveQueue(x);
      }
    }

    kernelsStart(x, t) {
      const d = this.device(x.gpu);
      if (!d) return;
      d.workers.add(x.worker);
      if (d.depth++ > 0) return;
      if (d.ever && t > d.since) this.gap(d, x, d.since, t);
      d.ever = true;
      d.since = t;
    }
    kernelsEnd(x, t) {
      const d = this.device(x.gpu);
      if (!d || d.depth === 0) return;
      d.before = x.job.index;
      if (--d.depth > 0) return;
      d.add(d.since, t, -1, null);
      this.span(GROUP.device, d.index, STAGE.busy, d.since, t, x.job.index, x.p, false);
      d.since = t;
      d.active = this.active > 0;
      d.firstJob = -1;
    }

    /* The causal rule. */
    gap(d, x, s, e) {
      const ms = new Float64Array(CLASSES.length);
      let ready = x.ready >= 0 && x.ready <= e ? x.ready : x.synth1;
      if (ready < 0) { /* nothing known: by length, as the analyser's threshold mode */
        const len = e - s;
        ms[len <= 1500 ? DISPATCH : len >= 100000 ? COLD : x.job.index !== d.before ? CROSS : INTRA] = len;
      } else {
        const r = Math.min(Math.max(ready, s), e);
        ms[DISPATCH] = e - r;
        if (r > s) {
          const from = d.active ? s : d.firstJob >= s && d.firstJob < r ? d.firstJob : r;
          ms[NO_DEMAND] = from - s;
          let rest = r - from;
          const loading = Math.min(rest, this.loadCover(x.job.index, from, r));
          let budget = x.b0 >= 0 ? Math.max(0, Math.min(r, x.b1 < 0 ? r : x.b1) - Math.max(from, x.b0)) : 0;
          budget = Math.min(budget, rest - loading);
          ms[SRS] = loading;
          ms[BUDGET] = budget;
          rest -= loading + budget;
          ms[!d.active ? COLD : x.job.index !== d.before ? CROSS : INTRA] += rest;
        }
      }
      let label = 0;
      for (let c = 0; c < CLASSES.length; c++)
        if (ms[c] > 0 && ms[c] >= ms[label]) label = c;
      d.add(s, e, label, ms);
      this.span(GROUP.device, d.index, STAGE.gap + label, s, e, x.job.index, x.p, false);
    }
    loadCover(job, from, to) {
      let cover = 0, at = from;
      for (const l of this.loads) { /* by start */
        if (l.start >= to || (l.job >= 0 && l.job !== job)) continue;
        const end = Math.min(l.end < 0 ? to : l.end, to), begin = Math.max(at, l.start);
        if (end > begin) {
          cover += end - begin;
          at = end;
        }
      }
      return cover;
    }

    problem(t, text) {
      this.problems.push({t, text});
      this.nProblems++;
      if (this.problems.length > MAX_PROBLEMS) this.problems.shift();
    }

    /* One event as /events gives it. */
    event(e) {
      const t = e.t_us / 1000;
      const d = details(e.details || '');
      if (e.event === 'EPOCH') {
        if (d.continued !== '1' && this.events > 0) this.reset();
        if (d.wall_ms) this.wall = Number(d.wall_ms) - t;
      }
      if (this.first < 0) this.first = t;
      if (t > this.last) this.last = t;
      this.events++;
      const ends = e.event === 'JOB_DONE' || e.event === 'JOB_FAIL' || e.event === 'JOB_CANCEL';
      const j = e.job === null || (ends && !this.jobs.has(e.job)) ? null : this.job(e.job, t);
      const x = j && e.partition !== null ? this.part(j, e.partition) : null;
      if (x && e.gpu !== null) x.gpu = e.gpu;
      if (x && e.worker !== null) x.worker = e.worker;
      switch (e.event) {
        case 'JOB_PREP':
          if (j) {
            j.stage = 'running';
            j.circuit = d.circuit || '';
          }
          break;
        case 'SRS_LOAD':
          this.loads.push({start: t, end: -1, job: j ? j.index : -1});
          if (this.loads.length > MAX_LOADS) this.loads.shift();
          break;
        case 'SRS_READY':
          for (let i = this.loads.length - 1; i >= 0; i--) {
            const l = this.loads[i];
            if (l.job !== (j ? j.index : -1) || l.end >= 0) continue;
            l.end = t;
            break;
          }
          if (d.err) this.problem(t, `parameters of ${plain(d.circuit || '?')}: ${plain(d.err)}`);
          break;
        case 'BUDGET_WAIT':
          if (x) {
            x.b0 = t;
            x.b1 = -1;
          }
          break;
        case 'BUDGET_OK':
          if (x) x.b1 = t;
          break;
        case 'SYNTH_START':
          if (x) {
            x.ready = x.synth1 = x.k0 = -1;
            this.begin(x, GROUP.synth, this.synth.take(), STAGE.synth, t);
          }
          break;
        case 'SYNTH_END':
          if (x) {
            x.synth1 = t;
            this.close(x, t, false);
          }
          break;
        case 'GPU_QUEUE':
          if (x) {
            x.ready = t;
            if (!x.waits) this.queued++;
            x.waits = true;
          }
          break;
        case 'GPU_PICKUP':
          if (x) this.leaveQueue(x);
          break;
        case 'GPU_START':
          if (x) {
            x.gpu0 = t;
            const dev = this.device(x.gpu);
            if (dev) dev.workers.add(x.worker);
            this.begin(x, GROUP.worker, x.worker, STAGE.pre, t);
          }
          break;
        case 'KERNEL_START':
          if (x) {
            this.begin(x, GROUP.worker, x.worker, STAGE.kernels, t);
            x.k0 = t;
            this.kernelsStart(x, t);
          }
          break;
        case 'KERNEL_END':
          if (x && x.k0 >= 0) {
            this.close(x, t, false);
            this.kernelsEnd(x, t);
          }
          break;
        case 'FIN_START':
          if (x) this.begin(x, GROUP.finish, this.finish.take(), STAGE.finish, t);
          break;
        case 'GPU_END':
          if (x) {
            if (x.stage && x.stage.stage === STAGE.kernels) this.kernelsEnd(x, t);
            this.close(x, t, !!d.err);
            const wait = Number(d.lock_wait_ms);
            if (x.k0 >= 0 && wait > 0) this.span(GROUP.worker, x.worker, STAGE.lock, Math.max(x.gpu0, x.k0 - wait), x.k0, j.index, x.p, false);
            j.parts.delete(x.p);
          }
          break;
        case 'VERIFY_START':
          if (j) j.stage = 'checking';
          break;
        case 'VERIFY_END':
          if (d.ok === '0') this.problem(t, `${e.job}: the proof does not hold`);
          break;
        case 'PART_FAIL':
        case 'PART_RETRY':
          if (x) {
            if (x.stage && x.stage.stage === STAGE.kernels) this.kernelsEnd(x, t);
            this.close(x, t, true);
            this.leaveQueue(x);
            j.parts.delete(x.p);
          }
          this.problem(t, `${e.job} partition ${e.partition}, ${d.stage || ''}${e.event === 'PART_RETRY' ? ', tried again' : ''}: ${plain(d.err || '')}`);
          break;
        case 'GPU_QUARANTINE': this.problem(t, `device ${e.gpu} gets no work: ${plain(d.err || '')}`); break;
        case 'GPU_BACK': this.problem(t, `device ${e.gpu} works again`); break;
        case 'DRAIN':
          this.draining = true;
          this.problem(t, 'the daemon takes no new jobs');
          break;
        case 'JOB_FAIL':
          this.problem(t, `${e.job}: ${plain(d.err || 'failed')}`);
          break;
      }
      if (ends && j) {
        this.closeJob(j, t);
        this.jobs.delete(j.id);
        this.active--;
      }
    }

    /* What is in work, from /status, where events are missing. */
    seed(status, now) {
      for (const j of this.jobs.values()) this.closeJob(j, now);
      this.jobs.clear();
      this.active = this.queued = 0;
      for (const d of this.devices.values()) {
        d.ever = false;
        d.depth = 0;
      }
      for (const p of status.pipelines) {
        if (p.ended_secs_ago !== null) continue;
        const j = this.job(eventId(p.job_id), now - 1000 * p.age_secs);
        for (const q of p.partitions) {
          if (q.state !== 'synthesizing' && q.state !== 'synth_done') continue;
          const x = this.part(j, q.index);
          if (!x) continue;
          if (q.state === 'synthesizing') this.begin(x, GROUP.synth, this.synth.take(), STAGE.synth, now - (q.synth_ms || 0));
          else {
            x.ready = now;
            x.waits = true;
            this.queued++;
          }
        }
      }
    }

    /* Busy and idle of a device within [from, now]: exact in what is in memory; from is moved up to what is. */
    usage(d, from, now) {
      const u = {from, busy: 0, idle: 0, open: 0, gaps: 0, ms: new Float64Array(CLASSES.length), count: new Uint32Array(CLASSES.length)};
      const oldest = Math.max(0, d.n - MAX_CALLS);
      let reached = d.ever ? d.since : now;
      if (d.ever) {
        const len = Math.max(0, now - Math.max(d.since, from));
        if (d.depth > 0) u.busy += len;
        else u.open += len;
      }
      for (let k = d.n - 1; k >= oldest; k--) {
        const i = k % MAX_CALLS;
        if (d.end[i] <= from) {
          reached = from;
          break;
        }
        const a = Math.max(d.start[i], from), len = d.end[i] - a, whole = d.end[i] - d.start[i];
        reached = a;
        if (d.label[i] < 0) {
          u.busy += len;
          continue;
        }
        u.idle += len;
        u.gaps++;
        u.count[d.label[i]]++;
        for (let c = 0; c < CLASSES.length; c++) u.ms[c] += d.share[i * CLASSES.length + c] * (whole > 0 ? len / whole : 0);
      }
      u.from = Math.max(from, reached);
      return u;
    }
  }
  return {Model, CLASSES, GROUP, STAGE, eventId, details};
})();
if (typeof module !== 'undefined') module.exports = CuzkModel;
