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
/** The series of a family with these labels ("gpu=\"0\",code=\"oom\"", "" for none), made on first use; the family's help and type are those of
 *  its first series. Strings are copied. NULL if out of memory: every update accepts NULL. Histograms use seconds and buckets from 1 ms
 *  to 1 h. Thread safe. */
struct cuzk_series *cuzk_metrics_series(struct cuzk_metrics *m, const char *family, enum cuzk_metric_type type, const char *help,
                                        const char *labels);
void cuzk_series_add(struct cuzk_series *s, double x); /* counter (x >= 0), gauge */
void cuzk_series_set(struct cuzk_series *s, double x); /* gauge */
void cuzk_series_observe(struct cuzk_series *s, double seconds);
double cuzk_series_value(const struct cuzk_series *s); /* histogram: its sum */
uint64_t cuzk_series_count(const struct cuzk_series *s);
/** Writes a label value, escaped, into out; returns out. */
const char *cuzk_metrics_escape(char *out, size_t n, const char *value);
/** The whole text in families' order of creation, to be freed with cuzk_free. collect, if not NULL, is called first to set gauges.
 *  Errors: E_NOMEM. */
enum cuzk_status cuzk_metrics_text(char **out, struct cuzk_metrics *m);
#endif
