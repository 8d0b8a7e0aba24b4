#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs the Debian packages that building and testing need; does nothing if all are there. Needs root or sudo otherwise.
set -euo pipefail

packages=(build-essential cmake ninja-build pkg-config libsimdjson-dev libjansson-dev libcmocka-dev
  libsqlite3-dev libtomlplusplus-dev libnghttp2-dev libevent-dev libssl-dev protobuf-c-compiler libprotobuf-c-dev libncurses-dev python3)
case ${1:-} in
  all) packages+=(clang libclang-rt-14-dev) ;;
  venv) packages=(python3-venv) ;;
  peers) packages=(protobuf-compiler) # and Go, Node.js, npm where they are not
    command -v go >/dev/null || packages+=(golang-go)
    command -v node >/dev/null || packages+=(nodejs)
    command -v npm >/dev/null || packages+=(npm) ;;
  web) packages=(chromium fonts-dejavu-core) ;;
esac

missing=()
for p in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$p")
done
if ((${#missing[@]} == 0)); then
  echo "packages: all installed"
  exit 0
fi
echo "packages to install: ${missing[*]}"
as_root=()
if (($(id -u) != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "neither root nor sudo: install these packages first" >&2
    exit 1
  fi
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get -q update
"${as_root[@]}" apt-get -q -y --no-install-recommends install "${missing[@]}"
