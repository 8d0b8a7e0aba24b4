#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds the CUDA backend and the programs that check and measure it (tests/backend/gpu_*.c) with nvcc and a C compiler alone: the C
# layers they need have no other libraries.
#
#   tools/cuda_build.sh [-o DIR] [-j JOBS] [-a "75 90 120"] [-k] [FILE.cu...]
#
# -o  where to build (build/cuda); -a  compute capabilities (90); -k  compile the kernels only, link nothing (what CI does);
# FILE.cu limits -k to some files. nvcc: $NVCC, else build/venv, else the PATH; more of its flags in $NVCCFLAGS.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/cuda jobs=$(nproc) archs=90 kernels_only=
while getopts o:j:a:k opt; do
  case $opt in
    o) out=$OPTARG ;;
    j) jobs=$OPTARG ;;
    a) archs=$OPTARG ;;
    k) kernels_only=1 ;;
    *) sed -n '3,9p' "$0" >&2; exit 64 ;;
  esac
done
shift $((OPTIND - 1))

nvcc=${NVCC:-}
if [ -z "$nvcc" ]; then
  nvcc=$(find build/venv -path '*/cu13/bin/nvcc' 2>/dev/null | head -n 1)
  nvcc=${nvcc:-$(command -v nvcc || true)}
fi
[ -n "$nvcc" ] || { echo "cuda_build: no nvcc: set NVCC, or install the toolkit" >&2; exit 1; }

gencode=()
for a in $archs; do gencode+=(-gencode "arch=compute_$a,code=sm_$a"); done
mkdir -p "$out"
commands=$out/commands
: >"$commands"
objects=()
# compile SOURCE COMMAND...: queues the command unless the object is newer than every source of the backend and the script.
compile() {
  local src=$1 obj
  shift
  obj=$out/$(echo "${src#src/}" | tr / _).o
  objects+=("$obj")
  if [ -e "$obj" ] && [ -z "$(find src include tools/cuda_build.sh tests/backend -newer "$obj" -type f -print -quit)" ]; then return; fi
  printf '%q ' "$@" -Isrc -Iinclude -c "$src" -o "$obj" >>"$commands"
  echo >>"$commands"
}

if [ $# -gt 0 ]; then kernels=("$@"); else kernels=(src/backend/cuda/msm_g2.cu src/backend/cuda/msm_g1.cu $(ls src/backend/cuda/*.cu | grep -v /msm_g)); fi
for f in "${kernels[@]}"; do
  compile "$f" "$nvcc" -std=c++17 -O3 -lineinfo ${NVCCFLAGS:-} "${gencode[@]}"
done
if [ -z "$kernels_only" ]; then
  cc=${CC:-gcc}
  # simdjson is left out: json_index_plain.c stands for it.
  for f in src/base/{alloc,base64,clock,cpu,file,hex,json,json_write,pool,random,status}.c src/{ff,hash,ec,msm,poly,r1cs,gadgets,circuits,groth16,inputs,synth,device,timeline,engine,prover}/*.c \
    src/ff/vec/*.c src/ff/x86_64/*.S src/backend/cuda/*.c tests/backend/json_index_plain.c; do
    flags=()
    case $f in
      *_ifma.c) flags=(-O3 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx512ifma) ;;
      *_avx512.c) flags=(-O3 -mavx512f -mavx512dq -mavx512vl -mavx512bw) ;;
      *_avx2.c) flags=(-mavx2) ;;
    esac
    compile "$f" "$cc" -std=c17 -O2 -D_GNU_SOURCE -DCUZK_POLY_X86 -DCUZK_WITH_CUDA -fno-strict-aliasing -pthread "${flags[@]}"
  done
  shared=("${objects[@]}")
  programs=()
  for f in tests/backend/gpu_*.c; do
    objects=()
    compile "$f" "$cc" -std=c17 -O2 -D_GNU_SOURCE -DCUZK_WITH_CUDA -pthread
    programs+=("${objects[@]}")
  done
fi
tr '\n' '\0' <"$commands" | xargs -0 -r -P "$jobs" -I{} bash -c '{}'
if [ -z "$kernels_only" ]; then
  ar rcs "$out/libcuzk_all.a" "${shared[@]}"
  for o in "${programs[@]}"; do
    name=$(basename "$o" .c.o)
    name=${name#tests_backend_}
    "$nvcc" "${gencode[@]}" -o "$out/$name" "$o" "$out/libcuzk_all.a" -Xcompiler -pthread
    echo "$out/$name"
  done
fi
