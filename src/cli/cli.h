/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The command line program: what its commands share.
 *
 *  A command is one row of the table in main.c and one function. main() reads the options, runs the function, prints what went
 *  wrong and turns the outcome into the exit code: 0 done, 1 the answer is no, else the status table's (64: wrong usage).
 *  Results go to standard output, everything else to standard error. */
#ifndef CUZK_CLI_CLI_H
#define CUZK_CLI_CLI_H
#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/pool.h"
#include "base/progress.h"
#include "cuzk/status.h"
#include "ff/fr.h"

/* identifier, long name, argument ("" for none), help */
#define CLI_OPTION_MAP(X)                                                                                          \
  X(AGAINST, "against", "RECORD", "compare with a record (JSON) and name the first difference; exit 1 if there is one") \
  X(ADDR, "addr", "ADDRESS", "the daemon: unix:///PATH, HOST:PORT, https://HOST:PORT (default: the first that answers)")  \
  X(API, "api", "VERSION", "1.0, 1.1 or 1.2: which parents and challenges (default: that of proofs made today)")     \
  X(BASIS, "basis", "BASIS", "what counts as busy: event, measured, kernel or auto (the default): kernel if the log has it, else event") \
  X(C1, "c1", "FILE", "phase-1 output (JSON), bare or in Curio's wrapper")                                         \
  X(CA, "ca", "FILE", "certificates (PEM) that the daemon's must come from; means TLS")                            \
  X(CERT, "cert", "FILE", "own certificate (PEM) for a daemon that asks for one")                                  \
  X(CHECK_CONFIG, "check-config", "", "read the configuration, print it and stop")                                  \
  X(CLASSIFY, "classify", "HOW", "how gaps are told apart: causal, threshold or auto (the default): by cause where the log shows it") \
  X(CIRCUIT, "circuit", "NAME", "the circuit that the parameters are for")                                         \
  X(COLD_MIN, "cold-min", "MS", "by threshold: gaps from this size are cold start (default 100000)") \
  X(COMPACT, "compact", "FILE", "evaluate by way of this compact circuit (.r1cs), on all threads")                  \
  X(DEVICE, "device", "NAME", "what computes: cpu, cuda:N, or auto (the default): a GPU if there is one")            \
  X(CONCURRENCY, "concurrency", "N", "proofs in flight at once (default 1)")                                       \
  X(CONFIG, "config", "FILE", "configuration (TOML)")                                                               \
  X(COUNT, "count", "N", "how many proofs (default 3)")                                                             \
  X(DURATION, "duration", "SECONDS", "go on for so long instead of a number of proofs")                             \
  X(EPOCH, "epoch", "WHICH", "which of the runs in the file: last (the default), all, or a number from 1") \
  X(EVERY, "every", "SECONDS", "time between two looks (default 1)")                                                \
  X(FAKE, "fake", "SPEED", "prove nothing: stages take the reference's published times divided by SPEED; for trials")  \
  X(FORMAT, "format", "FORMAT", "text (the default), json or csv") \
  X(FROM, "from", "MS", "begin of the window (default: of the run)") \
  X(FULL, "full", "", "check that every point is in the subgroup, too (slow)")                                     \
  X(GPUS, "gpus", "N", "devices (default: as recorded)")                                                           \
  X(GROUP, "group", "g1|g2", "group of the sums (default g1)")                                                     \
  X(HELP, "help", "", "print this help")                                                                           \
  X(JSON, "json", "", "print the result, and errors, as JSON")                                                     \
  X(KEY, "key", "FILE", "private key (PEM) of --cert")                                                              \
  X(LEGACY, "legacy", "", "also print each END to the next START in the order of the log") \
  X(LENIENT, "lenient", "", "unknown keys in the configuration are warnings")                                       \
  X(LINES, "lines", "N", "print so many lines and stop (default: go on)")                                           \
  X(LISTEN, "listen", "ADDRESS", "daemon.listen of the configuration")                                              \
  X(LOG2, "log2", "N", "size of the problem is 2^N")                                                               \
  X(MEMORY, "memory", "GIB", "the memory budget (default: enough for all)")                                        \
  X(META, "meta", "META", "what is known besides the vanilla proofs (JSON): randomness, sectors, commitments")       \
  X(MIX, "mix", "KIND=N/SECONDS,...", "what to submit, such as porep=1/120,window-post=1/1800,winning-post=1/30")      \
  X(MINER, "miner", "N", "the miner's number; with --sector: the replica id must be that of this sector")              \
  X(NO_DIGESTS, "no-digests", "", "read only the lengths, not the points")                                         \
  X(OUT, "out", "FILE", "where the result goes; replaced only when complete")                                      \
  X(OVERHEAD_MAX, "overhead-max", "MS", "by threshold: gaps up to this size are overhead of a call (default 1500)") \
  X(PARAMS, "params", "FILE", "parameter file (default: the circuit's file in the parameter cache)")               \
  X(PARTITION, "partition", "K", "this partition only, counted from 0")                                            \
  X(PEER, "peer", "CMD", "run the other side alternately: CMD WORD LOG2 RUNS")                                     \
  X(PRINT_DEFAULTS, "print-defaults", "", "print every key with its default and documentation and stop")              \
  X(PRIORITY, "priority", "WORD", "low, normal, high or critical (default: the kind's)")                            \
  X(PROGRESS, "progress", "WHEN", "always, never or auto: progress on standard error (default auto: on a terminal)") \
  X(PROOF, "proof", "FILE", "proof: 192 bytes a partition, or JSON")                                               \
  X(QUIET, "quiet", "", "print no progress, timings or notes")                                                     \
  X(RANDOMNESS, "randomness", "JSON", "blinding values r_le, s_le from a file: for tests only")                    \
  X(REGISTERED_PROOF, "registered-proof", "N", "number of the registered proof")                                   \
  X(REQUEST_ID, "request-id", "TEXT", "key of the request: the same text and inputs are the same job (default: a new one)") \
  X(RUNS, "runs", "N", "measurements of each operation (default 5)")                                               \
  X(SCALE, "scale", "STAGE=FACTOR", "a stage takes so many times as long; may be given again")                     \
  X(SCALARS, "scalars", "KIND", "random, bits (half ones) or ones (default random)")                               \
  X(SECTOR, "sector", "N", "the sector's number (with --miner)")                                                   \
  X(SECTOR_NUMBER, "sector-number", "N", "number of the sector, or of the first one (default 1)")                    \
  X(SECTOR_SIZE, "sector-size", "SIZE", "2KiB, 8MiB, 512MiB, 32GiB or 64GiB; 4KiB, 16KiB and 32KiB for tests")         \
  X(SECTORS, "sectors", "N", "how many sectors (default: a full partition)")                                       \
  X(SEED, "seed", "N", "what is drawn follows from this number (default 0)")                                       \
  X(SET, "set", "KEY=VALUE", "a key of the configuration, section.key=value; may be given again")                     \
  X(STATUS_ADDR, "status-addr", "ADDRESS", "the daemon's HTTP endpoint (default 127.0.0.1:9821)")                    \
  X(STATUS_LISTEN, "status-listen", "ADDRESS", "daemon.status_listen of the configuration")                         \
  X(STRICT, "strict", "", "exit 2 if a line was malformed") \
  X(SVG, "svg", "FILE", "draw the run into this file") \
  X(SYNTH, "synth", "N", "syntheses at once (default: as recorded)")                                               \
  X(THREADS, "threads", "N", "threads to use (default: all that the process may use)")                             \
  X(TIMEOUT, "timeout", "SECONDS", "give up after so long (default: never)")                                        \
  X(TO, "to", "MS", "end of the window (default: of the run)") \
  X(TOKEN_FILE, "token-file", "FILE", "file with the bearer token")                                                 \
  X(TOP, "top", "N", "how many of the largest gaps and slowest proofs to list (default 10)") \
  X(TOXIC_WASTE, "toxic-waste", "JSON", "take toxic_waste_le from a file: for tests only")                         \
  X(TRACE, "trace", "FILE", "write the run for Perfetto or chrome://tracing") \
  X(VANILLA, "vanilla", "FILE...", "vanilla proofs in order: bincode records, or JSON lists of base64 strings")       \
  X(VERIFY, "verify", "", "look at the points of each proof here, too")                                               \
  X(VK, "vk", "FILE", "verifying key (a parameter file will do, too)")                                                 \
  X(WARMUP, "warmup", "N", "proofs before the measured ones (default 0)") \
  X(WATERFALL, "waterfall", "", "also draw the run in characters") \
  X(WORKERS_PER_GPU, "workers-per-gpu", "N", "worker W belongs to device W / N (default: as the log says)")

enum cli_option {
#define CLI_X(id, name, arg, help) OPT_##id,
  CLI_OPTION_MAP(CLI_X)
#undef CLI_X
      N_CLI_OPTIONS
};
/** A set of options; there are more than 64. */
__extension__ typedef unsigned __int128 cli_set;
#define CLI_BIT(id) ((cli_set)1 << OPT_##id)
/** Options of every command. */
#define CLI_COMMON (CLI_BIT(HELP) | CLI_BIT(JSON) | CLI_BIT(THREADS) | CLI_BIT(QUIET) | CLI_BIT(PROGRESS))

#define CLI_MAX_STAGES 32
/** Progress on standard error, and what was learnt on the way. Used from the thread that runs the work. */
struct cli_meter {
  bool shown, tty;
  const char *stage;   /* the running one, NULL before the first */
  uint64_t stage_ns, last_ns;
  bool line_open;      /* a bar stands on the terminal's last line */
  uint64_t peak_anon_bytes;
  struct {
    const char *name;
    double seconds;
  } done[CLI_MAX_STAGES];
  unsigned n_done;
};

struct cli {
  const struct cli_command *command;
  const char *opt[N_CLI_OPTIONS]; /* NULL: not given; "" for a flag */
  const char *arg[4];             /* arguments that are not options */
  unsigned n_args;
  const char **list;              /* the files after --vanilla, or the values of --set or --scale, in order; owned */
  unsigned n_list;
  bool json, quiet;
  struct cuzk_pool *pool;
  struct cli_meter meter;
  struct cuzk_progress progress;
  struct cuzk_detail detail;
  bool no;       /* set by a command: done, and the answer is no */
  int exit_code; /* set by a command that has codes of its own */
};

typedef enum cuzk_status cli_run_fn(struct cli *c);

struct cli_command {
  const char *group, *name; /* "params", "generate"; group "" for a command of one word */
  const char *args;         /* as the usage line shows them */
  unsigned min_args, max_args;
  cli_set options, required; /* CLI_COMMON is implied */
  const char *summary;        /* one line */
  const char *text;           /* paragraphs of the help */
  cli_run_fn *run;
};

/** All commands; the last has name NULL. */
extern const struct cli_command cli_commands[];

cli_run_fn cli_params_generate, cli_params_inspect, cli_params_check;
cli_run_fn cli_circuit_list, cli_circuit_digest, cli_circuit_count, cli_circuit_check, cli_circuit_witness;
cli_run_fn cli_circuit_compile, cli_circuit_inspect;
cli_run_fn cli_prove, cli_verify;
cli_run_fn cli_bench_arith, cli_bench_ntt, cli_bench_msm, cli_bench_pairing, cli_bench_prove, cli_bench_gpu;
cli_run_fn cli_synth_porep, cli_synth_files;
cli_run_fn cli_top;
cli_run_fn cli_timeline, cli_timeline_compare, cli_timeline_simulate;
cli_run_fn cli_daemon, cli_config_check, cli_config_show;
cli_run_fn cli_bench_single, cli_bench_batch, cli_bench_stress;
cli_run_fn cli_submit, cli_await, cli_cancel, cli_status, cli_preload, cli_evict, cli_metrics;
cli_run_fn cli_version, cli_help;

/* ---- command.c: options and help ---- */

/** Fills c from the words after the program's name; c->list is the caller's to free. Errors: E_USAGE, E_NOMEM. c->command may be NULL with CUZK_OK: help was asked for. */
enum cuzk_status cli_parse(struct cli *c, int argc, char **argv);
/** Prints help of the program (command NULL) or of one command on standard output. */
void cli_print_help(const struct cli_command *command);
/** Value of a numeric option, fallback if it was not given. Errors: E_USAGE when it is no number in lo .. hi. */
enum cuzk_status cli_number(struct cli *c, enum cli_option o, uint64_t lo, uint64_t hi, uint64_t fallback, uint64_t *out);
/** Finds one of words (ended by NULL) that equals an option's value; 0 if it was not given. Errors: E_USAGE. */
enum cuzk_status cli_choice(struct cli *c, enum cli_option o, const char *const *words, unsigned *out);

/* ---- ui.c: clocks, progress, output ---- */

/** Set once the program was asked to stop. */
const atomic_bool *cli_stop(void);
/** Monotonic time. */
uint64_t cli_now_ns(void);
double cli_seconds_since(uint64_t ns);
/** User and system time of this process and all its threads, seconds. */
double cli_cpu_seconds(void);
/** Anonymous memory of this process now, bytes; 0 where the system does not say. */
uint64_t cli_anon_bytes(void);
/** Sets up c->meter and c->progress from the options; also lets SIGINT, SIGTERM and SIGHUP cancel the work, and ends the program
 *  with a message and the exit code of E_IO when a mapped file is cut short, or its disk fails, while it is used. */
void cli_meter_start(struct cli *c, bool shown, bool tty);
/** Ends the running stage: the line is completed and its time noted. */
void cli_meter_end(struct cli *c);
/** A line on standard error unless --quiet; not shown with --json either. */
void cli_note(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Prints a JSON value and a newline on standard output, keys sorted. Takes the reference. NULL is E_NOMEM. */
enum cuzk_status cli_print_json(struct cli *c, json_t *value);
/** Flushes standard output. Errors: E_NOSPC, E_IO: what was printed did not arrive. */
enum cuzk_status cli_flush(struct cli *c);
/** Prints a failure on standard error, as text or JSON. */
void cli_print_error(bool json, enum cuzk_status s, const char *detail);
/** Seconds and bytes in a form for people: "1.23 s", "84 ms", "1.04 GiB"; text belongs to a small ring of static buffers. */
const char *cli_text_seconds(double s);
const char *cli_text_bytes(uint64_t n);
/** Stages of the meter as an object of seconds. */
json_t *cli_stage_times(const struct cli *c);

/* ---- record.c: JSON files and bytes ---- */

/** jansson's allocator. That library leaves a member out, cuts a string short or takes a document for malformed when memory fails
 *  it: so each failure is remembered, and what was made since is not to be trusted. */
void *cli_json_alloc(size_t bytes);
bool cli_json_starved(void);
/** Parses a JSON file of at most 64 MiB. Errors: E_NOENT, E_IO, E_FORMAT, E_NOMEM. */
enum cuzk_status cli_json_load(json_t **out, const char *path, struct cuzk_detail *d);
/** Can path be written, and is it none of the input files (NULL entries are skipped)? Errors: those of cuzk_outfile_open; E_ARG. */
enum cuzk_status cli_check_out(const char *path, const char *const *inputs, size_t n, struct cuzk_detail *d);
/** Would files written under these names be one file? */
bool cli_same_place(const char *a, const char *b);
/** New JSON string of n bytes in hex. */
json_t *cli_hex(const uint8_t *p, size_t n);
/** New JSON array of n 32-byte digests in hex. */
json_t *cli_digests(const uint8_t *p, size_t n);
/** New JSON string of an element, 32 bytes little-endian, hex. */
json_t *cli_fr_hex(const cuzk_fr *a);
/** Reads a member that is a field element in hex. where names the file. Errors: E_FORMAT. */
enum cuzk_status cli_fr_member(cuzk_fr *out, const json_t *object, const char *key, const char *where, struct cuzk_detail *d);
/** What compare found. */
struct cli_diff {
  json_t *fields;    /* array of {field, ours, record} */
  bool block_found;  /* an entry of the block list differs: */
  size_t block;
};
/** Compares ours with a record: every member of ours that the record has, the arrays named in lists entry by entry (of these
 *  the first difference is kept; block_list is the one that fills block). A member named in must has to be there.
 *  Errors: E_FORMAT, E_NOMEM. */
enum cuzk_status cli_compare(struct cli_diff *out, const json_t *ours, const json_t *record, const char *block_list,
                             const char *must, const char *where, struct cuzk_detail *d);
/** The record itself, or the member of an array of records whose "circuit" is name. Borrowed. Errors: E_FORMAT, E_MISMATCH. */
enum cuzk_status cli_record_pick(json_t **out, json_t *file, const char *name, const char *where, struct cuzk_detail *d);
#endif
