#!/usr/bin/env bash
# run.sh BIN_DIR [options of Google Benchmark]: five repetitions of each, medians to the terminal,
# everything to bench/results/micro.json.
set -euo pipefail
results=$(dirname "$0")/../results
mkdir -p "$results"
exec "$1/micro_bench" --benchmark_repetitions=5 --benchmark_display_aggregates_only=true \
  --benchmark_enable_random_interleaving=true \
  --benchmark_out="$results/micro.json" --benchmark_out_format=json "${@:2}"
