/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Every key of the configuration, one row each (engine specification 4.2, 4.3). Member section_key of struct cuzk_config.
 *
 *  X(section, key, KIND, default as it would be written, least, most, vocabulary, flags, one line of documentation)
 *  KIND     STRING; BOOL; UINT (least .. most); SIZE (bytes, least .. most); DURATION (ns; least .. most in ms); CHOICE (index in the
 *           vocabulary, words separated by |); UINTS, STRINGS (lists); AFFINITY; MODE (octal)
 *  flags    L live: SIGHUP applies it; A, P: a size may be "auto", a percentage of memory; D: accepted with a warning, no effect */
#ifndef CUZK_DAEMON_CONFIG_KEYS_H
#define CUZK_DAEMON_CONFIG_KEYS_H
#define CUZK_CONFIG_KEYS(X)                                                                                                               \
  X(daemon, listen, STRING, "unix:///run/curio/cuzk.sock", 0, 0, NULL, 0,                                                                 \
    "Where gRPC is served: unix:///PATH or HOST:PORT ([::1]:PORT for IPv6).")                                                             \
  X(daemon, status_listen, STRING, "", 0, 0, NULL, 0, "HTTP address of /status, /metrics and /healthz; empty: off.")                     \
  X(daemon, socket_mode, MODE, "0660", 0, 0777, NULL, 0, "Mode of the unix socket.")                                                      \
  X(daemon, socket_group, STRING, "", 0, 0, NULL, 0, "Group of the unix socket; empty: the process's.")                                  \
  X(daemon, tls_cert, STRING, "", 0, 0, NULL, 0, "Certificate chain (PEM) for TLS on TCP.")                                              \
  X(daemon, tls_key, STRING, "", 0, 0, NULL, 0, "Private key (PEM) of the certificate.")                                                 \
  X(daemon, tls_client_ca, STRING, "", 0, 0, NULL, 0, "Authorities (PEM) that clients' certificates must come from; empty: none asked for.") \
  X(daemon, auth_token_file, STRING, "", 0, 0, NULL, 0, "File with the bearer token that clients on TCP must send.")                     \
  X(daemon, allow_insecure_remote, BOOL, "false", 0, 0, NULL, 0, "Allow listening beyond this machine without TLS or a token.")          \
  X(daemon, drain_timeout, DURATION, "10m", 0, 604800000, NULL, 0, "How long running jobs may go on after SIGTERM.")                     \
  X(daemon, state_dir, STRING, "/var/lib/cuzk", 0, 0, NULL, 0,                                                                           \
    "Folder of the journal, or none. Default for users other than root: $XDG_STATE_HOME/cuzk or ~/.local/state/cuzk.")                   \
  X(daemon, grpc_max_recv_bytes, SIZE, "256MiB", 1048576, 2147483647, NULL, 0, "Largest request.")                                       \
  X(daemon, max_queued_jobs, UINT, "256", 1, 1000000, NULL, CUZK_KEY_LIVE, "Jobs waiting before new ones are refused.")                  \
  X(daemon, max_queued_bytes, SIZE, "8GiB", 1048576, 1152921504606846976, NULL, CUZK_KEY_LIVE | CUZK_KEY_PERCENT,                       \
    "Inputs stored before new jobs are refused; counted in the memory budget.")                                                          \
  X(daemon, result_ttl, DURATION, "10m", 0, 2592000000, NULL, CUZK_KEY_LIVE, "How long a finished job's result is kept.")                \
  X(daemon, result_max, UINT, "1024", 1, 1000000, NULL, CUZK_KEY_LIVE, "How many results are kept.")                                     \
  X(daemon, orphan_policy, CHOICE, "drop_queued", 0, 0, "keep|drop_queued|drop", CUZK_KEY_LIVE,                                          \
    "What happens to a job whose caller has gone: keep it, drop it while queued, drop it always.")                                       \
  X(daemon, orphan_grace, DURATION, "60s", 0, 86400000, NULL, CUZK_KEY_LIVE, "How long such a job waits for its caller to come back.")   \
  X(daemon, status_cors_origin, STRING, "*", 0, 0, NULL, 0, "Access-Control-Allow-Origin of the HTTP answers; empty: none.")             \
  X(memory, total_budget, SIZE, "auto", 1073741824, 1152921504606846976, NULL, CUZK_KEY_AUTO | CUZK_KEY_PERCENT,                        \
    "Memory that proving may use. auto: what the machine or its cgroup has, less safety_margin.")                                        \
  X(memory, safety_margin, SIZE, "auto", 0, 1152921504606846976, NULL, CUZK_KEY_AUTO | CUZK_KEY_PERCENT,                                \
    "Left to others when total_budget is auto. auto: 5GiB or 5%, whichever is more.")                                                    \
  X(memory, eviction_min_idle, DURATION, "5m", 0, 604800000, NULL, CUZK_KEY_LIVE, "Parameters idle for less are not evicted under pressure.") \
  X(memory, pinned_pool_max, SIZE, "auto", 0, 1152921504606846976, NULL, CUZK_KEY_AUTO | CUZK_KEY_PERCENT, "Limit of the pool of pinned memory.") \
  X(memory, srs_warm, BOOL, "true", 0, 0, NULL, 0, "Keep evicted parameters mapped.")                                                    \
  X(memory, pinned_budget, STRING, "", 0, 0, NULL, CUZK_KEY_DEAD, "total_budget has taken its place.")                                   \
  X(memory, working_memory_budget, STRING, "", 0, 0, NULL, CUZK_KEY_DEAD, "total_budget has taken its place.")                           \
  X(gpus, devices, UINTS, "[]", 0, 1023, NULL, 0, "Ordinals of the devices to use; empty: all.")                                        \
  X(gpus, gpu_threads, UINT, "32", 0, 4096, NULL, 0,                                                                                     \
    "CPU threads that help the devices; 0: all CPUs. The default is lowered to the number of CPUs.")                                     \
  X(gpus, gpu_workers_per_device, UINT, "2", 1, 16, NULL, 0, "Workers a device; two hide the work between kernels.")                     \
  X(gpus, affinity, AFFINITY, "{}", 0, 1023, NULL, 0, "Table of ordinal = [circuit ids] or \"any\": what a device may prove.")            \
  X(gpus, retry_on_error, UINT, "1", 0, 16, NULL, 0, "Times a partition is tried again after a device's error.")                        \
  X(gpus, quarantine_errors, UINT, "3", 1, 1000, NULL, 0, "Errors in a row after which a device rests.")                                 \
  X(gpus, quarantine_time, DURATION, "5m", 1000, 604800000, NULL, 0, "How long it rests.")                                               \
  X(scheduler, max_batch_size, UINT, "1", 1, 16, NULL, 0, "Proofs of one kind proved in one pass; 1: each alone.")                       \
  X(scheduler, max_batch_wait_ms, UINT, "10000", 0, 3600000, NULL, 0, "How long an incomplete batch waits, in ms.")                      \
  X(scheduler, sort_by_type, BOOL, "true", 0, 0, NULL, 0, "Prefer jobs whose parameters are loaded among those of normal priority.")     \
  X(synthesis, threads, UINT, "0", 0, 4096, NULL, 0, "CPU threads of synthesis; 0: all CPUs.")                                          \
  X(synthesis, partition_workers, UINT, "0", 0, 4294967295, NULL, CUZK_KEY_DEAD, "pipeline.max_parallel_synthesis has taken its place.") \
  X(pipeline, enabled, BOOL, "true", 0, 0, NULL, 0, "Overlap synthesis and proving; false: one partition after the other.")              \
  X(pipeline, synthesis_lookahead, UINT, "1", 0, 4294967295, NULL, CUZK_KEY_DEAD, "The memory budget decides.")                          \
  X(pipeline, synthesis_concurrency, UINT, "1", 1, 64, NULL, 0, "Jobs prepared at once.")                                               \
  X(pipeline, max_parallel_synthesis, UINT, "18", 0, 1024, NULL, 0, "Partitions synthesised at once, as far as memory goes; 0: 18.")     \
  X(pipeline, slot_size, UINT, "0", 0, 4294967295, NULL, CUZK_KEY_DEAD, "Partitions are scheduled one by one.")                          \
  X(pipeline, max_gpu_queue_depth, UINT, "0", 0, 1024, NULL, CUZK_KEY_LIVE, "Synthesised partitions that should wait for devices; 0: two a device.") \
  X(pipeline, self_check, CHOICE, "all", 0, 0, "all|porep|off", 0, "Which proofs are verified before they are handed out.")             \
  X(pipeline, pce, BOOL, "true", 0, 0, NULL, 0, "Use compiled circuits.")                                                                \
  X(pipeline, finish_threads, UINT, "4", 1, 256, NULL, 0, "Threads that finish proofs.")                                                \
  X(srs, param_cache, STRING, "/data/zk/params", 0, 0, NULL, 0, "Folder of parameter files and compiled circuits.")                     \
  X(srs, preload, STRINGS, "[]", 0, 0, NULL, 0, "Circuits whose parameters are loaded after the start.")                                \
  X(timeline, enabled, BOOL, "true", 0, 0, NULL, 0, "Record the timeline.")                                                             \
  X(timeline, file, STRING, "", 0, 0, NULL, 0, "File of the timeline; empty: standard error.")                                          \
  X(logging, level, STRING, "info", 0, 0, NULL, CUZK_KEY_LIVE, "trace, debug, info, warn, error, off; or target=level, separated by commas.") \
  X(logging, format, CHOICE, "text", 0, 0, "text|json", 0, "How the log is written.")
#endif
