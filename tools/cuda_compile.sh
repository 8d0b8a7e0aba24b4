#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiles the CUDA sources for the architectures that CI covers; no device is needed.
#   tools/cuda_compile.sh install   puts the compiler into build/venv (Python packages), if it is not there
#   tools/cuda_compile.sh           compiles
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85)
venv=build/venv

if [[ ${1:-} == install ]]; then
  if [[ -n $(find "$venv" -path '*/cu13/bin/nvcc' 2>/dev/null | head -n 1) ]]; then
    echo "nvcc: there"
    exit 0
  fi
  python3 -m venv "$venv" || { bash tools/install_deps.sh venv && python3 -m venv "$venv"; }
  "$venv/bin/pip" install -q --disable-pip-version-check "${packages[@]}"
  exit 0
fi
exec bash tools/cuda_build.sh -k -o build/cuda-compile -a "75 90 120"
