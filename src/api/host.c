/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "api/host.h"

#include <string.h>

#include "base/fail.h"
#include "cuzk_version.h"
#include "store/store.h"

static enum cuzk_status open_recorder(struct cuzk_host *h, const struct cuzk_host_options *o, struct cuzk_detail *d) {
  if (!o->record && !o->timeline_path && o->timeline_fd < 0) return CUZK_OK;
  const struct cuzk_recorder_options r = {.clock = h->clock,
                                          .fd = o->timeline_path ? -1 : o->timeline_fd,
                                          .path = o->timeline_path,
                                          .n_gpus = h->prover.ops->n_devices(h->prover.self),
                                          .workers_per_gpu = o->engine.workers_per_device ? o->engine.workers_per_device : 2,
                                          .version = CUZK_VERSION};
  return cuzk_recorder_create(&h->recorder, &r, d);
}

static enum cuzk_status open_journal(struct cuzk_host *h, const struct cuzk_host_options *o, struct cuzk_detail *d) {
  if (!o->state_dir) return CUZK_OK;
  const struct cuzk_store_options s = {.state_dir = o->state_dir,
                                       .clock = h->clock,
                                       .max_payload_bytes = o->max_payload_bytes,
                                       .report = o->report,
                                       .report_user = o->report_user};
  return cuzk_store_sqlite_open(&h->journal, &s, d);
}

enum cuzk_status cuzk_host_open(struct cuzk_host *h, const struct cuzk_host_options *o, struct cuzk_detail *d) {
  struct cuzk_engine_options e = o->engine;
  enum cuzk_status st;
  memset(h, 0, sizeof *h);
  if (e.memory_total == 0) {
    CUZK_TRY(cuzk_memory_detect(&e.memory_total, "", d));
    e.memory_total -= e.memory_total / 10;
  }
  if (cuzk_clock_real(&h->clock) != CUZK_OK || cuzk_metrics_create(&h->metrics) != CUZK_OK) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for an engine");
    goto out;
  }
  if (o->make_prover) {
    CUZK_TRY(o->make_prover(o->hook_user, h->clock, &h->prover, d));
  } else {
    CUZK_TRY(cuzk_prover_real_create(&h->real, &o->prover, d));
    h->prover = cuzk_prover_real_ops(h->real);
  }
  CUZK_TRY(open_recorder(h, o, d));
  CUZK_TRY(open_journal(h, o, d));
  e.clock = h->clock;
  e.prover = h->prover;
  e.journal = h->journal;
  e.recorder = h->recorder;
  e.metrics = h->metrics;
  if (o->before_engine) CUZK_TRY(o->before_engine(o->hook_user, h, d));
  CUZK_TRY(cuzk_engine_create(&h->engine, &e, d));
out:
  if (st != CUZK_OK) cuzk_host_close(h);
  return st;
}

void cuzk_host_stop(struct cuzk_host *h) {
  if (h->real) cuzk_prover_real_interrupt(h->real);
  cuzk_engine_destroy(&h->engine);
}

void cuzk_host_close(struct cuzk_host *h) {
  cuzk_host_stop(h);
  cuzk_store_close(&h->journal);
  cuzk_recorder_destroy(&h->recorder);
  cuzk_prover_real_destroy(&h->real);
  cuzk_metrics_destroy(&h->metrics);
  cuzk_clock_destroy(&h->clock);
  memset(h, 0, sizeof *h);
}
