#!/usr/bin/env bash
# run.sh BIN_DIR [options of Google Benchmark]: makes seven repetitions of each, interleaved. Prints the
# medians and their ratios, and writes everything to bench/results/micro.json.
set -euo pipefail
results=$(dirname "$0")/../results
mkdir -p "$results"
exec "$1/micro_bench" --benchmark_out="$results/micro.json" --benchmark_out_format=json "${@:2}"
