/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "testing.h"
#include "timeline/recorder.h"

static char folder[64];

static void path_in(char *out, size_t n, const char *name) { (void)snprintf(out, n, "%s/%s", folder, name); }

/* The file's text, to be freed. */
static char *slurp(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  long size = ftell(f);
  assert_int_equal(fseek(f, 0, SEEK_SET), 0);
  char *text = malloc((size_t)size + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
  text[size] = 0;
  (void)fclose(f);
  *n = (size_t)size;
  return text;
}

static struct cuzk_clock *virtual_clock(void) {
  struct cuzk_clock *c;
  assert_int_equal(cuzk_clock_virtual(&c), CUZK_OK);
  return c;
}

static struct cuzk_recorder *open_recorder(struct cuzk_clock *c, const char *path, size_t ring) {
  struct cuzk_recorder *r;
  struct cuzk_detail d = {{0}};
  struct cuzk_recorder_options o = {
      .clock = c, .fd = -1, .path = path, .ring = ring, .n_gpus = 2, .workers_per_gpu = 3, .version = "1.2,3 %"};
  assert_int_equal(cuzk_recorder_create(&r, &o, &d), CUZK_OK);
  return r;
}

static void lines_are_as_specified(void **state) {
  (void)state;
  char path[128];
  path_in(path, sizeof path, "plain");
  struct cuzk_clock *c = virtual_clock();
  cuzk_clock_sleep_until(c, 500 * CUZK_MS); /* offset 0 is the recorder's beginning, not the clock's */
  struct cuzk_recorder *r = open_recorder(c, path, 0);
  cuzk_clock_sleep_until(c, 501 * CUZK_MS + 999999);
  cuzk_record(r, CUZK_EV_SYNTH_START, "job 1", "partition=%u,tid=%d,pinned=0", 3, 77);
  cuzk_clock_sleep_until(c, 20 * 86400 * CUZK_SECOND + 500 * CUZK_MS);
  cuzk_record(r, CUZK_EV_GPU_END, "wdpost-1000-0-[1 2]", "worker=1,partition=4,gpu_ms=3733,gpu=0");
  cuzk_record(r, CUZK_EV_DRAIN, NULL, NULL);
  cuzk_record(r, CUZK_EV_STOP, "", NULL);
  cuzk_record(NULL, CUZK_EV_STOP, NULL, NULL);
  assert_int_equal(cuzk_recorder_lost(r), 0);
  assert_int_equal(cuzk_recorder_last(r), 5);

  char want[1024];
  (void)snprintf(want, sizeof want,
                 "TIMELINE,0,EPOCH,-,wall_ms=1767225600500,pid=%ld,version=1.2%%2C3 %%25,gpus=2,workers_per_gpu=3\n"
                 "TIMELINE,1,SYNTH_START,job 1,partition=3,tid=77,pinned=0\n"
                 "TIMELINE,1728000000,GPU_END,wdpost-1000-0-[1 2],worker=1,partition=4,gpu_ms=3733,gpu=0\n"
                 "TIMELINE,1728000000,DRAIN,-,\n"
                 "TIMELINE,1728000000,STOP,-,\n",
                 (long)getpid());
  size_t n;
  char *text = slurp(path, &n);
  assert_string_equal(text, want);
  free(text);

  struct cuzk_event_record e[8];
  uint64_t first = 0;
  assert_int_equal(cuzk_recorder_read(r, 0, e, 8, &first), 5);
  assert_int_equal(first, 1);
  assert_int_equal(e[0].event, CUZK_EV_EPOCH);
  assert_int_equal(e[1].seq, 2);
  assert_int_equal(e[1].t_ns, 501 * CUZK_MS + 999999);
  assert_int_equal(e[1].partition, 3);
  assert_int_equal(e[1].worker, -1);
  assert_int_equal(e[1].gpu, -1);
  assert_string_equal(e[1].job, "job 1");
  assert_string_equal(e[1].details, "partition=3,tid=77,pinned=0");
  assert_int_equal(e[2].worker, 1);
  assert_int_equal(e[2].gpu, 0); /* not gpu_ms */
  assert_int_equal(e[2].partition, 4);
  assert_string_equal(e[3].job, "-");
  assert_string_equal(e[3].details, "");
  assert_int_equal(cuzk_recorder_read(r, 4, e, 8, &first), 1);
  assert_int_equal(cuzk_recorder_read(r, 5, e, 8, &first), 0);
  assert_int_equal(cuzk_recorder_read(r, UINT64_MAX, e, 8, &first), 0);
  assert_int_equal(cuzk_recorder_read(r, 0, e, 2, &first), 2);
  cuzk_recorder_destroy(&r);
  assert_null(r);
  cuzk_recorder_destroy(&r);
  cuzk_clock_destroy(&c);
}

static void every_event_has_its_name(void **state) {
  (void)state;
  assert_string_equal(cuzk_event_name(CUZK_EV_EPOCH), "EPOCH");
  assert_string_equal(cuzk_event_name(CUZK_EV_GPU_QUARANTINE), "GPU_QUARANTINE");
  assert_string_equal(cuzk_event_name(CUZK_EV_STOP), "STOP");
  assert_string_equal(cuzk_event_name(CUZK_N_EVENTS), "UNKNOWN");
}

static void job_ids_cannot_forge_lines(void **state) {
  (void)state;
  char path[128];
  path_in(path, sizeof path, "forged");
  struct cuzk_clock *c = virtual_clock();
  struct cuzk_recorder *r = open_recorder(c, path, 16);
  static const char *const jobs[] = {
      "a\nTIMELINE,0,GPU_END,victim,worker=0,gpu_ms=0",
      "b,worker=9,partition=9",
      "c\r\nTIMELINE,1,JOB_DONE,-,",
      "100%2C%00\x01\x1f\x7f",
      "\xc3\xa4\xe2\x82\xac \xff\xfe",
  };
  static const char *const want[] = {
      "a%0ATIMELINE%2C0%2CGPU_END%2Cvictim%2Cworker=0%2Cgpu_ms=0",
      "b%2Cworker=9%2Cpartition=9",
      "c%0D%0ATIMELINE%2C1%2CJOB_DONE%2C-%2C",
      "100%252C%2500%01%1F%7F",
      "\xc3\xa4\xe2\x82\xac \xff\xfe",
  };
  for (size_t i = 0; i < 5; i++) cuzk_record(r, CUZK_EV_GPU_START, jobs[i], "worker=1");
  /* Control characters do not come through the details either. */
  cuzk_record(r, CUZK_EV_JOB_FAIL, "f", "err=%s", "x\nTIMELINE,5,GPU_END,y,");
  char value[64];
  cuzk_record(r, CUZK_EV_JOB_FAIL, "g", "err=%s,partition=2", cuzk_record_text(value, sizeof value, "no,partition=7\n%"));
  struct cuzk_event_record e;
  uint64_t first;
  assert_int_equal(cuzk_recorder_read(r, 7, &e, 1, &first), 1);
  assert_string_equal(e.details, "err=no%2Cpartition=7%0A%25,partition=2");
  assert_int_equal(e.partition, 2);
  assert_int_equal(cuzk_recorder_read(r, 2, &e, 1, &first), 1);
  assert_int_equal(e.worker, 1);
  assert_int_equal(e.partition, -1);
  cuzk_recorder_destroy(&r);

  size_t n;
  char *text = slurp(path, &n), *save = NULL;
  char *line = strtok_r(text, "\n", &save);
  for (size_t i = 0; i < 5; i++) {
    char whole[256];
    (void)snprintf(whole, sizeof whole, "TIMELINE,0,GPU_START,%s,worker=1", want[i]);
    line = strtok_r(NULL, "\n", &save);
    assert_non_null(line);
    assert_string_equal(line, whole);
  }
  assert_string_equal(strtok_r(NULL, "\n", &save), "TIMELINE,0,JOB_FAIL,f,err=x%0ATIMELINE,5,GPU_END,y,");
  assert_string_equal(strtok_r(NULL, "\n", &save), "TIMELINE,0,JOB_FAIL,g,err=no%2Cpartition=7%0A%25,partition=2");
  assert_null(strtok_r(NULL, "\n", &save));
  free(text);
  cuzk_clock_destroy(&c);
}

static void numbers_are_taken_only_where_they_are_numbers(void **state) {
  (void)state;
  struct cuzk_clock *c = virtual_clock();
  struct cuzk_recorder *r = open_recorder(c, NULL, 16);
  static const struct {
    const char *details;
    int partition, worker, gpu;
  } cases[] = {
      {"partition=1,worker=2,gpu=3", 1, 2, 3}, {"xpartition=1", -1, -1, -1}, {"partition=,worker=x,gpu=1x", -1, -1, -1},
      {"partition=99999999999,gpu=0", -1, -1, 0}, {"monolithic", -1, -1, -1}, {",gpu=4", -1, -1, 4},
      {"partition=5,partition=6", 5, -1, -1}, {"gpus=2,workers_per_gpu=3,worker=-1", -1, -1, -1}, {"partition=1000000000", 1000000000, -1, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cuzk_record(r, CUZK_EV_GPU_START, "j", "%s", cases[i].details);
    struct cuzk_event_record e;
    uint64_t first;
    assert_int_equal(cuzk_recorder_read(r, cuzk_recorder_last(r) - 1, &e, 1, &first), 1);
    assert_int_equal(e.partition, cases[i].partition);
    assert_int_equal(e.worker, cases[i].worker);
    assert_int_equal(e.gpu, cases[i].gpu);
  }
  cuzk_recorder_destroy(&r);
  cuzk_clock_destroy(&c);
}

static void long_texts_are_cut(void **state) {
  (void)state;
  char path[128];
  path_in(path, sizeof path, "long");
  struct cuzk_clock *c = virtual_clock();
  struct cuzk_recorder *r = open_recorder(c, path, 16);
  static char job[9000], details[9000];
  memset(job, ',', sizeof job - 1);
  /* key=value pairs of 8 bytes */
  for (size_t i = 0; i + 8 < sizeof details; i += 8) memcpy(details + i, "k=12345,", 8);
  cuzk_record(r, CUZK_EV_PART_FAIL, job, "%s", details);
  /* one value that does not end, of characters of three bytes, and one of escapes */
  for (size_t i = 0; i + 3 < sizeof details; i += 3) memcpy(details + i, "\xe2\x82\xac", 3);
  cuzk_record(r, CUZK_EV_PART_FAIL, "j", "x%s", details);
  for (size_t i = 0; i + 3 < sizeof details; i += 3) memcpy(details + i, "%2C", 3);
  cuzk_record(r, CUZK_EV_PART_FAIL, "j", "xy%s", details);
  memset(details, '\n', sizeof details - 1);
  cuzk_record(r, CUZK_EV_PART_FAIL, "j", "%s", details);
  cuzk_record(r, CUZK_EV_STOP, NULL, NULL);

  size_t n;
  char *text = slurp(path, &n), *p = strchr(text, '\n') + 1;
  for (unsigned i = 0; i < 5; i++) {
    char *end = strchr(p, '\n');
    assert_non_null(end);
    assert_true((size_t)(end + 1 - p) <= 4096);
    *end = 0;
    char *fields = p;
    unsigned commas = 0;
    while (commas < 4 && *fields) commas += *fields++ == ',';
    assert_int_equal(commas, 4);
    if (i < 4) assert_true(end - p > 3900);
    if (i == 0) {
      assert_int_equal(strspn(p + strlen("TIMELINE,0,PART_FAIL,"), "%2C"), 1023); /* 341 escapes of 3 */
      assert_int_equal(strlen(fields) % 8, 7);                                    /* whole pairs */
      assert_string_equal(end - 7, "k=12345");
    } else if (i == 1) {
      assert_int_equal(strlen(fields) % 3, 1);
    } else if (i == 2) {
      assert_int_equal(strlen(fields) % 3, 2);
    } else if (i == 3) {
      assert_int_equal(strlen(fields) % 3, 0);
      assert_int_equal(strspn(fields, "%0A"), strlen(fields));
    } else {
      assert_string_equal(p, "TIMELINE,0,STOP,-,");
    }
    p = end + 1;
  }
  assert_int_equal(*p, 0);
  free(text);

  struct cuzk_event_record e[4];
  uint64_t first;
  assert_int_equal(cuzk_recorder_read(r, 1, e, 4, &first), 4);
  assert_int_equal(strlen(e[0].job), 63);
  assert_int_equal(strlen(e[0].details), 191 - 191 % 8 - 1);
  assert_int_equal(strlen(e[2].details) % 3, 2);
  cuzk_recorder_destroy(&r);

  char small[6];
  assert_string_equal(cuzk_record_text(small, sizeof small, "abc,def"), "abc");
  assert_string_equal(cuzk_record_text(small, sizeof small, "abc\xe2\x82\xac"), "abc");
  assert_string_equal(cuzk_record_text(small, 1, "abc"), "");
  assert_ptr_equal(cuzk_record_text(small, 0, "abc"), small);
  cuzk_clock_destroy(&c);
}

/* ---- many at once ---- */
enum { WRITERS = 6, EACH = 4000 };
struct writer {
  struct cuzk_recorder *r;
  unsigned i;
  _Atomic unsigned *running;
};
static void *writer(void *v) {
  struct writer *w = v;
  char job[32];
  (void)snprintf(job, sizeof job, "writer,%u", w->i);
  for (unsigned k = 0; k < EACH; k++) cuzk_record(w->r, CUZK_EV_KERNEL_END, job, "worker=%u,gpu=1,partition=%u,h_ms=%u,text=abcdefgh", w->i, k, 3 * k);
  atomic_fetch_sub(w->running, 1);
  return NULL;
}
struct follower {
  struct cuzk_recorder *r;
  _Atomic unsigned *running;
  uint64_t seen, missed;
  bool holes;
};
static void *follower(void *v) {
  struct follower *f = v;
  static struct cuzk_event_record e[300];
  uint64_t next = 1, time = 0;
  for (;;) {
    bool last_round = atomic_load(f->running) == 0;
    uint64_t first;
    size_t n = cuzk_recorder_read(f->r, next - 1, e, 300, &first);
    if (n == 0 && last_round) return NULL;
    if (n == 0) (void)sched_yield();
    for (size_t i = 0; i < n; i++) {
      if (e[i].seq != next) {
        f->holes = f->holes || i > 0 || e[i].seq < first;
        f->missed += e[i].seq - next;
      }
      if (e[i].t_ns < time) f->holes = true;
      time = e[i].t_ns;
      next = e[i].seq + 1;
      f->seen++;
    }
  }
}
static _Atomic unsigned woken;
static void on_event(void *user) {
  (void)user;
  atomic_fetch_add(&woken, 1);
}
static void many_writers_leave_whole_lines_in_order(void **state) {
  (void)state;
  char path[128];
  path_in(path, sizeof path, "many");
  struct cuzk_clock *c;
  assert_int_equal(cuzk_clock_real(&c), CUZK_OK);
  struct cuzk_recorder *r = open_recorder(c, path, 4096);
  cuzk_recorder_on_event(r, on_event, NULL);
  _Atomic unsigned running = WRITERS;
  struct writer w[WRITERS];
  struct follower f = {.r = r, .running = &running};
  pthread_t t[WRITERS], reader;
  assert_int_equal(pthread_create(&reader, NULL, follower, &f), 0);
  for (unsigned i = 0; i < WRITERS; i++) {
    w[i] = (struct writer){r, i, &running};
    assert_int_equal(pthread_create(&t[i], NULL, writer, &w[i]), 0);
  }
  for (unsigned i = 0; i < WRITERS; i++) (void)pthread_join(t[i], NULL);
  (void)pthread_join(reader, NULL);
  assert_false(f.holes);
  assert_int_equal(f.seen + f.missed, WRITERS * EACH + 1);
  assert_int_equal(cuzk_recorder_last(r), WRITERS * EACH + 1);
  assert_int_equal(atomic_load(&woken), WRITERS * EACH);
  cuzk_recorder_destroy(&r);

  size_t n;
  char *text = slurp(path, &n), *save = NULL;
  uint64_t offset = 0;
  unsigned next[WRITERS] = {0}, lines = 0;
  (void)strtok_r(text, "\n", &save);
  for (char *p = strtok_r(NULL, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
    uint64_t at;
    unsigned i, j, k, h;
    int used = 0;
    assert_int_equal(sscanf(p, "TIMELINE,%" SCNu64 ",KERNEL_END,writer%%2C%u,worker=%u,gpu=1,partition=%u,h_ms=%u,text=abcdefgh%n", &at, &i, &j, &k, &h,
                            &used),
                     5);
    assert_int_equal(p[used], 0);
    assert_true(used > 0 && i < WRITERS && i == j);
    assert_int_equal(k, next[i]);
    next[i]++;
    assert_true(at >= offset);
    offset = at;
    lines++;
  }
  assert_int_equal(lines, WRITERS * EACH);
  free(text);
  cuzk_clock_destroy(&c);
}

static void the_ring_forgets_the_oldest_only(void **state) {
  (void)state;
  struct cuzk_clock *c = virtual_clock();
  struct cuzk_recorder *r = open_recorder(c, NULL, 10);
  for (unsigned i = 0; i < 1000; i++) {
    cuzk_record(r, CUZK_EV_GPU_QUEUE, "j", "partition=%u", i);
    struct cuzk_event_record e[32];
    uint64_t first, last = cuzk_recorder_last(r);
    size_t n = cuzk_recorder_read(r, 0, e, 32, &first);
    assert_int_equal(last, i + 2);
    assert_int_equal(first, last > 10 ? last - 9 : 1);
    assert_int_equal(n, last > 10 ? 10 : last);
    for (size_t k = 0; k < n; k++) {
      assert_int_equal(e[k].seq, first + k);
      if (e[k].seq > 1) assert_int_equal(e[k].partition, e[k].seq - 2);
    }
  }
  cuzk_recorder_destroy(&r);
  cuzk_clock_destroy(&c);
}

/* ---- files ---- */
static void a_full_disk_is_counted_and_nothing_else(void **state) {
  (void)state;
  struct cuzk_clock *c = virtual_clock();
  struct cuzk_recorder *r = open_recorder(c, "/dev/full", 16);
  for (unsigned i = 0; i < 5; i++) cuzk_record(r, CUZK_EV_GPU_QUEUE, "j", "partition=%u", i);
  assert_int_equal(cuzk_recorder_lost(r), 6);
  assert_int_equal(cuzk_recorder_last(r), 6);
  cuzk_recorder_destroy(&r);
  cuzk_clock_destroy(&c);
}

static void a_line_cut_by_the_file_does_not_spoil_the_next(void **state) {
  (void)state;
  /* A file that has room for part of a line only. */
  char path[128];
  path_in(path, sizeof path, "limited");
  struct cuzk_clock *c = virtual_clock();
  struct cuzk_recorder *r = open_recorder(c, path, 16);
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  (void)signal(SIGXFSZ, SIG_IGN);
  small = before;
  small.rlim_cur = (rlim_t)s.st_size + 20;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "cut", NULL);
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "lost", NULL);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(cuzk_recorder_lost(r), 2);
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "whole", NULL);
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "next", NULL);
  cuzk_recorder_destroy(&r);
  size_t n;
  char *text = slurp(path, &n);
  assert_string_equal(text + s.st_size, "TIMELINE,0,GPU_QUEUE\nTIMELINE,0,GPU_QUEUE,whole,\nTIMELINE,0,GPU_QUEUE,next,\n");
  free(text);

  /* A pipe that does not block and has room for part of a line only. */
  int p[2];
  assert_int_equal(pipe(p), 0);
  assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
  assert_int_equal(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
  struct cuzk_recorder_options o = {.clock = c, .fd = p[1], .ring = 16, .version = "v"};
  assert_int_equal(cuzk_recorder_create(&r, &o, NULL), CUZK_OK);
  static char big[70000];
  ssize_t k;
  while ((k = write(p[1], big, 1)) > 0) continue;
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "lost", NULL);
  assert_int_equal(cuzk_recorder_lost(r), 1);
  while (read(p[0], big, sizeof big) > 0) continue;
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "seen", NULL);
  k = read(p[0], big, sizeof big - 1);
  assert_true(k > 0);
  big[k] = 0;
  assert_string_equal(big, "TIMELINE,0,GPU_QUEUE,seen,\n");
  assert_int_equal(cuzk_recorder_lost(r), 1);
  cuzk_recorder_destroy(&r);
  (void)close(p[0]);
  (void)close(p[1]);

  /* A run that died within a line. */
  path_in(path, sizeof path, "torn");
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  (void)fputs("TIMELINE,0,EPOCH,-,\nTIMELINE,17,GPU_ST", f);
  (void)fclose(f);
  r = open_recorder(c, path, 16);
  cuzk_recorder_destroy(&r);
  r = open_recorder(c, path, 16);
  cuzk_recorder_destroy(&r);
  text = slurp(path, &n);
  assert_true(strncmp(text, "TIMELINE,0,EPOCH,-,\nTIMELINE,17,GPU_ST\nTIMELINE,0,EPOCH,-,wall_ms=", 66) == 0);
  assert_null(strstr(text, "\n\n"));
  unsigned epochs = 0;
  for (char *q = text; (q = strstr(q, "TIMELINE,0,EPOCH,-,")); q++) epochs++;
  assert_int_equal(epochs, 3);
  free(text);
  cuzk_clock_destroy(&c);
}

static void files_can_be_rotated(void **state) {
  (void)state;
  char path[128], moved[128];
  path_in(path, sizeof path, "rotated");
  path_in(moved, sizeof moved, "rotated.1");
  struct cuzk_clock *c = virtual_clock();
  struct cuzk_recorder *r = open_recorder(c, path, 16);
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "one", NULL);
  assert_int_equal(cuzk_recorder_reopen(r, NULL), CUZK_OK); /* still the same file */
  assert_int_equal(rename(path, moved), 0);
  cuzk_clock_sleep_until(c, 7 * CUZK_MS);
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "two", NULL);
  assert_int_equal(cuzk_recorder_reopen(r, NULL), CUZK_OK);
  cuzk_record(r, CUZK_EV_GPU_QUEUE, "three", NULL);
  size_t n;
  char *text = slurp(moved, &n);
  assert_non_null(strstr(text, "two,\n"));
  assert_null(strstr(text, "three"));
  free(text);
  text = slurp(path, &n);
  assert_true(strncmp(text, "TIMELINE,7,EPOCH,-,wall_ms=1767225600000,", 41) == 0);
  assert_non_null(strstr(text, ",continued=1\nTIMELINE,7,GPU_QUEUE,three,\n"));
  free(text);
  assert_int_equal(cuzk_recorder_last(r), 4); /* the second EPOCH is the file's, not an event */
  cuzk_recorder_destroy(&r);

  struct cuzk_detail d = {{0}};
  struct cuzk_recorder_options o = {.clock = c, .path = "/nonexistent/folder/file"};
  assert_int_equal(cuzk_recorder_create(&r, &o, &d), CUZK_E_NOENT);
  assert_non_null(strstr(d.text, "/nonexistent/folder/file"));
  assert_null(r);
  r = open_recorder(c, NULL, 16);
  assert_int_equal(cuzk_recorder_reopen(r, NULL), CUZK_OK);
  cuzk_recorder_destroy(&r);
  cuzk_clock_destroy(&c);
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  struct cuzk_clock *c = virtual_clock();
  char path[128];
  path_in(path, sizeof path, "nomem");
  struct cuzk_recorder_options o = {.clock = c, .path = path, .ring = 4};
  int64_t live = cuzk_alloc_live();
  for (uint64_t i = 1; i <= 3; i++) {
    struct cuzk_recorder *r;
    cuzk_alloc_fail_at(i);
    assert_int_equal(cuzk_recorder_create(&r, &o, NULL), CUZK_E_NOMEM);
    cuzk_alloc_fail_at(0);
    assert_null(r);
    assert_int_equal(cuzk_alloc_live(), live);
  }
  cuzk_clock_destroy(&c);
}

/* Not a check: what an event costs. */
static void recording_is_cheap(void **state) {
  (void)state;
  char path[128];
  path_in(path, sizeof path, "speed");
  struct cuzk_clock *c;
  assert_int_equal(cuzk_clock_real(&c), CUZK_OK);
  for (unsigned to_file = 0; to_file < 2; to_file++) {
    struct cuzk_recorder *r = open_recorder(c, to_file ? path : NULL, 0);
    struct timespec a, b;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    enum { N = 20000 };
    for (unsigned i = 0; i < N; i++)
      cuzk_record(r, CUZK_EV_GPU_END, "porep-1000-123456", "worker=%u,partition=%u,gpu_ms=%u,gpu=0,lock_wait_ms=%u,kernel_ms=3500,post_ms=700", i & 1,
                  i % 10, i, i);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    printf("# %s: %.0f events a second of CPU time\n", to_file ? "to a file" : "in memory", N / s);
    cuzk_recorder_destroy(&r);
  }
  cuzk_clock_destroy(&c);
}

int main(void) {
  test_seed();
  (void)snprintf(folder, sizeof folder, "/tmp/cuzk-timeline-XXXXXX");
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_as_specified),
      cmocka_unit_test(every_event_has_its_name),
      cmocka_unit_test(job_ids_cannot_forge_lines),
      cmocka_unit_test(numbers_are_taken_only_where_they_are_numbers),
      cmocka_unit_test(long_texts_are_cut),
      cmocka_unit_test(many_writers_leave_whole_lines_in_order),
      cmocka_unit_test(the_ring_forgets_the_oldest_only),
      cmocka_unit_test(a_full_disk_is_counted_and_nothing_else),
      cmocka_unit_test(a_line_cut_by_the_file_does_not_spoil_the_next),
      cmocka_unit_test(files_can_be_rotated),
      cmocka_unit_test(failed_allocations_are_reported),
      cmocka_unit_test(recording_is_cheap),
  };
  int64_t live = cuzk_alloc_live();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  static const char *const files[] = {"plain", "forged", "long", "many", "torn", "rotated", "rotated.1", "nomem", "speed", "limited"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char path[128];
    path_in(path, sizeof path, files[i]);
    (void)unlink(path);
  }
  (void)rmdir(folder);
  return failed || cuzk_alloc_live() != live;
}
