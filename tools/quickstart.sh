#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# From a fresh Debian 12 to a proof from the running daemon: packages, build, parameters of the 2 KiB PoRep circuit, daemon, submission
# over gRPC, proof, verification, end of the daemon.
set -euo pipefail
cd "$(dirname "$0")/.."

stages=()
stage() { # stage NAME COMMAND...: runs the command and remembers its time
  local name=$1 start end
  shift
  echo
  echo "== $name"
  start=$(date +%s%N)
  "$@"
  end=$(date +%s%N)
  stages+=("$(printf '%-22s %7.1f s' "$name" "$(awk -v ns=$((end - start)) 'BEGIN {print ns / 1e9}')")")
}

cuzk=build/release/cuzk
cache=$PWD/build/params
params=$cache/v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f.params
c1=tests/data/fixtures/sectors/s2k/porep-10.c1.json
proof=build/porep-10.proof
work=$PWD/build/quickstart # the daemon's journal, timeline and log
socket=$work/cuzk.sock
own_socket=
daemon=
job=

clean_up() {
  local status=$?
  trap - EXIT
  if [[ -n $daemon ]]; then
    kill -9 "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    echo "the daemon's log, $work/daemon.log:" >&2
    tail -n 20 "$work/daemon.log" >&2 || true
  fi
  [[ -z $own_socket ]] || rm -rf "$own_socket"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

build_program() {
  cmake --preset release >build/configure.log || { cat build/configure.log; return 1; }
  cmake --build --preset release --target cuzk
}

make_parameters() {
  if [[ -f $params ]] && "$cuzk" params inspect --no-digests "$params" >/dev/null; then
    echo "$params is there already; delete it to make it anew"
    return
  fi
  "$cuzk" params generate porep-2kib --out "$params" --progress="$progress"
}

# The defaults that are built in, whatever this machine's configuration says; only the paths are ours.
start_daemon() {
  "$cuzk" daemon --config /dev/null --listen "unix://$socket" --status-listen 127.0.0.1:0 --set "srs.param_cache=\"$cache\"" \
    --set "daemon.state_dir=\"$work/state\"" --set "timeline.file=\"$work/timeline.log\"" >"$work/daemon.log" 2>&1 &
  daemon=$!
  local i
  for ((i = 0; i < 300; i++)); do
    if "$cuzk" status --addr "unix://$socket" 2>/dev/null; then return; fi
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  echo "the daemon does not answer" >&2
  return 1
}

submit() {
  job=$("$cuzk" submit porep --c1 "$c1" --miner 1001 --sector 10 --addr "unix://$socket")
  echo "job $job"
}

await_proof() {
  "$cuzk" await "$job" --out "$proof" --timeout 3600 --addr "unix://$socket" | tee "$work/result"
}

stop_daemon() {
  local status=0
  kill -TERM "$daemon"
  wait "$daemon" || status=$?
  ((status == 0)) || { echo "the daemon ended with exit code $status" >&2; return 1; }
  daemon=
  [[ ! -e $socket ]] || { echo "$socket is still there" >&2; return 1; }
}

# a bar on a terminal, lines in a log
progress=auto
[[ -t 2 ]] || progress=always

mkdir -p build "$cache"
rm -rf "$work" "$proof"
mkdir "$work"
if ((${#socket} > 100)); then # longer than a socket's name may be
  own_socket=$(mktemp -d)
  socket=$own_socket/cuzk.sock
fi
stage "packages" bash tools/install_deps.sh
stage "build" build_program
stage "parameters" make_parameters
stage "start of the daemon" start_daemon
stage "submission" submit
stage "proof" await_proof
stage "verification" "$cuzk" verify porep --c1 "$c1" --vk "$params" --proof "$proof"
stage "stop of the daemon" stop_daemon

echo
echo "The program is $cuzk, the proof is $proof. Times:"
printf '  %s\n' "${stages[@]}"
echo "Times of the job:"
sed -n '/^total /s/^/  /p' "$work/result"
