/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The analyser: the vectors of engine specification 6.9, damaged logs, and random schedules against figures counted millisecond by
 * millisecond. */
#include <inttypes.h>

#include "base/alloc.h"
#include "testing.h"
#include "timeline/report.h"

/* ---- a log in memory ---- */
static char *text;
static size_t n_text, cap_text;

static void clear(void) { n_text = 0; }
__attribute__((format(printf, 1, 2))) static void line(const char *fmt, ...) {
  va_list ap;
  if (cap_text < n_text + 1024) {
    cap_text = cap_text * 2 + 4096;
    text = realloc(text, cap_text);
    assert_non_null(text);
  }
  va_start(ap, fmt);
  n_text += (size_t)vsnprintf(text + n_text, 1000, fmt, ap);
  va_end(ap);
  text[n_text++] = '\n';
}

#define MAX_RUNS 8
static struct cuzk_tl_run runs[MAX_RUNS];
static unsigned n_runs;
static enum cuzk_status keep(void *user, struct cuzk_tl_run *r) {
  (void)user;
  assert_true(n_runs < MAX_RUNS);
  runs[n_runs++] = *r;
  memset(r, 0, sizeof *r);
  return CUZK_OK;
}
static void drop(void) {
  while (n_runs) cuzk_tl_run_clear(&runs[--n_runs]);
}
static void read_pieces(size_t piece) {
  struct cuzk_tl_reader *r;
  drop();
  assert_int_equal(cuzk_tl_reader_create(&r, keep, NULL), CUZK_OK);
  for (size_t at = 0; at < n_text; at += piece)
    assert_int_equal(cuzk_tl_reader_feed(r, text + at, n_text - at < piece ? n_text - at : piece), CUZK_OK);
  assert_int_equal(cuzk_tl_reader_finish(r), CUZK_OK);
  cuzk_tl_reader_destroy(&r);
}
static void read_log(void) { read_pieces(1 << 16); }

static void analyse(struct cuzk_tl_report *rep, enum cuzk_tl_classify how) {
  struct cuzk_tl_options o;
  struct cuzk_detail d = {{0}};
  cuzk_tl_defaults(&o);
  o.classify = how;
  assert_true(n_runs > 0);
  assert_int_equal(cuzk_tl_analyse(rep, &runs[n_runs - 1], &o, &d), CUZK_OK);
}
static double percent(double x) { return (double)(int64_t)(x * 1000 + 0.5) / 10; }
#define ASSERT_PERCENT(x, want) assert_true(percent(x) > (want) - 0.001 && percent(x) < (want) + 0.001)

/* ---- the specification's vectors ---- */
static void vector_a(void **state) {
  (void)state;
  static const uint64_t span[][2] = {{682540, 688600}, {689588, 696544}, {696556, 700530}, {700762, 704496}, {704512, 708102}};
  static const uint64_t gap[] = {32852, 988, 12, 232, 16, 29};
  clear();
  line("TIMELINE,649688,GPU_START,before,worker=0,partition=9");
  line("TIMELINE,649688,GPU_END,before,worker=0,partition=9,gpu_ms=0");
  for (unsigned i = 0; i < 5; i++) {
    line("TIMELINE,%" PRIu64 ",GPU_START,3a64913b-51f6-4be3-8b32-bed4b7f86c84,worker=0,partition=%u", span[i][0], i + 2);
    line("TIMELINE,%" PRIu64 ",GPU_END,3a64913b-51f6-4be3-8b32-bed4b7f86c84,worker=0,partition=%u,gpu_ms=%" PRIu64, span[i][1], i + 2,
         i == 3 ? 3733 : span[i][1] - span[i][0]);
  }
  line("TIMELINE,708131,GPU_START,3a64913b-51f6-4be3-8b32-bed4b7f86c84,worker=0,partition=7");
  line("TIMELINE,708131,GPU_END,3a64913b-51f6-4be3-8b32-bed4b7f86c84,worker=0,partition=7,gpu_ms=0");
  read_log();
  struct cuzk_tl_report r;
  analyse(&r, CUZK_TL_CLASSIFY_AUTO);
  assert_int_equal(r.n_gaps, 6);
  for (unsigned i = 0; i < 6; i++) assert_int_equal(r.gap[i].end - r.gap[i].start, gap[i]);
  assert_int_equal(r.idle, 34129);
  assert_int_equal(r.busy, 24314);
  assert_int_equal(r.window, 58443);
  ASSERT_PERCENT(cuzk_tl_efficiency_without(&r, 0), 41.6);
  assert_int_equal(r.classify, CUZK_TL_THRESHOLD);
  assert_int_equal(r.cls[CUZK_TL_CROSS_SECTOR].ms, 32852);
  assert_int_equal(r.cls[CUZK_TL_DISPATCH].ms, 1277);
  assert_int_equal(r.spawn.max, 1);
  cuzk_tl_report_clear(&r);
}

static uint64_t start_of[110], end_of[110];
static void vector_b_times(void) {
  uint64_t t = 100000;
  for (unsigned k = 0; k < 110; k++) {
    start_of[k] = t;
    end_of[k] = t += k == 109 ? 4129 : 4119;
    t += k == 9 ? 125900 : k == 19 ? 54100 : k == 29 ? 32900 : k == 39 ? 29300 : k % 10 == 9 && k < 80 ? 708 : 68;
  }
}
static void vector_b_lines(void) {
  for (unsigned k = 0; k < 110; k++) {
    line("TIMELINE,%" PRIu64 ",GPU_START,job-%u,worker=0,partition=%u", start_of[k], k / 10, k % 10);
    line("TIMELINE,%" PRIu64 ",GPU_END,job-%u,worker=0,partition=%u,gpu_ms=%u", end_of[k], k / 10, k % 10, k == 109 ? 4129 : 4119);
  }
}
static void vector_b(void **state) {
  (void)state;
  struct cuzk_tl_report r;
  clear();
  vector_b_times();
  vector_b_lines();
  read_log();
  analyse(&r, CUZK_TL_CLASSIFY_AUTO);
  assert_int_equal(r.busy, 453100);
  assert_int_equal(r.idle, 251900);
  assert_int_equal(r.window, 705000);
  assert_int_equal(r.n_gaps, 109);
  assert_int_equal(r.n_intervals, 110);
  assert_int_equal(r.n_jobs, 11);
  assert_int_equal((int)(cuzk_tl_efficiency_without(&r, 0) * 10000 + 0.5), 6427);
  unsigned long_gaps = 0;
  for (size_t i = 0; i < r.n_gaps; i++) long_gaps += r.gap[i].end - r.gap[i].start > 500;
  assert_int_equal(long_gaps, 8);
  assert_int_equal(r.cls[CUZK_TL_COLD_START].ms, 125900);
  assert_int_equal(r.cls[CUZK_TL_COLD_START].gaps, 1);
  assert_int_equal(r.cls[CUZK_TL_CROSS_SECTOR].ms, 116300);
  assert_int_equal(r.cls[CUZK_TL_CROSS_SECTOR].gaps, 3);
  assert_int_equal(r.cls[CUZK_TL_DISPATCH].ms, 9700);
  assert_int_equal(r.cls[CUZK_TL_DISPATCH].gaps, 105);
  assert_int_equal(r.cls[CUZK_TL_INTRA_SECTOR].ms + r.cls[CUZK_TL_NO_DEMAND].ms, 0);
  ASSERT_PERCENT(cuzk_tl_efficiency_without(&r, r.cls[CUZK_TL_COLD_START].ms), 78.2);
  ASSERT_PERCENT(cuzk_tl_efficiency_without(&r, r.cls[CUZK_TL_CROSS_SECTOR].ms), 77.0);
  ASSERT_PERCENT(cuzk_tl_efficiency_without(&r, r.cls[CUZK_TL_DISPATCH].ms), 65.2);
  ASSERT_PERCENT(cuzk_tl_efficiency_without(&r, r.cls[CUZK_TL_COLD_START].ms + r.cls[CUZK_TL_CROSS_SECTOR].ms), 97.9);
  assert_int_equal(r.device[0].max_gap, 125900);
  char advice[512];
  assert_non_null(strstr(cuzk_tl_advice(advice, sizeof advice, &r), "125.9 s of 251.9 s"));
  cuzk_tl_report_clear(&r);
}

static int by_offset(const void *a, const void *b) {
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  const uint64_t u = strtoull(x + 9, NULL, 10), v = strtoull(y + 9, NULL, 10);
  if (u != v) return u < v ? -1 : 1;
  return x < y ? -1 : x > y;
}
/* Puts the log's lines in order of time. */
static void sort_log(void) {
  size_t n = 0, at = 0;
  char **l = malloc((n_text + 1) * sizeof *l), *copy = malloc(n_text + 1);
  assert_true(l && copy);
  memcpy(copy, text, n_text);
  for (size_t i = 0; i < n_text; i++) {
    if (!i || copy[i - 1] == '\n') l[n++] = copy + i;
  }
  qsort(l, n, sizeof *l, by_offset);
  for (size_t i = 0; i < n; i++)
    for (const char *p = l[i];; p++) {
      text[at++] = *p;
      if (*p == '\n') break;
    }
  assert_int_equal(at, n_text);
  free(l);
  free(copy);
}

static void vector_c(void **state) {
  (void)state;
  struct cuzk_tl_report r;
  clear();
  vector_b_times();
  vector_b_lines();
  for (unsigned k = 0; k < 110; k++) {
    const bool late = k == 0 || k == 10 || k == 20 || k == 30 || k == 40;
    line("TIMELINE,%" PRIu64 ",GPU_QUEUE,job-%u,partition=%u", late ? start_of[k] - 20 : end_of[k - 1] - 1000, k / 10, k % 10);
  }
  line("TIMELINE,%" PRIu64 ",SYNTH_START,job-0,partition=0", start_of[0] - 35000);
  line("TIMELINE,%" PRIu64 ",SYNTH_START,job-1,partition=0", end_of[9] + 90900);
  for (unsigned j = 2; j <= 4; j++) line("TIMELINE,%" PRIu64 ",SYNTH_START,job-%u,partition=0", end_of[10 * j - 1] - 5000, j);
  sort_log();
  read_log();
  analyse(&r, CUZK_TL_CLASSIFY_AUTO);
  assert_int_equal(r.classify, CUZK_TL_CAUSAL);
  assert_int_equal(r.cls[CUZK_TL_NO_DEMAND].ms, 90900);
  assert_int_equal(r.cls[CUZK_TL_COLD_START].ms, 34980);
  assert_int_equal(r.cls[CUZK_TL_CROSS_SECTOR].ms, 116240);
  assert_int_equal(r.cls[CUZK_TL_DISPATCH].ms, 9780);
  assert_int_equal(r.cls[CUZK_TL_INTRA_SECTOR].ms, 0);
  assert_int_equal(r.lead_in, 35000);
  cuzk_tl_report_clear(&r);
}

static void vector_d(void **state) {
  (void)state;
  struct cuzk_tl_report r;
  clear();
  line("TIMELINE,0,GPU_START,j,worker=0,partition=0");
  line("TIMELINE,2000,GPU_START,j,worker=1,partition=1");
  line("TIMELINE,4000,GPU_END,j,worker=0,partition=0,gpu_ms=4000");
  line("TIMELINE,4100,GPU_START,j,worker=0,partition=2");
  line("TIMELINE,6000,GPU_END,j,worker=1,partition=1,gpu_ms=4000");
  line("TIMELINE,6100,GPU_START,j,worker=1,partition=3");
  line("TIMELINE,8000,GPU_END,j,worker=0,partition=2,gpu_ms=3900");
  line("TIMELINE,10000,GPU_END,j,worker=1,partition=3,gpu_ms=3900");
  read_log();
  analyse(&r, CUZK_TL_CLASSIFY_AUTO);
  assert_int_equal(r.n_workers, 2);
  for (unsigned w = 0; w < 2; w++) {
    assert_int_equal(r.worker[w].busy, 7900);
    assert_int_equal(r.worker[w].idle, 100);
  }
  assert_int_equal(r.n_devices, 1);
  assert_int_equal(r.device[0].busy, 10000);
  assert_int_equal(r.device[0].idle, 0);
  assert_int_equal(r.n_gaps, 0);
  assert_true(r.one_device_assumed);
  cuzk_tl_report_clear(&r);
}

static void vector_e(void **state) {
  (void)state;
  clear();
  line("TIMELINE");
  line("TIMELINE,x,GPU_END,j,");
  line("xTIMELINE,5,GPU_START,j,worker=0");
  line("2026-01-01 host cuzk: TIMELINE,5,GPU_START,j,worker=0,partition=0");
  line("TIMELINE,6,GPU_QUEUE,wdpost-1000-0-[1 2 3 4 5 6 7 8],monolithic");
  line("TIMELINE,7,GPU_END,j,worker=0,partition=0,gpu_ms=2");
  line("TIMELINE,7,,j,worker=0");
  line("TIMELINE,7,GPU_END");
  line("TIMELINE,8,GPU_START,a%%2Cb%%25,worker=0\r");
  line("TIMELINE,9,GPU_END,a%%2Cb%%25,worker=0,gpu_ms=1\r");
  for (size_t piece = 1; piece < 200; piece += 13) {
    read_pieces(piece);
    assert_int_equal(n_runs, 1);
    assert_int_equal(runs[0].malformed, 4);
    assert_int_equal(runs[0].n_jobs, 3);
    assert_string_equal(cuzk_tl_job_id(&runs[0], 0), "j");
    assert_string_equal(cuzk_tl_job_id(&runs[0], 1), "wdpost-1000-0-[1 2 3 4 5 6 7 8]");
    assert_string_equal(cuzk_tl_job_id(&runs[0], 2), "a,b%");
    assert_int_equal(runs[0].n_parts, 3);
    assert_int_equal(runs[0].part[1].ready, 6);
    assert_int_equal(runs[0].unfinished, 0);
  }
}

/* ---- damaged and foreign logs ---- */
static void several_runs(void **state) {
  (void)state;
  struct cuzk_tl_report r;
  clear();
  line("TIMELINE,0,EPOCH,-,wall_ms=1700000000000,pid=7,version=1.0,gpus=1,workers_per_gpu=2");
  line("TIMELINE,70000,GPU_START,j,worker=0,partition=0");
  line("TIMELINE,70010,GPU_END,j,worker=0,partition=0,gpu_ms=10");
  line("TIMELINE,70010,EPOCH,-,wall_ms=1700000000000,pid=7,version=1.0,gpus=1,workers_per_gpu=2,continued=1");
  line("TIMELINE,70020,GPU_START,j,worker=1,partition=1"); /* after rotation: the same run */
  line("TIMELINE,70030,GPU_END,j,worker=1,partition=1,gpu_ms=10");
  line("TIMELINE,10,GPU_START,j,worker=0,partition=0"); /* the clock fell back by more than a minute: the reference started again */
  line("TIMELINE,15,GPU_END,j,worker=0,partition=0,gpu_ms=5");
  line("TIMELINE,0,EPOCH,-,wall_ms=1800000000000,pid=8,version=1.1,gpus=1,workers_per_gpu=1");
  line("TIMELINE,40000,GPU_START,j,worker=0,partition=0");
  line("TIMELINE,39990,GPU_QUEUE,j,partition=0"); /* written late: put in order */
  line("TIMELINE,40007,GPU_END,j,worker=0,partition=0,gpu_ms=7");
  read_log();
  assert_int_equal(n_runs, 3);
  assert_int_equal(runs[0].n_parts, 2);
  assert_int_equal(runs[0].workers_per_gpu, 2);
  assert_int_equal(runs[0].lines, 6);
  assert_int_equal(runs[1].n_parts, 1);
  assert_int_equal(runs[1].lines, 2);
  assert_int_equal(runs[2].number, 3);
  assert_string_equal(runs[2].version, "1.1");
  assert_int_equal(runs[2].n_parts, 1);
  assert_int_equal(runs[2].part[0].ready, 39990);
  analyse(&r, CUZK_TL_CLASSIFY_AUTO);
  assert_int_equal(r.busy, 7);
  cuzk_tl_report_clear(&r);
}

static void missing_events(void **state) {
  (void)state;
  struct cuzk_tl_report r;
  clear();
  line("TIMELINE,100,GPU_START,a,worker=0,partition=0");                     /* no end */
  line("TIMELINE,200,GPU_END,a,worker=0,partition=1");                       /* no start, no gpu_ms: orphan */
  line("TIMELINE,250,CHAN_SEND,a,partition=2");
  line("TIMELINE,260,GPU_PICKUP,a,worker=0,partition=2");
  line("TIMELINE,400,GPU_END,a,worker=0,partition=2,gpu_ms=100");            /* start inferred, the same attempt */
  line("TIMELINE,500,GPU_START,a,worker=0,partition=3");
  line("TIMELINE,600,GPU_END,a,worker=0,partition=3,gpu_ms=90,err=DEVICE");  /* failed: busy all the same */
  line("TIMELINE,610,GPU_QUEUE,a,partition=3");                              /* tried again */
  line("TIMELINE,700,GPU_START,a,worker=0,partition=3");
  line("TIMELINE,800,GPU_END,a,worker=0,partition=3,gpu_ms=90");
  line("TIMELINE,810,WHO_KNOWS,a,partition=3");
  line("TIMELINE,4294967396000,GPU_START,b,worker=0");
  line("TIMELINE,4294967396500,GPU_END,b,worker=0,gpu_ms=500");
  line("CUZK_TIMING: gpu_tid=1 ntt_msm_h_ms=5 gpu_total_ms=80");
  line("CUZK_TIMING: mutex_held_ms=12 total_start_fn_ms=3");
  line("TIMELINE,4294967396600,GPU_STA");
  n_text--; /* the end was not written */
  read_log();
  assert_int_equal(n_runs, 1);
  assert_int_equal(runs[0].unfinished, 1);
  assert_int_equal(runs[0].orphans, 1);
  assert_int_equal(runs[0].inferred, 1);
  assert_int_equal(runs[0].failed, 1);
  assert_int_equal(runs[0].unknown, 1);
  assert_int_equal(runs[0].malformed, 1);
  assert_true(runs[0].torn_end);
  assert_int_equal(runs[0].kernel_sum_ms, 80);
  assert_int_equal(runs[0].mutex_sum_ms, 12);
  analyse(&r, CUZK_TL_CLASSIFY_AUTO);
  assert_int_equal(r.n_intervals, 4);
  assert_int_equal(r.busy, 100 + 100 + 100 + 500);
  assert_int_equal(r.busy + r.idle, r.window);
  assert_int_equal(r.first, 300);
  assert_int_equal(r.last, UINT64_C(4294967396500));
  assert_int_equal(runs[0].part[r.interval[0].part].ready, 250);
  cuzk_tl_report_clear(&r);
  clear();
  line("TIMELINE,1,GPU_START,a,worker=0");
  read_log();
  struct cuzk_tl_options o;
  struct cuzk_detail d = {{0}};
  cuzk_tl_defaults(&o);
  assert_int_equal(cuzk_tl_analyse(&r, &runs[0], &o, &d), CUZK_E_NOENT);
  cuzk_tl_report_clear(&r);
  clear();
  read_log();
  assert_int_equal(n_runs, 0);
}

static void waits_and_kernels(void **state) {
  (void)state;
  struct cuzk_tl_report r;
  clear();
  line("TIMELINE,0,EPOCH,-,gpus=1,workers_per_gpu=1");
  line("TIMELINE,0,JOB_SUBMIT,a,kind=porep-c2,prio=high,bytes=1");
  line("TIMELINE,5,SRS_LOAD,a,circuit=porep-32g,bytes=1");
  line("TIMELINE,95,SRS_READY,a,circuit=porep-32g,load_ms=90");
  line("TIMELINE,100,JOB_PREP,a,circuit=porep-32g,partitions=2,seq=0");
  line("TIMELINE,110,SYNTH_START,a,partition=0,tid=1,pinned=0");
  line("TIMELINE,200,BUDGET_WAIT,a,partition=1,bytes=7");
  line("TIMELINE,300,SYNTH_END,a,partition=0,synth_ms=190");
  line("TIMELINE,300,GPU_QUEUE,a,partition=0");
  line("TIMELINE,301,GPU_PICKUP,a,worker=0,partition=0,gpu=0");
  line("TIMELINE,302,GPU_START,a,worker=0,partition=0,gpu=0");
  line("TIMELINE,310,KERNEL_START,a,worker=0,gpu=0,partition=0");
  line("TIMELINE,400,KERNEL_END,a,worker=0,gpu=0,partition=0,h_ms=1");
  line("TIMELINE,401,FIN_START,a,worker=0,partition=0");
  line("TIMELINE,420,GPU_END,a,worker=0,partition=0,gpu_ms=118,gpu=0");
  line("TIMELINE,450,BUDGET_OK,a,partition=1,wait_ms=250");
  line("TIMELINE,450,SYNTH_START,a,partition=1,tid=1,pinned=0");
  line("TIMELINE,600,SYNTH_END,a,partition=1,synth_ms=150");
  line("TIMELINE,605,GPU_QUEUE,a,partition=1");
  line("TIMELINE,606,GPU_PICKUP,a,worker=0,partition=1,gpu=0");
  line("TIMELINE,607,GPU_START,a,worker=0,partition=1,gpu=0");
  line("TIMELINE,620,KERNEL_START,a,worker=0,gpu=0,partition=1");
  line("TIMELINE,700,KERNEL_END,a,worker=0,gpu=0,partition=1,h_ms=1");
  line("TIMELINE,730,GPU_END,a,worker=0,partition=1,gpu_ms=123,gpu=0");
  line("TIMELINE,731,VERIFY_START,a");
  line("TIMELINE,740,VERIFY_END,a,ok=1,ms=9");
  line("TIMELINE,741,JOB_DONE,a,total_ms=741");
  read_log();
  analyse(&r, CUZK_TL_CLASSIFY_AUTO);
  assert_int_equal(r.basis, CUZK_TL_KERNEL);
  assert_int_equal(r.n_gaps, 1);
  uint64_t ms[CUZK_TL_N_CLASSES];
  cuzk_tl_gap_split(ms, &r, &runs[n_runs - 1], &r.gap[0]);
  assert_int_equal(ms[CUZK_TL_DISPATCH], 620 - 605);
  assert_int_equal(ms[CUZK_TL_BUDGET_WAIT], 450 - 400);
  assert_int_equal(ms[CUZK_TL_INTRA_SECTOR], 605 - 450);
  assert_int_equal(r.gap[0].label, CUZK_TL_INTRA_SECTOR);
  assert_int_equal(r.n_jobs, 1);
  assert_int_equal(r.job[0].latency, 741);
  static const uint64_t stage[CUZK_TL_N_STAGES] = {100, 350, 150, 6, 1, 13, 80, 30, 9, 2};
  for (unsigned i = 0; i < CUZK_TL_N_STAGES; i++) assert_int_equal(r.job[0].stage[i], stage[i]);
  cuzk_tl_report_clear(&r);
}

/* ---- random schedules ---- */
enum { SPAN = 6000, MAX_CALLS = 60, MAX_LANES = 6 };
struct call {
  unsigned job, partition, lane;
  uint64_t start, end, ready; /* ready CUZK_TL_NONE: not in the log */
  unsigned start_line, end_line;
};

static void random_schedule(void) {
  static uint8_t busy[MAX_LANES][SPAN + 200];
  struct call c[MAX_CALLS];
  const unsigned devices = 1 + (unsigned)(test_rand() % 2), per = 1 + (unsigned)(test_rand() % 3);
  const unsigned n = 1 + (unsigned)(test_rand() % MAX_CALLS), jobs = 1 + (unsigned)(test_rand() % 8);
  const uint64_t longest = 1 + test_rand() % 400;
  uint64_t first[8], last[8];
  memset(busy, 0, sizeof busy);
  clear();
  for (unsigned j = 0; j < 8; j++) first[j] = CUZK_TL_NONE, last[j] = 0;
  for (unsigned i = 0; i < n; i++) {
    c[i] = (struct call){.job = (unsigned)(test_rand() % jobs), .partition = i, .lane = (unsigned)(test_rand() % (devices * per)), .start = test_rand() % (SPAN - 401)};
    c[i].end = c[i].start + 1 + test_rand() % longest;
    c[i].ready = test_rand() % 4 ? (c[i].start > 300 ? c[i].start - test_rand() % 300 : c[i].start) : CUZK_TL_NONE;
    for (unsigned j = 0; j < 3; j++) {
      const uint64_t t = j == 0 ? c[i].ready : j == 1 ? c[i].start : c[i].end;
      if (t == CUZK_TL_NONE) continue;
      if (t < first[c[i].job]) first[c[i].job] = t;
      if (t > last[c[i].job]) last[c[i].job] = t;
    }
    if (c[i].ready != CUZK_TL_NONE) line("TIMELINE,%" PRIu64 ",GPU_QUEUE,job %u,partition=%u", c[i].ready, c[i].job, i);
    line("TIMELINE,%" PRIu64 ",GPU_START,job %u,worker=%u,partition=%u", c[i].start, c[i].job, c[i].lane, i);
    line("TIMELINE,%" PRIu64 ",GPU_END,job %u,worker=%u,partition=%u,gpu_ms=%" PRIu64, c[i].end, c[i].job, c[i].lane, i, c[i].end - c[i].start);
    memset(&busy[c[i].lane][c[i].start], 1, c[i].end - c[i].start);
  }
  if (test_rand() % 2) sort_log();
  /* which line each call's events stand on */
  unsigned number = 0;
  for (size_t at = 0; at < n_text; at++) {
    if (at && text[at - 1] != '\n') continue;
    number++;
    char *end = memchr(text + at, '\n', n_text - at);
    *end = 0;
    const unsigned p = (unsigned)strtoul(strstr(text + at, "partition=") + 10, NULL, 10);
    if (strstr(text + at, "GPU_START")) c[p].start_line = number;
    if (strstr(text + at, "GPU_END")) c[p].end_line = number;
    *end = '\n';
  }
  read_log();
  assert_int_equal(n_runs, 1);
  struct cuzk_tl_options o;
  struct cuzk_tl_report r;
  struct cuzk_detail d = {{0}};
  cuzk_tl_defaults(&o);
  o.workers_per_gpu = per;
  assert_int_equal(cuzk_tl_analyse(&r, &runs[0], &o, &d), CUZK_OK);
  assert_int_equal(r.n_intervals, n);
  assert_int_equal(r.busy + r.idle, r.window);
  size_t at_gap = 0, at_device = 0, at_worker = 0;
  uint64_t cls[CUZK_TL_N_CLASSES] = {0}, histogram_gaps = 0, histogram_ms = 0;
  for (unsigned dev = 0; dev < devices; dev++) {
    uint64_t from = CUZK_TL_NONE, to = 0, n_busy = 0, n_gaps = 0;
    unsigned calls = 0;
    for (unsigned i = 0; i < n; i++) {
      if (c[i].lane / per != dev) continue;
      calls++;
      if (c[i].start < from) from = c[i].start;
      if (c[i].end > to) to = c[i].end;
    }
    if (!calls) continue;
    for (unsigned w = dev * per; w < (dev + 1) * per; w++) {
      uint64_t a = CUZK_TL_NONE, b = 0, sum = 0;
      for (uint64_t t = 0; t < to; t++)
        if (busy[w][t]) {
          if (a == CUZK_TL_NONE) a = t;
          b = t + 1;
          sum++;
        }
      if (a == CUZK_TL_NONE) continue;
      assert_int_equal(r.worker[at_worker].worker, w);
      assert_int_equal(r.worker[at_worker].busy, sum);
      assert_int_equal(r.worker[at_worker++].idle, b - a - sum);
    }
    for (uint64_t t = from; t < to;) {
      uint64_t e = t;
      bool any = false;
      for (unsigned w = dev * per; w < (dev + 1) * per; w++) any = any || busy[w][t];
      if (any) {
        n_busy++;
        t++;
        continue;
      }
      for (any = false; !any; e += !any)
        for (unsigned w = dev * per; w < (dev + 1) * per; w++) any = any || busy[w][e];
      /* the gap [t, e) */
      const struct call *next = NULL, *prev = NULL;
      for (unsigned i = 0; i < n; i++) {
        if (c[i].lane / per != dev) continue;
        if (c[i].start == e && (!next || c[i].start_line < next->start_line)) next = &c[i];
        if (c[i].end == t && (!prev || c[i].end_line > prev->end_line)) prev = &c[i];
      }
      assert_true(next && prev && at_gap < r.n_gaps);
      const struct cuzk_tl_gap *g = &r.gap[at_gap++];
      n_gaps++;
      assert_int_equal(g->device, dev);
      assert_int_equal(g->start, t);
      assert_int_equal(g->end, e);
      assert_int_equal(runs[0].part[g->after].partition, next->partition);
      assert_int_equal(runs[0].part[g->before].partition, prev->partition);
      uint64_t want[CUZK_TL_N_CLASSES] = {0};
      bool active = false;
      for (unsigned j = 0; j < jobs; j++) active = active || (first[j] <= t && t < last[j]);
      for (uint64_t m = t; m < e; m++) { /* what each millisecond was lost to */
        bool begun = active;
        for (unsigned j = 0; j < jobs; j++) begun = begun || (first[j] >= t && first[j] <= m);
        if (next->ready == CUZK_TL_NONE) want[CUZK_TL_DISPATCH]++; /* all are short */
        else if (m >= next->ready) want[CUZK_TL_DISPATCH]++;
        else if (!begun) want[CUZK_TL_NO_DEMAND]++;
        else want[!active ? CUZK_TL_COLD_START : next->job != prev->job ? CUZK_TL_CROSS_SECTOR : CUZK_TL_INTRA_SECTOR]++;
      }
      if (next->ready == CUZK_TL_NONE && e - t > 1500) {
        want[CUZK_TL_DISPATCH] = 0;
        want[next->job != prev->job ? CUZK_TL_CROSS_SECTOR : CUZK_TL_INTRA_SECTOR] = e - t;
      }
      uint64_t ms[CUZK_TL_N_CLASSES];
      cuzk_tl_gap_split(ms, &r, &runs[0], g);
      for (unsigned k = 0; k < CUZK_TL_N_CLASSES; k++) {
        assert_int_equal(ms[k], want[k]);
        assert_true(want[k] <= want[g->label]);
        cls[k] += want[k];
      }
      t = e;
    }
    assert_int_equal(r.device[at_device].device, dev);
    assert_int_equal(r.device[at_device].calls, calls);
    assert_int_equal(r.device[at_device].busy, n_busy);
    assert_int_equal(r.device[at_device].idle, to - from - n_busy);
    assert_int_equal(r.device[at_device++].gaps, n_gaps);
  }
  assert_int_equal(at_gap, r.n_gaps);
  assert_int_equal(at_device, r.n_devices);
  assert_int_equal(at_worker, r.n_workers);
  for (unsigned k = 0; k < CUZK_TL_N_CLASSES; k++) assert_int_equal(r.cls[k].ms, cls[k]);
  for (unsigned b = 0; b < CUZK_TL_BUCKETS; b++) {
    histogram_gaps += r.histogram[b].gaps;
    histogram_ms += r.histogram[b].ms;
  }
  assert_int_equal(histogram_gaps, r.n_gaps);
  assert_int_equal(histogram_ms, r.idle);
  for (size_t i = 0; i < r.n_jobs; i++) {
    uint64_t sum = 0;
    for (unsigned k = 0; k < CUZK_TL_N_STAGES; k++) sum += r.job[i].stage[k];
    assert_int_equal(sum, r.job[i].latency);
  }
  cuzk_tl_report_clear(&r);
}
static void random_schedules(void **state) {
  (void)state;
  for (unsigned i = 0; i < 3000; i++) random_schedule();
}

static void memory_fails(void **state) {
  (void)state;
  clear();
  vector_b_times();
  vector_b_lines();
  drop();
  const int64_t live = cuzk_alloc_live();
  bool done = false;
  for (uint64_t n = 1; !done; n++) {
    struct cuzk_tl_reader *r = NULL;
    struct cuzk_tl_report rep = {0};
    struct cuzk_tl_options o;
    struct cuzk_detail d = {{0}};
    cuzk_tl_defaults(&o);
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = cuzk_tl_reader_create(&r, keep, NULL);
    if (st == CUZK_OK) st = cuzk_tl_reader_feed(r, text, n_text);
    if (st == CUZK_OK) st = cuzk_tl_reader_finish(r);
    if (st == CUZK_OK) st = cuzk_tl_analyse(&rep, &runs[0], &o, &d);
    done = st == CUZK_OK;
    cuzk_alloc_fail_at(0);
    assert_true(done || st == CUZK_E_NOMEM);
    cuzk_tl_reader_destroy(&r);
    cuzk_tl_report_clear(&rep);
    drop();
    assert_int_equal(cuzk_alloc_live(), live);
    assert_true(n < 1000);
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vector_a),       cmocka_unit_test(vector_b),          cmocka_unit_test(vector_c),         cmocka_unit_test(vector_d),
      cmocka_unit_test(vector_e),       cmocka_unit_test(several_runs),      cmocka_unit_test(missing_events),   cmocka_unit_test(waits_and_kernels),
      cmocka_unit_test(random_schedules), cmocka_unit_test(memory_fails),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  drop();
  free(text);
  return failed;
}
