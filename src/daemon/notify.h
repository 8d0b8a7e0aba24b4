/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What a service manager wants to hear (sd_notify's protocol: datagrams to NOTIFY_SOCKET). Without the variable nothing happens. */
#ifndef CUZK_DAEMON_NOTIFY_H
#define CUZK_DAEMON_NOTIFY_H
#include <stdint.h>

/** state: "READY=1", "STOPPING=1", "WATCHDOG=1" ... */
void cuzk_notify(const char *state);
/** Milliseconds within which WATCHDOG=1 must come; 0: no watchdog. */
uint64_t cuzk_notify_watchdog_ms(void);
#endif
