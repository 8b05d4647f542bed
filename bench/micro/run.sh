#!/usr/bin/env bash
# run.sh BIN_DIR [options of Google Benchmark]: makes seven repetitions of each, interleaved. Prints the
# medians and their ratios, and writes everything to bench/results/micro.json; with options, to
# BIN_DIR/../micro/ instead.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
((!$#)) || results=$bin/../micro
mkdir -p "$results"
exec "$bin/micro_bench" --benchmark_out="$results/micro.json" --benchmark_out_format=json "$@"
