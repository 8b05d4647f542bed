# Figures 1 to 6 in the simulator, with 32 application servers; sourced by run.sh.
# shellcheck shell=bash disable=SC2154

rates=500,1000,2000,3000,4000,5000,6000,7000,8000,10000,12000,14000,16000,18000,20000
many=500,1000,2000,4000,6000,8000,12000,16000,20000,30000,40000
windows=(0.5 1 2 4 8 16)  # of fairness, seconds; each is as long as the time before it
step_s=30                 # of the load
of_run='.'
if [[ $quick ]]; then
  rates=500,4000,8000,12000,18000
  many=500,8000,20000,40000
  windows=(1 4)
  of_run='.warmup_s = 4 | .duration_s = 10'
fi

# scenario NAME [FILTER]: a file, after a filter of jq.
scenario() {
  local file
  file=$(mktemp "$scratch/$1-XXXXXX.json")
  jq "$of_run | ${2:-.}" "$here/scenarios/$1.json" >"$file"
  echo "$file"
}

# sweep RUNS SCENARIO_FILE RATES POLICY...: the rates are those of requests. stout-sim has those of
# changes.
sweep() {
  say "simulator: $1"
  local share changes
  share=$(jq '1 - .clients.read_fraction' "$2")
  changes=$(jq -rn "[$3] | map(. * $share | tostring) | join(\",\")")
  "$bin/stout-sim" sweep "$2" --rates "$changes" --policy "${@:4}" --json >"$scratch/json"
  keep "$1" "simulated($share)"
}

# step RUNS RATE POLICY...: from 12,000 requests a second to another rate.
step() {
  say "simulator: $1"
  local file policy
  file=$(scenario queue ".warmup_s = 10 | .duration_s = $step_s * 2 | .timeline_s = 0.5 |
    .steps = [{at_s: $step_s, total_rate_per_s: $2}]")
  for policy in "${@:3}"; do
    "$bin/stout-sim" run "$file" --policy "$policy" --json
  done >"$scratch/json"
  keep "$1" "simulated_step($step_s)"
}

# fair BEGIN SCENARIO FILTER POLICY...: a run for each window after BEGIN. Servers take several
# policies in turn.
fair() {
  local window policy arguments=()
  for policy in "${@:4}"; do arguments+=(--policy "$policy"); done
  for window in "${windows[@]}"; do
    "$bin/stout-sim" run "${arguments[@]}" --json "$(scenario "$2" \
      "$3 | .warmup_s = $1 + $window | .duration_s = $1 + 2 * $window")"
  done
}

simulate_loads() {
  sweep sim-queue "$(scenario queue)" "$rates" \
    unbatched "${timers[@]}" "${timers[@]/tick/fixed}" "${laws[@]}"
  sweep sim-partitioned "$(scenario partitioned)" "$rates" "${timers[@]}" "${laws[@]}"
  sweep sim-group-commit "$(scenario group-commit)" "$rates" "${timers[@]}" "${laws[@]}"
  sweep sim-100-documents "$(scenario queue '.keys.count = 100')" "$many" \
    unbatched "${timers[@]}" "${laws[@]}"
}

simulate_steps() {
  step sim-decrease 8000 "${timers[@]}" "${laws[@]}"
  step sim-increase 18000 "${timers[@]}" "${laws[@]}"
}

simulate_fairness() {
  local policy all=(tick:80ms "${laws[@]}") joining
  say "simulator: sim-together"
  for policy in "${all[@]}"; do fair 0 queue . "$policy"; done >"$scratch/json"
  keep sim-together simulated_window
  say "simulator: sim-joiners"
  joining='.clients.count = 16 | .steps = [{at_s: 30, clients: 32}]'
  for policy in "${all[@]}"; do fair 30 queue "$joining" "$policy"; done >"$scratch/json"
  keep sim-joiners simulated_window
  say "simulator: sim-apart"
  {
    fair 0 queue . stout:start=1ms stout:start=100ms
    fair 0 queue . adaptive:polite=1 adaptive:polite=100
  } >"$scratch/json"
  keep sim-apart simulated_window
}

draw_simulated() {
  local few="tick:20ms tick:80ms ${laws[*]}" fleet="tick:80ms ${laws[*]}"
  local axes="xlabel='requests per second, half of them writes'; xmax='20000'"
  figure load 1-fixed-intervals "Adaptive against fixed intervals" "$axes" \
    "timers|sim-queue|${timers[*]} ${laws[*]}" \
    "spacings|sim-queue|${timers[*]/tick/fixed} ${laws[*]}"
  figure load 2-batching "Batching and no batching" "$axes" \
    "one queue|sim-queue|unbatched tick:20ms natural adaptive"
  figure load 3-collapsing "Low and high collapsing" "${axes/20000/40000}" \
    "10,000 documents|sim-queue|unbatched $few" "100 documents|sim-100-documents|unbatched $few"
  figure steps 4-load-steps "Steps of the load, one queue" "before_s=10; after_s=30" \
    "12,000 to 8,000 requests/s|sim-decrease|tick:40ms tick:160ms ${laws[*]}" \
    "12,000 to 18,000 requests/s|sim-increase|tick:40ms tick:160ms ${laws[*]}"
  figure fairness 5-fairness "Fairness of 32 servers, one queue, 12,000 requests/s" "" \
    "32 start together|sim-together|$fleet" "16 joined by 16|sim-joiners|$fleet" \
    "start 100 times apart|sim-apart|stout adaptive"
  figure load 6-stores "Three types of store" "$axes" \
    "one queue|sim-queue|$few" "four partitions|sim-partitioned|$few" \
    "group commit|sim-group-commit|$few"
}

simulate_loads
simulate_steps
simulate_fairness
draw_simulated
