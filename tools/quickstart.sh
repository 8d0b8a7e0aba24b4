#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# From a fresh Debian 12 to a verified proof: packages, build, parameters of the 2 KiB PoRep circuit, proof, verification.
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

cache=build/params
params=$cache/porep-2kib.params
c1=tests/data/fixtures/sectors/s2k/porep-10.c1.json
proof=build/porep-10.proof

build_program() {
  cmake --preset release >build/configure.log || { cat build/configure.log; return 1; }
  cmake --build --preset release --target cuzk
}

make_parameters() {
  if [[ -f $params ]] && build/release/cuzk params inspect --no-digests "$params" >/dev/null; then
    echo "$params is there already; delete it to make it anew"
    return
  fi
  build/release/cuzk params generate porep-2kib --out "$params" --progress="$progress"
}

# a bar on a terminal, lines in a log
progress=auto
[[ -t 2 ]] || progress=always

mkdir -p build "$cache"
stage "packages" bash tools/install_deps.sh
stage "build" build_program
stage "parameters" make_parameters
stage "proof" build/release/cuzk prove porep --c1 "$c1" --params "$params" --out "$proof" --progress="$progress"
stage "verification" build/release/cuzk verify porep --c1 "$c1" --vk "$params" --proof "$proof"

echo
echo "The program is build/release/cuzk, the proof is $proof. Times:"
printf '  %s\n' "${stages[@]}"
