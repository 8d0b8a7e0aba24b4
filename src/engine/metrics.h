/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Counters, gauges and histograms, and their Prometheus text (engine specification 2.10). Series are made once and then updated without
 *  locks; reading never stops writers. */
#ifndef CUZK_ENGINE_METRICS_H
#define CUZK_ENGINE_METRICS_H
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

struct cuzk_metrics;
struct cuzk_series;
enum cuzk_metric_type { CUZK_COUNTER, CUZK_GAUGE, CUZK_HISTOGRAM };

enum cuzk_status cuzk_metrics_create(struct cuzk_metrics **out);
void cuzk_metrics_destroy(struct cuzk_metrics **m);
/** The series of a family with these labels ("gpu=\"0\",code=\"oom\"", "" or NULL for none), made on first use; the family's help and type
 *  are those of its first series. Strings are copied; label values are already escaped (cuzk_metrics_escape). NULL if out of memory, m
 *  is NULL, or a name or the labels do not follow the text format: every update accepts NULL. Histograms use seconds and buckets from
 *  1 ms to 1 h; a value over that is in +Inf only. Thread safe; a series that is there already is found without a lock. */
struct cuzk_series *cuzk_metrics_series(struct cuzk_metrics *m, const char *family, enum cuzk_metric_type type, const char *help,
                                        const char *labels);
void cuzk_series_add(struct cuzk_series *s, double x); /* counter (x >= 0), gauge */
void cuzk_series_set(struct cuzk_series *s, double x); /* gauge */
void cuzk_series_observe(struct cuzk_series *s, double seconds);
double cuzk_series_value(const struct cuzk_series *s); /* histogram: its sum */
uint64_t cuzk_series_count(const struct cuzk_series *s);
/** Writes a label value, escaped, into out, cut to fit at a whole character, bytes that are not UTF-8 as '?'; returns out. */
const char *cuzk_metrics_escape(char *out, size_t n, const char *value);
/** The whole text (Prometheus text format 0.0.4) in families' order of creation, to be freed with cuzk_free. Gauges are as they were last
 *  set: cuzk_engine_metrics_text refreshes the engine's first. Errors: E_NOMEM. */
enum cuzk_status cuzk_metrics_text(char **out, struct cuzk_metrics *m);
#endif
