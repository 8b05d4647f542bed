#!/usr/bin/env bash
# named.sh: as run.sh, for the constants of the policy `adaptive` that are no options. Each is halved and
# doubled in a copy of the source, which is built and simulates the points of sim/grids/quick.json. Of a
# range this means both ends, of kMemory its distance from 1. Takes 15 minutes. Prints a table; writes
# bench/results/constants-named.txt and bench/results/constants-named.svg.
set -euo pipefail

[[ $# == 0 ]] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
results=$here/../results
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

core=libstout/src/core
policy=libstout/include/stout/core/policy
files=("$core/"{policy_adaptive,store_estimate,full_batch,polite_start,batching_cycle}.cc
  "$policy/"{base_latency,cost_model}.h)

cp -r "$root/"{CMakeLists.txt,CMakePresets.json,cmake,libstout,adapters,sample-apps,sim,support} "$scratch"
cd "$scratch"
cmake --preset release -DCMAKE_UNITY_BUILD=OFF -DSTOUT_BUILD_APPS=OFF -DSTOUT_BUILD_BENCH=OFF >configured

# simulate NAME [GRID OPTION...]: builds what the copy has, and writes NAME.json.
simulate() {
  cmake --build build/release --target stout-sim >built || { tail built >&2 && exit 1; }
  build/release/bin/stout-sim grid sim/grids/quick.json --without-oracle --policy adaptive \
    --json "$1.json" "${@:2}" >table
}

# over_default NAME: geometric mean over all points; unstable points count as in run.sh.
over_default() {
  jq -n --slurpfile one "$1.json" --slurpfile other default.json '
    def means: [.[0].points[].policies.adaptive | if .stable then .write_latency_ms.mean else null end];
    [[$one, $other | means] | transpose[]
      | if .[0] == .[1] then 1 elif .[0] == null then 10 elif .[1] == null then 0.1 else .[0] / .[1] end
      | log] | add / length | exp | . * 1000 | round / 1000'
}

simulate default
printf '%-20s %-24s %-8s %s\n' constant value 1/2 2 | tee ratios
for file in "${files[@]}"; do
  cp "$file" original
  while IFS='=' read -r name value; do
    changed=()
    for times in 0.5 2; do
      # Each number of the value, {a, b} and a / b included, but no divisor.
      awk -v name="$name" -v times="$times" '
        $0 ~ "constexpr .*" name " = " {
          head = $0; sub(/=.*/, "=", head)
          rest = substr($0, length(head) + 1); tail = rest; sub(/;.*/, "", rest); sub(/^[^;]*/, "", tail)
          gsub(/[{}]/, "", rest); count = split(rest, parts, ",")
          for (i = 1; i <= count; ++i) {
            part = name == "kMemory" ? "1 - " times " * (1 - " parts[i] ")" : times " * (" parts[i] ")"
            rest = i == 1 ? part : rest ", " part
          }
          if (head ~ /size_t/) rest = "static_cast<std::size_t>(" rest ")"
          print head " " (head ~ /Ramp/ ? "{" rest "}" : rest) tail
          next
        }
        { print }' original >"$file"
      simulate changed --baseline default.json
      changed+=("$(over_default changed)")
    done
    printf '%-20s %-24s %-8s %s\n' "$name" "${value// /}" "${changed[@]}" | tee -a ratios
  done < <(sed -n 's/.*constexpr \(double\|Ramp\|std::size_t\) \(k[A-Za-z]*\) = \([^;]*\);.*/\2=\3/p' original)
  cp original "$file"
done

cp ratios "$results/constants-named.txt"
gnuplot -e "data='$results/constants-named.txt'; out='$results/constants-named.svg'" "$here/named.gp"
echo "drew $(cd "$results" && pwd)/constants-named.svg" >&2
