/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The resident service: configuration, log, devices, journal, engine, gRPC, HTTP, signals, service manager (engine specification 4.4, 5.16).
 *  docs/internals/daemon.md. */
#ifndef CUZK_DAEMON_DAEMON_H
#define CUZK_DAEMON_DAEMON_H
#include "daemon/config.h"

struct cuzk_daemon_options {
  struct cuzk_config_source source; /* where the configuration comes from; read again on SIGHUP. warn and user are the daemon's */
  bool fake;          /* a prover that takes the reference's published times and proves nothing, for trials and tests */
  double fake_speed;  /* by which those times are divided; 0: 1 */
  unsigned fake_devices; /* 0: 1 */
};
/** Runs until told to stop (SIGTERM, SIGINT: drain; again: at the next boundary; a third time: at once). To be called from the only thread
 *  of the process. E_OK after an orderly end. Errors: those of the configuration and of every part; what happened later is in the log. */
enum cuzk_status cuzk_daemon_run(const struct cuzk_daemon_options *o, struct cuzk_detail *d);
#endif
