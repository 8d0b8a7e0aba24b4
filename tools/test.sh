#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds every configuration and runs all tests in one ctest run, whose summary ends the output. Labels decide what runs where
# (CMakePresets.json): slow and end-to-end tests in release only, ThreadSanitizer on the tests of label threads.
# test.sh [CONFIGURATION...] runs only those.
set -euo pipefail
cd "$(dirname "$0")/.."

configurations=("$@")
((${#configurations[@]})) || configurations=(release clang asan-ubsan tsan verify fuzz)
jobs=$(nproc)
mkdir -p build/all

bash tools/install_deps.sh all
if bash tools/install_deps.sh web; then
  export CUZK_REQUIRE_BROWSER=1
else
  echo "Chromium cannot be installed here: the dashboard is not tested in a browser" >&2
fi
if compgen -G 'src/backend/cuda/*.cu' >/dev/null; then
  bash tools/cuda_compile.sh install
fi
: >build/all/CTestTestfile.cmake
for c in "${configurations[@]}"; do
  start=$SECONDS
  cmake --preset "$c" >"build/all/$c.configure.log" 2>&1 || { cat "build/all/$c.configure.log"; exit 1; }
  cmake --build --preset "$c" >"build/all/$c.build.log" 2>&1 || { tail -n 60 "build/all/$c.build.log"; exit 1; }
  echo "built $c in $((SECONDS - start)) s"
  echo "subdirs(\"$PWD/build/$c\")" >>build/all/CTestTestfile.cmake
done

# Stack use after return is not looked for: gcc 12 puts the moved frames at addresses that AVX-512 locals cannot have (gcc bug
# 110027), and the vector code faults.
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
ctest --test-dir build/all -j "$jobs" --output-on-failure --no-tests=error && exit 0
# Tests that look at time can lose it to a neighbour: what failed is run once more, each alone, and must pass then.
echo "== once more, one at a time: the tests that failed"
exec ctest --test-dir build/all --rerun-failed -j 1 --output-on-failure --no-tests=error
