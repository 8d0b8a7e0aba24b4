/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The configuration: what is accepted must survive being printed and read again, and print the same. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *no_env(const char *name) {
  (void)name;
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  for (int lenient = 0; lenient < 2; lenient++) {
    const struct cuzk_config_source s = {.env = no_env, .lenient = lenient != 0};
    struct cuzk_config c, again;
    struct cuzk_detail d = {{0}};
    const enum cuzk_status st = cuzk_config_parse(&c, (const char *)data, n, "fuzz", &s, &d);
    if (st != CUZK_OK) {
      if (!d.text[0]) abort();
      continue;
    }
    char *text, *second;
    if (cuzk_config_print(&c, &text) != CUZK_OK) abort();
    if (cuzk_config_parse(&again, text, strlen(text), "again", &s, &d) != CUZK_OK) abort();
    if (cuzk_config_print(&again, &second) != CUZK_OK || strcmp(text, second) != 0) abort();
    cuzk_free(text);
    cuzk_free(second);
    cuzk_config_clear(&c);
    cuzk_config_clear(&again);
  }
  /* values on their own, too */
  char text[64];
  if (n >= sizeof text) return 0;
  if (n) memcpy(text, data, n);
  text[n] = 0;
  struct cuzk_size size;
  uint64_t ns;
  struct cuzk_address a;
  if (cuzk_size_parse(&size, text, CUZK_KEY_AUTO | CUZK_KEY_PERCENT)) (void)cuzk_size_bytes(size, UINT64_MAX, 0);
  (void)cuzk_duration_parse(&ns, text);
  (void)cuzk_address_parse(&a, text);
  return 0;
}
