/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The daemon's log: one line an entry to standard error, each in one write(2), as text or as JSON. Any thread.
 *  Under systemd (JOURNAL_STREAM set) text lines begin with the priority that the journal understands ("<6>") and carry no time. */
#ifndef CUZK_DAEMON_LOG_H
#define CUZK_DAEMON_LOG_H
#include <stdbool.h>

#include "cuzk/status.h"

enum cuzk_log_level { CUZK_LOG_OFF, CUZK_LOG_ERROR, CUZK_LOG_WARN, CUZK_LOG_INFO, CUZK_LOG_DEBUG, CUZK_LOG_TRACE };

/** level: a word, or a filter "word,target=word" of which the part without target counts. False: not understood, unchanged. */
bool cuzk_log_set_level(const char *level);
void cuzk_log_set_json(bool json);
enum cuzk_log_level cuzk_log_level(void);
/** Control characters in the text become escapes, so that no entry forges another. */
void cuzk_log(enum cuzk_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif
