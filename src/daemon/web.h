/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The dashboard: static files built into the program, for "/" of the HTTP endpoint. They load nothing from elsewhere and forbid themselves
 *  to (Content-Security-Policy). Sources in src/daemon/web. Tests: tests/web, daemon/test_web.c. */
#ifndef CUZK_DAEMON_WEB_H
#define CUZK_DAEMON_WEB_H
#include "daemon/http.h"

/** Adds the files to the endpoint, with etags of their contents. Before cuzk_http_start. Errors: those of cuzk_http_add. */
enum cuzk_status cuzk_web_add(struct cuzk_http *h);
#endif
