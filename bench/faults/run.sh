#!/usr/bin/env bash
# run.sh BIN_DIR [--before BIN_DIR] [MEASUREMENT...]: measures the time of operations under faults: a
# store that is cut off, locked rows, a hand-over, many hits. MEASUREMENT: a script beside this one
# without its .sh; default: all. Takes some minutes.
#
#   --before DIR   also measures the programs of DIR, an older build
#
# Prints a table, and writes all figures to bench/results/faults.json. With a MEASUREMENT, or if one
# fails, they go to BIN_DIR/../faults/ instead. Each measurement starts private servers, whose files
# are on this machine's disk. It prints one line of JSON for each of its figures,
# {"what": ..., "value": ..., "unit": ...}, or a line of text.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
builds=([0]="$bin") names=([0]=now) measurements=()
while (($#)); do
  case $1 in
    -h | --help) usage && exit ;;
    --before)
      [[ -d ${2-} ]] || { echo "bench faults: --before needs a directory of programs" >&2 && exit 2; }
      builds=("$2" "${builds[0]}") names=(before now) && shift
      ;;
    *)
      [[ $1 != run && -x $here/$1.sh ]] || { echo "bench faults: no measurement '$1'" >&2 && exit 2; }
      measurements+=("$1") results=$bin/../faults
      ;;
  esac
  shift
done
if ((${#measurements[@]} == 0)); then
  for script in "$here"/*.sh; do
    script=$(basename "$script" .sh)
    [[ $script == run ]] || measurements+=("$script")
  done
fi

scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
failed=0
for measurement in "${measurements[@]}"; do
  for i in "${!builds[@]}"; do
    echo "bench faults, $((SECONDS / 60)) min: $measurement, ${names[i]}" >&2
    "$here/$measurement.sh" "${builds[i]}" |
      jq -cR --arg measurement "$measurement" --arg build "${names[i]}" \
        '{measurement: $measurement, build: $build} + (fromjson? // {what: ., value: null, unit: ""})' \
        >>"$scratch" || failed=1
  done
done

((failed == 0)) || results=$bin/../faults
mkdir -p "$results"
jq -s --arg commit "$(source_commit)" \
  --arg when "$(date -u +%FT%TZ)" --argjson cpus "$(nproc)" \
  '{format: "stout faults-bench 1", when: $when, cpus: $cpus, commit: $commit, figures: .}' \
  "$scratch" >"$results/faults.json"
jq -r '.figures | group_by([.measurement, .what])[] | .[0] as $f |
  (map({(.build): .value}) | add) as $by |
  [$f.measurement, $f.what, ($by.before // "" | tostring), ($by.now // "" | tostring), $f.unit] | @tsv' \
  "$results/faults.json" |
  awk -F'\t' 'BEGIN { printf "%-18s %-66s %10s %10s\n", "measurement", "", "before", "now" }
    { printf "%-18s %-66s %10s %10s %s\n", $1, $2, $3, $4, $5 }'
echo "bench faults: $(cd "$results" && pwd)/faults.json" >&2
exit $failed
