#!/usr/bin/env bash
# draw.sh JSON DIRECTORY: draws the results of run.sh. stores-rates.svg has the highest rate of each
# contender. stores-round-trips.svg, if it was measured, has it by the distance of the store.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
json=$1
out=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A file for each panel: a name, 1 if plain, and the rate, of each contender.
panels=() titles=''
while read -r store documents; do
  panel=$scratch/$store-$documents
  jq -r --arg store "$store" --argjson documents "$documents" '.comparisons[]
    | select(.store == $store and .documents == $documents) | .contenders[]
    | "\"\(.name)\" \(if .plain then 1 else 0 end) \(.sustained.rate_per_s // "NaN")"' "$json" >"$panel"
  panels+=("$panel")
  titles+="'$store, $documents documents' "
done < <(jq -r '.comparisons[] | select(.store | endswith("_proxy") | not)
  | "\(.store) \(.documents)"' "$json")
gnuplot -e "styles='$here/../paper/style.gp'; out='$out/stores-rates.svg'" \
  -e "data='${panels[*]}'; titles=\"$titles\"" "$here/rates.gp"

# A file for each store: a block for each contender, of round trips in ms and rates.
panels=() titles=''
while read -r store; do
  panel=$scratch/$store
  jq -r --arg store "$store" '[.comparisons[] | select(.store == $store)] as $all
    | [$all[0].contenders[].name] | to_entries[] | .value as $name
    | (if .key > 0 then "", "" else empty end), "\"\($name)\"",
      ($all[] | "\(.round_trip_ms) \([.contenders[] | select(.name == $name)
        | .sustained.rate_per_s // "NaN"][0])")' "$json" >"$panel"
  panels+=("$panel")
  titles+="${store%_proxy} "
done < <(jq -r '[.comparisons[].store | select(endswith("_proxy"))] | unique[]' "$json")
((${#panels[@]} == 0)) || gnuplot -e "styles='$here/../paper/style.gp'" \
  -e "out='$out/stores-round-trips.svg'; data='${panels[*]}'; titles='$titles'" \
  "$here/round_trips.gp"
