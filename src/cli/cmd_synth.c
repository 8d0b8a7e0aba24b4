/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk synth KIND */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/cli.h"
#include "synth/synth.h"

/* Files of one run, as they are written. */
struct output {
  const char *folder;
  size_t n_files;
  uint64_t n_bytes;
};

static enum cuzk_status write_file(void *user, const char *name, const void *p, size_t n, struct cuzk_detail *d) {
  struct output *o = user;
  const size_t n_path = strlen(o->folder) + strlen(name) + 2;
  char *path = cuzk_malloc(n_path);
  if (!path) return cuzk_fail(d, CUZK_E_NOMEM, "the path of %s", name);
  (void)snprintf(path, n_path, "%s/%s", o->folder, name);
  const enum cuzk_status st = cuzk_file_write(path, p, n, d);
  cuzk_free(path);
  o->n_files++;
  o->n_bytes += n;
  return st;
}

/* Sizes by their names in registered proofs. */
static enum cuzk_status sector_size(struct cli *c, uint64_t *out) {
  static const struct {
    const char *name;
    uint64_t bytes;
  } sizes[] = {{"2KiB", UINT64_C(2) << 10}, {"4KiB", UINT64_C(4) << 10},     {"16KiB", UINT64_C(16) << 10}, {"32KiB", UINT64_C(32) << 10},
               {"8MiB", UINT64_C(8) << 20}, {"512MiB", UINT64_C(512) << 20}, {"32GiB", UINT64_C(32) << 30}, {"64GiB", UINT64_C(64) << 30}};
  const char *word = c->opt[OPT_SECTOR_SIZE];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (!strcmp(word, sizes[i].name)) {
      *out = sizes[i].bytes;
      return CUZK_OK;
    }
  }
  return cuzk_fail(&c->detail, CUZK_E_USAGE, "--sector-size %s: expected 2KiB, 4KiB, 16KiB, 32KiB, 8MiB, 512MiB, 32GiB or 64GiB", word);
}

static enum cuzk_status options(struct cli *c, struct cuzk_synth *o) {
  static const char *const apis[] = {"1.0", "1.1", "1.2", NULL};
  enum cuzk_status st;
  uint64_t sectors, partition;
  unsigned api = 0;
  *o = (struct cuzk_synth){.partition = -1};
  CUZK_TRY(sector_size(c, &o->sector_bytes));
  CUZK_TRY(cli_number(c, OPT_SEED, 0, INT64_MAX, 0, &o->seed));
  CUZK_TRY(cli_number(c, OPT_MINER, 0, INT64_MAX, 1000, &o->miner));
  CUZK_TRY(cli_number(c, OPT_SECTOR_NUMBER, 0, INT64_MAX, 1, &o->sector_number));
  CUZK_TRY(cli_number(c, OPT_SECTORS, 1, 1000000, 0, &sectors));
  CUZK_TRY(cli_number(c, OPT_PARTITION, 0, 1000, UINT64_MAX, &partition));
  if (c->opt[OPT_API]) {
    CUZK_TRY(cli_choice(c, OPT_API, apis, &api));
    o->api_major_minor = 0x0100 + api;
  }
  o->n_sectors = (unsigned)sectors;
  if (partition != UINT64_MAX) o->partition = (int)partition;
out:
  return st;
}

/* What was written, for people or programs. */
static enum cuzk_status report(struct cli *c, const struct output *o) {
  if (c->json) {
    return cli_print_json(c, json_pack("{s:s, s:s, s:I, s:I}", "kind", c->command->name, "out", c->opt[OPT_OUT], "files",
                                       (json_int_t)o->n_files, "bytes", (json_int_t)o->n_bytes));
  }
  printf("%zu file%s, %s, written to %s\n", o->n_files, o->n_files == 1 ? "" : "s", cli_text_bytes(o->n_bytes), c->opt[OPT_OUT]);
  return CUZK_OK;
}

enum cuzk_status cli_synth_porep(struct cli *c) {
  struct cuzk_synth o;
  char *text = NULL;
  size_t n = 0;
  enum cuzk_status st;
  CUZK_TRY(options(c, &o));
  CUZK_TRY(cuzk_synth_porep(&text, &n, &o, c->pool, &c->detail));
  CUZK_TRY(cuzk_file_write(c->opt[OPT_OUT], text, n, &c->detail));
  st = report(c, &(struct output){NULL, 1, n});
out:
  cuzk_free(text);
  return st;
}

/* The kinds of several files, into a folder that is made if it is not there. */
enum cuzk_status cli_synth_files(struct cli *c) {
  struct cuzk_synth o;
  struct output out = {c->opt[OPT_OUT], 0, 0};
  enum cuzk_status st;
  CUZK_TRY(options(c, &o));
  if (mkdir(out.folder, 0777) != 0 && errno != EEXIST) return cuzk_fail_errno(&c->detail, errno, "%s: cannot be made", out.folder);
  if (!strcmp(c->command->name, "snap"))
    st = cuzk_synth_update(&o, c->pool, write_file, &out, &c->detail);
  else
    st = cuzk_synth_post(!strcmp(c->command->name, "window-post") ? CUZK_KIND_WINDOW : CUZK_KIND_WINNING, &o, c->pool, write_file, &out,
                         &c->detail);
  if (st == CUZK_OK) st = report(c, &out);
out:
  return st;
}
