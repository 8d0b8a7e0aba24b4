/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The one place that puts clock, recorder, metrics, journal, devices and engine together: for libcuzk, and for the daemon, which adds its
 *  sockets. */
#ifndef CUZK_API_HOST_H
#define CUZK_API_HOST_H
#include "engine/engine.h"
#include "prover/real.h"

struct cuzk_host {
  struct cuzk_clock *clock;
  struct cuzk_recorder *recorder; /* NULL where nothing records */
  struct cuzk_metrics *metrics;
  struct cuzk_prover_real *real;
  struct cuzk_prover prover;
  struct cuzk_journal journal; /* ops NULL: none */
  struct cuzk_engine *engine;
};

/** Zero is a good start, but for engine, which cuzk_engine_defaults fills; its clock, prover, journal, recorder and metrics are set here. */
struct cuzk_host_options {
  struct cuzk_prover_real_options prover;
  struct cuzk_engine_options engine; /* memory_total 0: nine tenths of what the process may use */
  const char *state_dir;             /* NULL: no journal */
  uint64_t max_payload_bytes;        /* of the journal; 0: no limit */
  bool record;                       /* keep events in memory, for live views */
  const char *timeline_path;         /* and append them to this file; NULL: fd counts */
  int timeline_fd;                   /* -1: nowhere */
  /** Another prover than the devices', made over the host's clock; it outlives the engine and is its maker's. NULL: the devices. */
  enum cuzk_status (*make_prover)(void *user, struct cuzk_clock *clock, struct cuzk_prover *out, struct cuzk_detail *d);
  /** Called when all but the engine stands: whoever wants each event sets cuzk_recorder_on_event here. May be NULL. */
  enum cuzk_status (*before_engine)(void *user, struct cuzk_host *h, struct cuzk_detail *d);
  void *hook_user;
  void (*report)(void *user, const char *line); /* what the journal has to tell; may be NULL */
  void *report_user;
};

/** Errors: of the parts. *h is empty then. */
enum cuzk_status cuzk_host_open(struct cuzk_host *h, const struct cuzk_host_options *o, struct cuzk_detail *d);
/** The first half of closing: the engine goes, everything else stays for who still reads the recorder. Kernels that run are interrupted. */
void cuzk_host_stop(struct cuzk_host *h);
/** An empty one is accepted. Stops if need be. */
void cuzk_host_close(struct cuzk_host *h);
#endif
