#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Drives a running service through gRPC clients that others wrote: run.sh ADDRESS [--go|--js], both if none is named.
# ADDRESS: unix:///path or host:port. The environment goes to the clients (go/main.go, js/peer.js).
# run.sh --build only builds them. Modules and results go to CUZK_PEERS_DIR (build/peers). Exit status 77: the registries cannot be reached.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=${CUZK_PEERS_DIR:-$root/build/peers}
address=${1:?run.sh ADDRESS [--go|--js]}
which=${2:-}

unreachable() {
  echo "skipped: $1 cannot be fetched" >&2
  exit 77
}

build_go() (
  mkdir -p "$dir/go" "$dir/bin"
  cp "$here"/go/{go.mod,go.sum,*.go} "$dir/go/"
  cd "$dir/go"
  export GOFLAGS="-mod=readonly -modcacherw -buildvcs=false" GOBIN=$dir/bin CGO_ENABLED=0
  go mod download >"$dir/go.log" 2>&1 || { tail -n 3 "$dir/go.log" >&2; unreachable "Go modules"; }
  go build -o "$dir/bin/" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
  local map=Mcuzk/v1/proving.proto=cuzk/tests/peers/cuzkv1
  PATH=$dir/bin:$PATH protoc -I "$root/proto" --go_out=. --go_opt=module=cuzk/tests/peers,$map \
    --go-grpc_out=. --go-grpc_opt=module=cuzk/tests/peers,$map cuzk/v1/proving.proto
  go build -o "$dir/bin/peer" .
)

build_js() (
  mkdir -p "$dir/js"
  cp "$here"/js/{package.json,package-lock.json,peer.js} "$dir/js/"
  cd "$dir/js"
  [[ -d node_modules ]] && cmp -s package-lock.json package-lock.json.done && exit 0
  npm ci --no-audit --no-fund --ignore-scripts >"$dir/js.log" 2>&1 || { tail -n 3 "$dir/js.log" >&2; unreachable "npm packages"; }
  cp package-lock.json package-lock.json.done
)

status=0
if [[ $which != --js ]]; then
  build_go
  [[ $address == --build ]] || "$dir/bin/peer" "$address" || status=1
fi
if [[ $which != --go ]]; then
  build_js
  [[ $address == --build ]] || node "$dir/js/peer.js" "$address" "$root/proto" || status=1
fi
exit $status
