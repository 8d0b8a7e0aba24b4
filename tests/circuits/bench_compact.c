/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time and memory of compact circuits: bench_compact CIRCUIT [outputs] [THREADS]. The witness is made up and has the circuit's shape; its
 * rows need not hold. With outputs the three values of each row are stored, 96 bytes a row. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "made_witness.h"

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct stage {
  double wall, cpu;
};
static struct stage begin(void) { return (struct stage){now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID)}; }
static void end(const char *what, struct stage s) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  printf("%-12s %8.2f s, processor time %8.2f s, peak resident so far %ld KiB\n", what, now(CLOCK_MONOTONIC) - s.wall,
         now(CLOCK_PROCESS_CPUTIME_ID) - s.cpu, u.ru_maxrss);
}

int main(int argc, char **argv) {
  const struct cuzk_circuit *c = cuzk_circuit_find(argc > 1 ? argv[1] : "porep-32gib");
  const bool outputs = argc > 2 && !strcmp(argv[2], "outputs");
  const unsigned workers = argc > 2 + outputs ? (unsigned)atoi(argv[2 + outputs]) : 0;
  static struct made_witness m;
  struct cuzk_pool *pool = NULL;
  struct cuzk_compact *k = NULL;
  struct cuzk_compact_info info;
  struct cuzk_packed p;
  struct cuzk_detail d = {""};
  struct cuzk_shape shape;
  if (!c || !made_fill(&m, c, 1) || cuzk_pool_create(&pool, workers) != CUZK_OK) {
    fprintf(stderr, "no such circuit, or no memory\n");
    return 2;
  }
  struct stage s = begin();
  enum cuzk_status st = cuzk_circuit_compile(&k, c, pool, NULL, &d);
  end("compile", s);
  if (st == CUZK_OK) {
    cuzk_compact_info(&info, k);
    printf("%s: %llu rows, %llu bytes, %u templates\n", info.name, (unsigned long long)info.n_rows,
           (unsigned long long)info.image_bytes, info.n_templates);
    s = begin();
    st = cuzk_compact_shape(&shape, k, &d);
    end("densities", s);
    cuzk_shape_clear(&shape);
  }
  if (st == CUZK_OK) st = cuzk_circuit_assign_packed(c, c->kind == CUZK_KIND_GADGET ? NULL : &m.u, &p, pool, NULL, &d);
  if (st == CUZK_OK) {
    struct cuzk_compact_eval e = {.p = &p, .check = true};
    const size_t bytes = (size_t)info.n_rows * sizeof(cuzk_fr);
    for (int i = 0; i < 3 && outputs; i++) e.abc[i] = cuzk_big_alloc(bytes);
    s = begin();
    if (outputs && (!e.abc[0] || !e.abc[1] || !e.abc[2]))
      st = CUZK_E_NOMEM;
    else
      st = cuzk_compact_evaluate(k, &e, pool, NULL, &d);
    end(outputs ? "evaluate +" : "evaluate", s);
    for (int i = 0; i < 3 && outputs; i++) cuzk_big_free(e.abc[i], bytes);
    cuzk_packed_clear(&p);
  }
  if (st != CUZK_OK) fprintf(stderr, "%s: %s\n", cuzk_status_name(st), d.text);
  cuzk_compact_destroy(&k);
  cuzk_pool_destroy(&pool);
  made_clear(&m);
  return st == CUZK_OK ? 0 : 2;
}
