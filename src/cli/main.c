/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "cli/cli.h"
#include "cli/remote.h"
#include "cuzk_version.h"

/* ---- what the rows of several kinds of proofs share ---- */

#define STATEMENT_OPTIONS (CLI_BIT(META) | CLI_BIT(VANILLA))
#define WITNESS_OPTIONS (CLI_BIT(C1) | STATEMENT_OPTIONS | CLI_BIT(PARTITION))
#define PROVE_OPTIONS (CLI_BIT(DEVICE) | CLI_BIT(PARAMS) | CLI_BIT(OUT) | CLI_BIT(RANDOMNESS) | CLI_BIT(PARTITION))
#define VERIFY_OPTIONS (CLI_BIT(VK) | CLI_BIT(PROOF) | CLI_BIT(PARTITION))

#define PROVE_TEXT                                                                                                          \
  "verifies the proofs and writes them: 192 bytes a partition, or with --json an object (a list of objects for several\n"    \
  "partitions) with proof, public_inputs_le and verifying_key.\n"                                                           \
  "Without --params the file is looked for in the parameter cache: the folder that FIL_PROOFS_PARAMETER_CACHE names, else\n" \
  "/var/tmp/filecoin-proof-parameters. --randomness takes r_le and s_le from an object or a list of objects, one a\n"       \
  "partition; partitions beyond the list get fresh values. A proof made with known values hides nothing.\n"                 \
  "An existing file at --out is replaced when the new proof is complete, and only then."
#define META_TEXT                                                                                                           \
  "META is an object with what is known besides the vanilla proofs: randomness and sectors, or the three commitments of an\n" \
  "update; its members are those of a fixture's .meta.json. What is there must agree with the vanilla proofs. A sector size\n" \
  "that is 0 or left out follows from the vanilla proofs.\n"
#define VERIFY_META_TEXT                                                                                                    \
  "Verifies the proofs of all partitions that META states, or of partition K alone. The public inputs follow from META; with\n" \
  "--vanilla what it leaves out (sectors, their size) is taken from the vanilla proofs, and what it says is compared.\n"
#define VERIFY_TEXT                                                                                                         \
  "The proof file is either raw, 192 bytes a partition, or JSON as prove writes it. Exit 1 with the reason if a proof is not\n" \
  "valid: it does not hold, a point is not on the curve, not in the subgroup, at infinity or not canonically encoded, or the\n" \
  "public inputs are others."

#define SYNTH_OPTIONS (CLI_BIT(SECTOR_SIZE) | CLI_BIT(SEED) | CLI_BIT(MINER) | CLI_BIT(SECTOR_NUMBER) | CLI_BIT(OUT))
#define SYNTH_TEXT                                                                                                          \
  "The shown part of the sector's trees is computed, what nobody sees is drawn: it passes every check and satisfies the\n"   \
  "circuit, but neither a sector nor data is behind it. The same options give the same bytes. Miner 1000 unless told."

#define TIMELINE_OPTIONS (CLI_BIT(BASIS) | CLI_BIT(CLASSIFY) | CLI_BIT(OVERHEAD_MAX) | CLI_BIT(COLD_MIN) | CLI_BIT(WORKERS_PER_GPU))

#define CONFIG_OPTIONS (CLI_BIT(CONFIG) | CLI_BIT(LISTEN) | CLI_BIT(STATUS_LISTEN) | CLI_BIT(LENIENT) | CLI_BIT(SET))
#define REQUEST_OPTIONS \
  (CLI_BIT(C1) | STATEMENT_OPTIONS | CLI_BIT(MINER) | CLI_BIT(SECTOR) | CLI_BIT(PARTITION) | CLI_BIT(REGISTERED_PROOF) | CLI_BIT(PRIORITY))
#define REQUEST_TEXT                                                                                                        \
  "KIND is porep (--c1 FILE), winning-post, window-post or snap (--meta META --vanilla FILE...). Miner 1000 and sector 1 unless told;\n" \
  "the registered proof follows from the inputs if they say so, else from the sector's size."

const struct cli_command cli_commands[] = {
    {"", "daemon", "", 0, 0, CONFIG_OPTIONS | CLI_BIT(CHECK_CONFIG) | CLI_BIT(PRINT_DEFAULTS) | CLI_BIT(FAKE), 0, "serve proofs over gRPC",
     "Runs until SIGTERM or SIGINT: then no new jobs are taken, running ones are finished and the rest stays in the journal for the next\n"
     "start; a second signal stops at the next partition, a third at once. SIGHUP reads the configuration again and reopens the\n"
     "timeline, SIGUSR1 logs queues and memory. Without --config the file is /data/zk/cuzk.toml, which may be absent. The command line wins\n"
     "over the environment (CUZK_LOG, CUZK_GPU_THREADS, FIL_PROOFS_PARAMETER_CACHE), that over the file. docs/config.md has all keys.",
     cli_daemon},
    {"config", "check", "[FILE]", 0, 1, CONFIG_OPTIONS, 0, "is the daemon's configuration good?",
     "Reads the configuration as the daemon would and says what is wrong: file, line, key and remedy.", cli_config_check},
    {"config", "show", "[FILE]", 0, 1, CONFIG_OPTIONS, 0, "print the effective configuration",
     "Prints every key with the value that the daemon would use, as TOML that reads back to the same.", cli_config_show},
    {"", "submit", "KIND", 1, 1, REMOTE_OPTIONS | REQUEST_OPTIONS | CLI_BIT(REQUEST_ID), 0, "hand a proof request to the daemon",
     "Prints the job's id once the daemon has accepted and stored it.\n" REQUEST_TEXT, cli_submit},
    {"", "await", "JOB", 1, 1, REMOTE_OPTIONS | CLI_BIT(OUT), 0, "wait for a job of the daemon",
     "Waits until the job has ended, or for --timeout seconds, and prints its result and where its time went; --out gets the proof.\n"
     "Exit 1 if the job failed, was cancelled, or goes on.",
     cli_await},
    {"", "cancel", "JOB", 1, 1, REMOTE_OPTIONS, 0, "cancel a job of the daemon",
     "A queued job is dropped, a running one stops at the next boundary of its partitions.", cli_cancel},
    {"", "status", "", 0, 0, REMOTE_OPTIONS, 0, "what the daemon is doing", "Prints devices, parameters and queues.", cli_status},
    {"", "preload", "CIRCUIT", 1, 1, REMOTE_OPTIONS, 0, "load a circuit's parameters in the daemon",
     "CIRCUIT is an id of the protocol, such as porep-32g. Returns when they are loaded.", cli_preload},
    {"", "evict", "CIRCUIT", 1, 1, REMOTE_OPTIONS, 0, "drop a circuit's parameters in the daemon",
     "Gives their memory back, unless jobs use them.", cli_evict},
    {"", "metrics", "", 0, 0, REMOTE_OPTIONS, 0, "print the daemon's metrics", "Prints them in Prometheus' text format.", cli_metrics},
    {"params", "generate", "NAME", 1, 1, CLI_BIT(TOXIC_WASTE) | CLI_BIT(OUT) | CLI_BIT(VK) | CLI_BIT(AGAINST) | CLI_BIT(DEVICE), CLI_BIT(OUT),
     "make proving parameters of a circuit",
     "Makes the parameter file of circuit NAME, byte for byte what bellperson makes of the same toxic waste. Without\n"
     "--toxic-waste the waste is drawn from the operating system and forgotten. Such parameters are for tests and\n"
     "measurements: whoever made them could have kept the waste, and could forge proofs with it.\n"
     "--vk also writes the verifying key as a file of its own. The files are replaced only when complete. The bytes do not\n"
     "depend on --device.",
     cli_params_generate},
    {"params", "inspect", "FILE", 1, 1, CLI_BIT(NO_DIGESTS) | CLI_BIT(AGAINST), 0,
     "print counts, offsets and digests of a parameter file",
     "Prints where each section of the parameter file starts, how many points it has and their SHA-256, and the file's\n"
     "SHA-256 and the digest that parameters.json lists (the first 16 bytes of BLAKE2b-512).",
     cli_params_inspect},
    {"params", "check", "FILE", 1, 1, CLI_BIT(FULL) | CLI_BIT(CIRCUIT), 0, "check a parameter file",
     "Checks the lengths, the verifying key (curve, subgroup, no identity) and that every point of every section is on the\n"
     "curve and not the identity; with --full also that each is in the subgroup. With --circuit NAME also that the section\n"
     "lengths are those of that circuit.",
     cli_params_check},
    {"circuit", "list", "", 0, 0, 0, 0, "list the circuits",
     "Prints every circuit and gadget that the other commands know by name.", cli_circuit_list},
    {"circuit", "digest", "NAME", 1, 1, CLI_BIT(AGAINST), 0, "digest of a circuit's constraints",
     "Prints counts, densities and the digest of the constraint system of a circuit or gadget. With --against RECORD the\n"
     "record's members are compared; the first block of 65,536 constraints that differs is named with the regions of the\n"
     "circuit that it spans. RECORD may be a list of records: the one whose \"circuit\" is NAME is taken.",
     cli_circuit_digest},
    {"circuit", "count", "NAME", 1, 1, 0, 0, "count a circuit's constraints and variables",
     "Prints the numbers of constraints, variables, non-zero coefficients and the densities; computes no digest.",
     cli_circuit_count},
    {"circuit", "compile", "NAME", 1, 1, CLI_BIT(OUT), CLI_BIT(OUT), "write a circuit in compact form (.r1cs)",
     "Finds the templates that the constraint system of circuit NAME is made of, and writes them with the counts, densities and\n"
     "digest of the whole: some megabytes for a 32 GiB sector's 130 million constraints.",
     cli_circuit_compile},
    {"circuit", "inspect", "FILE", 1, 1, 0, 0, "describe a .r1cs file",
     "Prints counts, densities and digest as stored, and the templates: constraints with and without those of the templates\n"
     "they use, externals, how often they occur in the circuit, and where first.",
     cli_circuit_inspect},
    {"circuit", "check", "KIND|FILE", 1, 1, WITNESS_OPTIONS | CLI_BIT(COMPACT) | CLI_BIT(AGAINST), 0, "test every constraint on a witness",
     "KIND is porep with --c1 FILE, or winning-post, window-post or snap with --meta META --vanilla FILE...: evaluates every\n"
     "constraint of each partition (or of partition K) on the witness that the inputs give, and names the first constraint\n"
     "that does not hold and its region. KIND may also be a gadget's name. Exit 1 if a constraint does not hold. With --compact\n"
     "FILE the constraints come from a .r1cs file. A FILE (FILE.r1cs, or a path with a /) in place of KIND is checked itself:\n"
     "structure, checksum, and that its expansion has the digest stored; with --against RECORD that of a record, too.",
     cli_circuit_check},
    {"circuit", "witness", "KIND", 1, 1, WITNESS_OPTIONS | CLI_BIT(AGAINST), 0, "digests of a partition's witness",
     "KIND is porep with --c1 FILE, or winning-post, window-post or snap with --meta META --vanilla FILE...; --partition K picks\n"
     "one of several. Prints public inputs and digests of the private values and of the constraints' values. With --against\n"
     "RECORD the first block of 65,536 values that differs is named with the regions of the circuit that it spans. KIND may\n"
     "also be a gadget's name.",
     cli_circuit_witness},
    {"prove", "porep", "", 0, 0, CLI_BIT(C1) | CLI_BIT(MINER) | CLI_BIT(SECTOR) | PROVE_OPTIONS, CLI_BIT(C1) | CLI_BIT(OUT),
     "prove a sealed sector (PoRep, phase 2)",
     "Checks the phase-1 output (JSON, bare or in Curio's wrapper, a proof sharing request, or bincode), proves each partition,\n"
     PROVE_TEXT,
     cli_prove},
    {"prove", "winning-post", "", 0, 0, STATEMENT_OPTIONS | PROVE_OPTIONS, CLI_BIT(META) | CLI_BIT(VANILLA) | CLI_BIT(OUT),
     "prove a sector for a block (WinningPoSt)",
     "Checks the sector's vanilla proof, turns its 66 challenges into one proof,\n" PROVE_TEXT "\n" META_TEXT,
     cli_prove},
    {"prove", "window-post", "", 0, 0, STATEMENT_OPTIONS | PROVE_OPTIONS, CLI_BIT(META) | CLI_BIT(VANILLA) | CLI_BIT(OUT),
     "prove a deadline's sectors (WindowPoSt)",
     "Checks the vanilla proofs, one a sector; cuts them into partitions, the last one filled up with its last sector; proves each,\n"
     PROVE_TEXT "\n" META_TEXT,
     cli_prove},
    {"prove", "snap", "", 0, 0, STATEMENT_OPTIONS | PROVE_OPTIONS, CLI_BIT(META) | CLI_BIT(OUT),
     "prove a sector's update (SnapDeals)",
     "Checks the vanilla proofs, one a partition, in order; proves each,\n" PROVE_TEXT "\n" META_TEXT
     "META may also be a proof sharing request, which holds the vanilla proofs itself: then --vanilla is left out.",
     cli_prove},
    {"verify", "porep", "", 0, 0, CLI_BIT(C1) | VERIFY_OPTIONS, CLI_BIT(C1) | CLI_BIT(VK) | CLI_BIT(PROOF), "verify a PoRep proof",
     "Verifies the proofs of all partitions of the phase-1 output, or of partition K alone.\n" VERIFY_TEXT, cli_verify},
    {"verify", "winning-post", "", 0, 0, STATEMENT_OPTIONS | VERIFY_OPTIONS, CLI_BIT(META) | CLI_BIT(VK) | CLI_BIT(PROOF),
     "verify a WinningPoSt proof", VERIFY_META_TEXT VERIFY_TEXT, cli_verify},
    {"verify", "window-post", "", 0, 0, STATEMENT_OPTIONS | VERIFY_OPTIONS, CLI_BIT(META) | CLI_BIT(VK) | CLI_BIT(PROOF),
     "verify a WindowPoSt proof", VERIFY_META_TEXT VERIFY_TEXT, cli_verify},
    {"verify", "snap", "", 0, 0, STATEMENT_OPTIONS | VERIFY_OPTIONS, CLI_BIT(META) | CLI_BIT(VK) | CLI_BIT(PROOF),
     "verify a sector update's proof", VERIFY_META_TEXT VERIFY_TEXT, cli_verify},
    {"synth", "porep", "", 0, 0, SYNTH_OPTIONS | CLI_BIT(API), CLI_BIT(SECTOR_SIZE) | CLI_BIT(OUT),
     "make a phase-1 output of no sector",
     "Writes the C1 output (JSON) of an interactive PoRep, all partitions, in the bytes of the reference's API.\n" SYNTH_TEXT,
     cli_synth_porep},
    {"synth", "winning-post", "", 0, 0, SYNTH_OPTIONS, CLI_BIT(SECTOR_SIZE) | CLI_BIT(OUT),
     "make a WinningPoSt vanilla proof of no sector",
     "Writes winning-N.vanilla.bin and winning.meta.json into folder --out.\n" SYNTH_TEXT, cli_synth_files},
    {"synth", "window-post", "", 0, 0, SYNTH_OPTIONS | CLI_BIT(SECTORS) | CLI_BIT(API), CLI_BIT(SECTOR_SIZE) | CLI_BIT(OUT),
     "make WindowPoSt vanilla proofs of no sectors",
     "Writes window-N.vanilla.bin of each sector and window.meta.json into folder --out.\n" SYNTH_TEXT, cli_synth_files},
    {"synth", "snap", "", 0, 0, SYNTH_OPTIONS | CLI_BIT(PARTITION), CLI_BIT(SECTOR_SIZE) | CLI_BIT(OUT),
     "make SnapDeals vanilla proofs of no sector",
     "Writes update.pK.vanilla.bin of each partition (or of partition K alone) and update.meta.json into folder --out.\n" SYNTH_TEXT,
     cli_synth_files},
    {"bench", "arith", "", 0, 0, CLI_BIT(RUNS) | CLI_BIT(PEER), 0, "measure field and point arithmetic",
     "Chains of dependent operations on one thread: products, squares, sums and inversions of both fields, additions and\n"
     "doublings of both groups. Times are of one operation.",
     cli_bench_arith},
    {"bench", "ntt", "", 0, 0, CLI_BIT(LOG2) | CLI_BIT(RUNS) | CLI_BIT(PEER), 0, "measure number-theoretic transforms",
     "Forward, inverse and coset transforms of 2^N elements (default 20) on all threads.", cli_bench_ntt},
    {"bench", "msm", "", 0, 0, CLI_BIT(LOG2) | CLI_BIT(GROUP) | CLI_BIT(SCALARS) | CLI_BIT(RUNS) | CLI_BIT(PEER), 0,
     "measure multi-scalar multiplication",
     "Sum of 2^N scalar multiples (default 20 for g1, 16 for g2) on all threads. The points are the consecutive multiples of a\n"
     "random one: all distinct.",
     cli_bench_msm},
    {"bench", "pairing", "", 0, 0, CLI_BIT(RUNS) | CLI_BIT(PEER), 0, "measure the pairing", "One optimal ate pairing.",
     cli_bench_pairing},
    {"bench", "gpu", "", 0, 0, CLI_BIT(DEVICE) | CLI_BIT(LOG2), 0, "measure the kernels of a CUDA device",
     "Rates of field arithmetic and copies, transforms, sums, multiples and decoding up to 2^N elements (default and at most\n"
     "27; 16 at least), each beside its floor: what the device's multipliers or its memory need for it at the least.",
     cli_bench_gpu},
    {"bench", "prove", "[KIND]", 0, 1, WITNESS_OPTIONS | CLI_BIT(DEVICE) | CLI_BIT(PARAMS) | CLI_BIT(RUNS) | CLI_BIT(PEER), 0,
     "measure a whole proof",
     "KIND is porep (the default) with --c1 FILE, or winning-post, window-post or snap with --meta META --vanilla FILE...: reads and\n"
     "checks the inputs and proves one partition (default 0) as prove does, writing nothing; times of each stage (default one\n"
     "run).",
     cli_bench_prove},
    {"", "top", "", 0, 0, CLI_BIT(EVERY) | CLI_BIT(LINES) | CLI_BIT(STATUS_ADDR), 0, "watch a running daemon",
     "Jobs with age and stage, what each device worker does and has done, queue, memory and parameters, live from the daemon's\n"
     "HTTP endpoint. In a terminal a page of them (h explains the keys); in a pipe, or with --lines, a line at a time; with --json\n"
     "the endpoint's /status.",
     cli_top},
    {"", "timeline", "FILE", 1, 1, TIMELINE_OPTIONS | CLI_BIT(EPOCH) | CLI_BIT(FROM) | CLI_BIT(TO) | CLI_BIT(TOP) | CLI_BIT(FORMAT) | CLI_BIT(LEGACY) | CLI_BIT(STRICT) |
         CLI_BIT(WATERFALL) | CLI_BIT(SVG) | CLI_BIT(TRACE), 0,
     "where did the time go: busy spans and gaps of a log",
     "Reads a daemon's log with TIMELINE lines (- is standard input), the reference's too, and prints how busy each device and worker was, every\n"
     "kind of gap with what it costs, the largest gaps, the proofs' critical paths, and the one change that would save most. Exit 1 if no\n"
     "device call is complete.",
     cli_timeline},
    {"timeline", "compare", "A B", 2, 2, TIMELINE_OPTIONS, 0, "what made two runs different",
     "The last run of log A beside that of log B: stage by stage, gap class by gap class, and a sentence that says what made the difference.",
     cli_timeline_compare},
    {"timeline", "simulate", "FILE", 1, 1,
     CLI_BIT(EPOCH) | CLI_BIT(WORKERS_PER_GPU) | CLI_BIT(GPUS) | CLI_BIT(SYNTH) | CLI_BIT(MEMORY) | CLI_BIT(SCALE) | CLI_BIT(CONCURRENCY) | CLI_BIT(TRACE), 0,
     "a recorded run with other settings",
     "Sends the jobs of a log through the engine once more, with the recorded times of each stage, and predicts throughput and latency.\n"
     "Jobs come when they came; with --concurrency so many are in flight. Stages: open, load, synth, start, kernels, finish, verify.\n"
     "Exit 1 if the log has no complete call.",
     cli_timeline_simulate},
    {"bench", "single", "KIND", 1, 1, REMOTE_OPTIONS | REQUEST_OPTIONS, 0, "ask a daemon for one proof and time it",
     "One Prove call. Exit 1 if the proof failed, 2 if the daemon could not be asked, 3 if the job was cancelled or goes on.\n" REQUEST_TEXT,
     cli_bench_single},
    {"bench", "batch", "KIND", 1, 1,
     REMOTE_OPTIONS | REQUEST_OPTIONS | CLI_BIT(COUNT) | CLI_BIT(CONCURRENCY) | CLI_BIT(WARMUP) | CLI_BIT(DURATION) | CLI_BIT(VERIFY), 0,
     "ask a daemon for many proofs and measure",
     "--count proofs of the same inputs (each a job of its own), --concurrency at once, each over its own connection; or as many as\n"
     "--duration allows. Prints each proof, then latency (mean, least, median, 95th percentile, most), seconds a proof, and how busy the\n"
     "devices were. A proof that fails or a connection that is lost is counted, and the run goes on. --verify looks at the points\n"
     "of each proof (curve, subgroup); the daemon has verified that it holds. Exit codes as of bench single.\n" REQUEST_TEXT,
     cli_bench_batch},
    {"bench", "stress", "", 0, 0, REMOTE_OPTIONS | CLI_BIT(MIX) | CLI_BIT(DURATION) | CLI_BIT(SECTOR_SIZE), CLI_BIT(MIX),
     "load a daemon with a mix of proofs",
     "Each KIND=N/SECONDS keeps N submitters that ask for a proof of a synthetic sector (default 32GiB) every SECONDS, for --duration\n"
     "(default 60) seconds. Prints for each kind how many were completed, failed and took longer than their interval, and their latency.",
     cli_bench_stress},
    {"", "version", "", 0, 0, 0, 0, "print version, commit and processor features",
     "Prints the version, the commit it was built from, the compiler, and what the processor offers.", cli_version},
    {"", "help", "[COMMAND...]", 0, 2, 0, 0, "print help", "Prints the list of commands, or the help of one.", cli_help},
    {NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL},
};

enum cuzk_status cli_version(struct cli *c) {
  static const struct {
    unsigned bit;
    const char *name;
  } features[] = {{CUZK_CPU_BMI2_ADX, "bmi2-adx"},       {CUZK_CPU_AVX2, "avx2"},     {CUZK_CPU_AVX512F, "avx512"},
                  {CUZK_CPU_AVX512IFMA, "avx512-ifma"}, {CUZK_CPU_SHA_NI, "sha-ni"}};
  json_t *list = json_array();
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
    if (cuzk_cpu_features() & features[i].bit) (void)json_array_append_new(list, json_string(features[i].name));
  if (c->json)
    return cli_print_json(c, json_pack("{s:s, s:s, s:s, s:s, s:o}", "version", CUZK_VERSION, "commit", CUZK_COMMIT, "compiler",
                                       CUZK_COMPILER, "build_type", CUZK_BUILD_TYPE, "features", list));
  printf("cuzk %s (%s)\n%s, %s\nprocessor:", CUZK_VERSION, CUZK_COMMIT, CUZK_COMPILER, CUZK_BUILD_TYPE);
  size_t i;
  json_t *name;
  json_array_foreach(list, i, name) printf(" %s", json_string_value(name));
  printf("%s\n", json_array_size(list) ? "" : " portable code only");
  json_decref(list);
  return CUZK_OK;
}

enum cuzk_status cli_help(struct cli *c) {
  if (c->n_args == 0) {
    cli_print_help(NULL);
    return CUZK_OK;
  }
  bool found = false;
  for (const struct cli_command *k = cli_commands; k->name; k++) {
    const bool group = k->group[0] && !strcmp(k->group, c->arg[0]);
    const bool match = c->n_args == 1 ? group || (!k->group[0] && !strcmp(k->name, c->arg[0]))
                                      : group && !strcmp(k->name, c->arg[1]);
    if (!match) continue;
    if (found) printf("\n");
    cli_print_help(k);
    found = true;
  }
  if (!found)
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "no command '%s%s%s'", c->arg[0], c->n_args > 1 ? " " : "",
                     c->n_args > 1 ? c->arg[1] : "");
  return CUZK_OK;
}

int main(int argc, char **argv) {
  struct cli c = {0};
  json_set_alloc_funcs(cli_json_alloc, cuzk_free);
  enum cuzk_status st = cli_parse(&c, argc, argv);
  if (st == CUZK_OK && (!c.command || c.opt[OPT_HELP])) {
    cli_print_help(c.command);
  } else if (st == CUZK_OK) {
    const char *const when[] = {"auto", "always", "never", NULL};
    unsigned progress = 0;
    uint64_t threads = 0;
    CUZK_TRY(cli_choice(&c, OPT_PROGRESS, when, &progress));
    CUZK_TRY(cli_number(&c, OPT_THREADS, 1, 1024, 0, &threads));
    const bool tty = isatty(STDERR_FILENO) == 1;
    cli_meter_start(&c, !c.quiet && (progress == 1 || (progress == 0 && tty)), tty);
    st = cuzk_pool_create(&c.pool, (unsigned)threads);
    if (st != CUZK_OK)
      (void)cuzk_fail(&c.detail, st, "%u threads cannot be started", threads ? (unsigned)threads : cuzk_cpu_available());
    else
      st = c.command->run(&c);
    cli_meter_end(&c);
  }
out:
  if (st == CUZK_OK) st = cli_flush(&c);
  if (st == CUZK_OK && cli_json_starved()) st = cuzk_fail(&c.detail, CUZK_E_NOMEM, "the result is not complete");
  if (st != CUZK_OK) cli_print_error(c.json, st, c.detail.text);
  cuzk_pool_destroy(&c.pool);
  cuzk_free(c.list);
  if (c.exit_code) return c.exit_code;
  if (st != CUZK_OK) return cuzk_status_exit_code(st);
  return c.no ? 1 : 0;
}
