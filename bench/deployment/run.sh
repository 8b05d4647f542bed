#!/usr/bin/env bash
# run.sh BIN_DIR: simulates deployments of up to 100 nodes, and draws what their coordinator does, and what
# clients get.
#
# Takes five minutes, and 6 GB of memory on two cores. Prints tables, and writes bench/results/deployment*.json,
# deployment.svg and deployment-modes.svg. README.md describes the figures.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
if (($#)); then
  usage
  [[ $1 == -h || $1 == --help ]] && exit
  exit 2
fi
for program in jq gnuplot "$bin/stout-sim"; do
  command -v "$program" >/dev/null || { echo "bench deployment: no $program" >&2 && exit 1; }
done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/stout-deployment.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

"$bin/stout-sim" deployment --nodes 3,10,30,48,100 --ranges 16,100,1000 --json "$results/deployment.json"
jq -r -f "$here/curves.jq" "$results/deployment.json" >"$scratch/curves"
gnuplot -e "out='$results/deployment.svg'; data='$scratch/curves'" "$here/deployment.gp"

"$bin/stout-sim" modes --json "$results/deployment-modes.json"
"$bin/stout-sim" modes --mode ms+sc --nodes 3,10,30,100 --ranges 16,100,1000 --gets 50 --zipf 0 \
  --json "$results/deployment-costs.json"
for which in rates costs; do
  file=$results/deployment-${which/rates/modes}.json
  jq -r -L "$here" "include \"modes\"; $which" "$file" >"$scratch/$which"
done
gnuplot -e "out='$results/deployment-modes.svg'; rates='$scratch/rates'; costs='$scratch/costs'" "$here/modes.gp"
