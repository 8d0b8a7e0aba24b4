/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options of the commands: one table of names gives the parser and the help. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"

static const struct {
  const char *name, *arg, *help;
} options[N_CLI_OPTIONS] = {
#define CLI_X(id, name, arg, help) [OPT_##id] = {name, arg, help},
    CLI_OPTION_MAP(CLI_X)
#undef CLI_X
};

static bool takes(const struct cli_command *k, unsigned o) { return (int)((k->options | CLI_COMMON) >> o) & 1; }

/* "usage: cuzk prove porep --c1 FILE --out FILE [options]" */
static void print_usage(const struct cli_command *k) {
  printf("usage: cuzk %s%s%s", k->group, k->group[0] ? " " : "", k->name);
  if (k->args[0]) printf(" %s", k->args);
  for (unsigned o = 0; o < N_CLI_OPTIONS; o++)
    if ((k->required >> o) & 1) printf(" --%s %s", options[o].name, options[o].arg);
  printf(" [options]\n");
}

void cli_print_help(const struct cli_command *command) {
  if (command) {
    print_usage(command);
    printf("\n%s\n\n%s\n\noptions:\n", command->summary, command->text);
    for (unsigned o = 0; o < N_CLI_OPTIONS; o++) {
      if (!takes(command, o)) continue;
      char head[48];
      (void)snprintf(head, sizeof head, "--%s%s%s", options[o].name, options[o].arg[0] ? " " : "", options[o].arg);
      printf("  %-22s %s\n", head, options[o].help);
    }
    return;
  }
  printf("usage: cuzk COMMAND [options]\n\nGroth16 proofs for Filecoin.\n\ncommands:\n");
  for (const struct cli_command *k = cli_commands; k->name; k++) {
    char head[48];
    (void)snprintf(head, sizeof head, "%s%s%s", k->group, k->group[0] ? " " : "", k->name);
    printf("  %-20s %s\n", head, k->summary);
  }
  printf("\ncuzk COMMAND --help tells the options of a command.\n"
         "exit codes: 0 done; 1 the answer is no; 2 argument out of range; 3 malformed or contradictory input;\n"
         "4 out of memory; 5 device failed; 6 file not found, not readable, disk full; 7 cancelled;\n"
         "9 internal error; 64 wrong usage of the command line.\n");
}

static const struct cli_command *find(const char *group, const char *name) {
  for (const struct cli_command *k = cli_commands; k->name; k++)
    if (!strcmp(k->group, group) && !strcmp(k->name, name)) return k;
  return NULL;
}

static bool is_group(const char *word) {
  for (const struct cli_command *k = cli_commands; k->name; k++)
    if (k->group[0] && !strcmp(k->group, word)) return true;
  return false;
}

/* The words of a group, for messages: "generate, inspect, check". */
static void list_group(char *out, size_t n, const char *group) {
  size_t at = 0;
  out[0] = 0;
  for (const struct cli_command *k = cli_commands; k->name; k++)
    if (!strcmp(k->group, group) && at < n)
      at += (size_t)snprintf(out + at, n - at, "%s%s", at ? ", " : "", k->name);
}

static enum cuzk_status pick_command(struct cli *c, int argc, char **argv, int *used) {
  char names[256];
  *used = 1;
  if (argc < 2 || (argc == 2 && !strcmp(argv[1], "--json")))
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "a command is missing; cuzk --help lists them");
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) return CUZK_OK;
  if (argv[1][0] == '-' && strcmp(argv[1], "--version"))
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "options follow the command; cuzk --help lists the commands");
  const char *word = !strcmp(argv[1], "--version") ? "version" : argv[1];
  c->command = find("", word);
  *used = 2;
  if (argc > 2 && find(word, argv[2])) { /* a command that has others of its group */
    c->command = find(word, argv[2]);
    *used = 3;
  }
  if (c->command) return CUZK_OK;
  if (!is_group(word)) return cuzk_fail(&c->detail, CUZK_E_USAGE, "no command '%s'; cuzk --help lists them", word);
  list_group(names, sizeof names, word);
  if (argc < 3) return cuzk_fail(&c->detail, CUZK_E_USAGE, "cuzk %s needs one of: %s", word, names);
  *used = 3;
  if (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h")) {
    /* help of the group's commands, one after the other */
    c->command = find("", "help");
    c->arg[c->n_args++] = word;
    return CUZK_OK;
  }
  c->command = find(word, argv[2]);
  if (!c->command)
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "no command '%s %s'; cuzk %s needs one of: %s", word, argv[2], word, names);
  return CUZK_OK;
}

/* A word that is no option: one of the files after --vanilla, or an argument. */
static enum cuzk_status add_word(struct cli *c, const char *word, bool file) {
  if (file) {
    if (!word[0]) return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--vanilla' has an empty value");
    c->list[c->n_list++] = word;
    return CUZK_OK;
  }
  if (c->n_args >= c->command->max_args) return cuzk_fail(&c->detail, CUZK_E_USAGE, "one argument too many: '%s'", word);
  c->arg[c->n_args++] = word;
  return CUZK_OK;
}

enum cuzk_status cli_parse(struct cli *c, int argc, char **argv) {
  /* known before anything can fail, so that a usage error is already reported as asked */
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
    if (!strcmp(argv[i], "--json")) c->json = true;
  int used;
  enum cuzk_status st = pick_command(c, argc, argv, &used);
  if (st != CUZK_OK || !c->command) return st;

  struct option longs[N_CLI_OPTIONS + 1];
  memset(longs, 0, sizeof longs);
  int n = 0;
  for (int o = 0; o < N_CLI_OPTIONS; o++) {
    if (!takes(c->command, (unsigned)o)) continue;
    longs[n].name = options[o].name;
    longs[n].has_arg = options[o].arg[0] ? required_argument : no_argument;
    longs[n++].val = 256 + o;
  }
  /* getopt wants a program's name in front: the last word of the command stands for it */
  char **rest = argv + used - 1;
  const int n_rest = argc - used + 1;
  bool files = false; /* words that are no options belong to --vanilla */
  opterr = 0;
  optind = 1;
  c->list = cuzk_calloc((size_t)n_rest, sizeof *c->list);
  if (!c->list) return cuzk_fail(&c->detail, CUZK_E_NOMEM, "%d words", n_rest);
  for (int v; (v = getopt_long(n_rest, rest, "-:h", longs, NULL)) != -1;) {
    const int at = optind - 1;
    if (v == 1) {
      st = add_word(c, optarg, files);
      if (st != CUZK_OK) return st;
      continue;
    }
    if (v == 'h') v = 256 + OPT_HELP;
    if (v == ':') return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '%s' needs a value", rest[at]);
    if (v == '?') {
      if (optopt >= 256) return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--%s' takes no value", options[optopt - 256].name);
      return cuzk_fail(&c->detail, CUZK_E_USAGE, "no option '%s' for cuzk %s%s%s", rest[at], c->command->group,
                       c->command->group[0] ? " " : "", c->command->name);
    }
    const int o = v - 256;
    files = o == OPT_VANILLA;
    if ((files || o == OPT_SET || o == OPT_SCALE) && optarg[0]) {
      c->opt[o] = c->list[c->n_list++] = optarg;
      continue;
    }
    if (c->opt[o] && options[o].arg[0])
      return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--%s' is given twice", options[o].name);
    if (options[o].arg[0] && !optarg[0])
      return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--%s' has an empty value", options[o].name);
    c->opt[o] = options[o].arg[0] ? optarg : "";
  }
  c->json = c->opt[OPT_JSON] != NULL;
  c->quiet = c->opt[OPT_QUIET] != NULL;
  if (c->opt[OPT_HELP]) return CUZK_OK;
  for (int i = optind; i < n_rest; i++) {
    st = add_word(c, rest[i], files);
    if (st != CUZK_OK) return st;
  }
  if (c->n_args < c->command->min_args)
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "cuzk %s %s needs %s", c->command->group, c->command->name, c->command->args);
  for (unsigned o = 0; o < N_CLI_OPTIONS; o++)
    if (((c->command->required >> o) & 1) && !c->opt[o])
      return cuzk_fail(&c->detail, CUZK_E_USAGE, "cuzk %s %s needs --%s %s", c->command->group, c->command->name,
                       options[o].name, options[o].arg);
  return CUZK_OK;
}

enum cuzk_status cli_number(struct cli *c, enum cli_option o, uint64_t lo, uint64_t hi, uint64_t fallback, uint64_t *out) {
  const char *s = c->opt[o];
  *out = fallback;
  if (!s) return CUZK_OK;
  uint64_t v = 0;
  bool good = s[0] != 0;
  for (const char *p = s; *p && good; p++) {
    good = *p >= '0' && *p <= '9' && v <= (UINT64_MAX - 9) / 10;
    v = 10 * v + (uint64_t)(*p - '0');
  }
  if (!good || v < lo || v > hi)
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--%s' takes a number from %llu to %llu, not '%s'", options[o].name,
                     (unsigned long long)lo, (unsigned long long)hi, s);
  *out = v;
  return CUZK_OK;
}

enum cuzk_status cli_choice(struct cli *c, enum cli_option o, const char *const *words, unsigned *out) {
  *out = 0;
  if (!c->opt[o]) return CUZK_OK;
  char all[128] = "";
  for (unsigned i = 0; words[i]; i++) {
    if (!strcmp(words[i], c->opt[o])) {
      *out = i;
      return CUZK_OK;
    }
    const size_t at = strlen(all);
    (void)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", words[i]);
  }
  return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--%s' takes one of %s, not '%s'", options[o].name, all, c->opt[o]);
}
