#!/usr/bin/env bash
# run.sh BIN_DIR: shows how much each option of the policy `adaptive` matters. It multiplies one
# option at a time by 1/2, 2/3, 3/2 and 2, and simulates the points of sim/grids/constants.json.
# Prints mean latency over that of the default, as the geometric mean of all points, into
# bench/results/constants.txt, too. A point that is unstable with one of the two counts as 10 or
# 1/10. Draws docs/figures/constants.svg. Takes 5 minutes.
set -euo pipefail

[[ $# == 1 && $1 != -* ]] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
figures=$here/../../docs/figures
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Each option and its default; docs/OPTIONS.md has their meaning.
options=(linear=3 square=8 cap=16 gain=0.5 decay=0.15 full=16 weight=0.25 probe_share=0.01 polite=4
  polite_answers=6)
factors=(0.5 0.667 1.5 2)
policies=(adaptive)
for option in "${options[@]}"; do
  for factor in "${factors[@]}"; do
    policies+=("adaptive:$(awk -F= -v by="$factor" '{
      printf "%s=%s", $1, $1 == "polite_answers" ? int($2 * by + 0.5) : $2 * by }' <<<"$option")")
  done
done

"$bin/stout-sim" grid "$here/../../sim/grids/constants.json" --without-oracle \
  --policy "${policies[@]}" --json "$scratch/json" >"$scratch/table"

# A line for each option: its name, then the ratio at each factor, 1 in the middle.
jq -r '
  def mean: if .stable then .write_latency_ms.mean else null end;
  def ratio(policy): [.points[].policies | [(.[policy] | mean), (.adaptive | mean)]
    | if .[0] == null and .[1] == null then 1 elif .[0] == null then 10
      elif .[1] == null then 0.1 else .[0] / .[1] end | log] | add / length | exp;
  . as $grid
  | [.points[0].policies | keys_unsorted[] | select(startswith("adaptive:"))
     | capture("adaptive:(?<option>[a-z_]+)=(?<value>.*)") + {policy: .}]
  | group_by(.option)[] | sort_by(.value | tonumber)
  | [.[0].option, ([.[].policy | . as $policy | $grid | ratio($policy) * 1000 | round / 1000]
     | .[:2] + [1] + .[2:])[]] | join(" ")' "$scratch/json" >"$scratch/ratios"

{
  echo times 1/2 2/3 1 3/2 2
  cat "$scratch/ratios"
} | awk '{ printf "%-16s%8s%8s%8s%8s%8s\n", $1, $2, $3, $4, $5, $6 }' | tee "$here/../results/constants.txt"
gnuplot -e "data='$scratch/ratios'; out='$figures/constants.svg'" "$here/constants.gp"
echo "drew $(cd "$figures" && pwd)/constants.svg" >&2
