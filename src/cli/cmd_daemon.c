/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk daemon, cuzk config: the service itself, and what it is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "daemon/daemon.h"

static void warn(void *user, const char *line) {
  (void)user;
  fprintf(stderr, "warning: %s\n", line);
}

/* The configuration's sources: flags of their own become keys. */
struct source {
  struct cuzk_config_source s;
  const char **set;
  char listen[600], status[600];
};

static enum cuzk_status source_init(struct source *f, struct cli *c) {
  memset(f, 0, sizeof *f);
  f->set = cuzk_calloc(c->n_list + 2, sizeof *f->set);
  if (!f->set) return cuzk_fail(&c->detail, CUZK_E_NOMEM, "no memory for the options");
  const struct {
    enum cli_option option;
    const char *key;
    char *text;
  } flag[] = {{OPT_LISTEN, "daemon.listen", f->listen}, {OPT_STATUS_LISTEN, "daemon.status_listen", f->status}};
  for (size_t i = 0; i < 2; i++) {
    const char *v = c->opt[flag[i].option];
    if (!v) continue;
    if (strlen(v) > 500 || strpbrk(v, "\"\\\n")) return cuzk_fail(&c->detail, CUZK_E_USAGE, "'%s' is no address", v);
    (void)snprintf(flag[i].text, 600, "%s=\"%s\"", flag[i].key, v);
    f->set[f->s.n_set++] = flag[i].text;
  }
  for (unsigned i = 0; i < c->n_list; i++) f->set[f->s.n_set++] = c->list[i];
  f->s.set = f->set;
  f->s.path = c->n_args ? c->arg[0] : c->opt[OPT_CONFIG];
  f->s.lenient = c->opt[OPT_LENIENT] != NULL;
  f->s.warn = warn;
  return CUZK_OK;
}

static enum cuzk_status print_text(struct cli *c, enum cuzk_status st, char *text) {
  if (st != CUZK_OK) return cuzk_fail(&c->detail, st, "no memory for the text");
  (void)fputs(text, stdout);
  cuzk_free(text);
  return CUZK_OK;
}

static enum cuzk_status show(struct cli *c, struct source *f) {
  struct cuzk_config config = {0};
  char *text = NULL;
  enum cuzk_status st = cuzk_config_load(&config, &f->s, &c->detail);
  if (st == CUZK_OK) {
    st = cuzk_config_print(&config, &text);
    st = print_text(c, st, text);
  }
  cuzk_config_clear(&config);
  return st;
}

enum cuzk_status cli_config_show(struct cli *c) {
  struct source f;
  enum cuzk_status st = source_init(&f, c);
  if (st == CUZK_OK) st = show(c, &f);
  cuzk_free(f.set);
  return st;
}

enum cuzk_status cli_config_check(struct cli *c) {
  struct source f;
  struct cuzk_config config = {0};
  enum cuzk_status st = source_init(&f, c);
  if (st == CUZK_OK) st = cuzk_config_load(&config, &f.s, &c->detail);
  if (st == CUZK_OK) {
    if (c->json) st = cli_print_json(c, json_pack("{s:b}", "ok", 1));
    else printf("%s: the configuration is good\n", f.s.path ? f.s.path : CUZK_CONFIG_PATH);
  }
  cuzk_config_clear(&config);
  cuzk_free(f.set);
  return st;
}

enum cuzk_status cli_daemon(struct cli *c) {
  struct source f;
  char *text = NULL;
  enum cuzk_status st = source_init(&f, c);
  if (st != CUZK_OK) goto out;
  if (c->opt[OPT_PRINT_DEFAULTS]) {
    st = cuzk_config_example(&text);
    st = print_text(c, st, text);
  } else if (c->opt[OPT_CHECK_CONFIG]) {
    st = show(c, &f);
  } else {
    struct cuzk_daemon_options o = {.source = f.s, .fake = c->opt[OPT_FAKE] != NULL};
    if (o.fake) {
      char *end = NULL;
      o.fake_speed = strtod(c->opt[OPT_FAKE], &end);
      if (*end || !(o.fake_speed >= 0.01 && o.fake_speed <= 1e6)) {
        st = cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--fake' takes a number from 0.01 to 1000000, not '%s'", c->opt[OPT_FAKE]);
        goto out;
      }
    }
    cuzk_pool_destroy(&c->pool); /* the daemon starts its own threads, with its own signals */
    st = cuzk_daemon_run(&o, &c->detail);
  }
out:
  cuzk_free(f.set);
  return st;
}
