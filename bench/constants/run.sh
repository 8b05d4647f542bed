#!/usr/bin/env bash
# run.sh BIN_DIR: shows how much each option of the policy `adaptive` matters. It multiplies one
# option at a time by 1/2, 2/3, 3/2 and 2, and simulates the points of sim/grids/quick.json. The
# result is the mean latency over that of the default, as the geometric mean of all points. A point
# that is unstable in one of the two runs counts as 10 or 1/10. Takes 3 minutes. Prints a table;
# writes bench/results/constants.txt and bench/results/constants.svg.
set -euo pipefail

[[ $# == 1 && $1 != -* ]] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
results=$here/../results
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Each option and its default; docs/OPTIONS.md has their meaning.
options=(linear=3 square=8 cap=16 gain=0.5 decay=0.15 full=16 weight=0.25 probe_share=0.01 polite=4
  polite_answers=6 pipelined=0.9 no_delay=2 doubt=3)
policies=(adaptive)
for option in "${options[@]}"; do
  IFS='=' read -r name default <<<"$option"
  whole=.
  [[ $name != polite_answers ]] || whole=round
  for times in 1/2 2/3 3/2 2; do
    policies+=("adaptive:$name=$(jq -n "$default * $times | $whole")")
  done
done

"$bin/stout-sim" grid "$here/../../sim/grids/quick.json" --without-oracle \
  --policy "${policies[@]}" --json "$scratch/json" >"$scratch/table"

# A line for each factor, a column for each option. The values of an option are in rising order.
jq -r '
  def mean: if .stable then .write_latency_ms.mean else null end;
  def ratio($one; $other):
    if $one == $other then 1
    elif $one == null then 10
    elif $other == null then 0.1
    else $one / $other end;
  [.points[].policies] as $points
  | def over_default($policy):
      [$points[] | ratio(.[$policy] | mean; .adaptive | mean) | log] | add / length | exp
      | . * 1000 | round / 1000;
  ([$points[0] | keys[] | select(startswith("adaptive:"))
      | capture(":(?<option>.+)=(?<value>.+)") + {policy: .}]
    | group_by(.option) | map(sort_by(.value | tonumber))) as $options
  | ["times", $options[][0].option],
    (["1/2", 0], ["2/3", 1], ["1", null], ["3/2", 2], ["2", 3]
     | . as [$times, $row]
     | [$times, ($options[] | if $row == null then 1 else over_default(.[$row].policy) end)])
  | join(" ")' "$scratch/json" >"$scratch/ratios"

awk '{ for (i = 1; i <= NF; ++i) printf i < NF ? "%-15s" : "%s\n", $i }' "$scratch/ratios" |
  tee "$results/constants.txt"
gnuplot -e "data='$scratch/ratios'; out='$results/constants.svg'" "$here/constants.gp"
echo "drew $(cd "$results" && pwd)/constants.svg" >&2
