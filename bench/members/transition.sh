# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, parts `transition` and `transition-aa`: the rate of writes while the mode changes.

# change_mode MODE: and says when, and when all ranges had it.
change_mode() {
  local from=$EPOCHREALTIME
  ask_ok STOUT.MODE "$1"
  await 60 "all ranges are in mode $1" all_in_mode "$1"
  jq -nc --arg mode "$1" --argjson from "$from" --argjson to "$EPOCHREALTIME" \
    '{$mode, $from, $to}' >>"$scratch/changes"
}

transition_run() { # RUN
  local name=$part-$1
  say "$part, run $1"
  ask_ok STOUT.MODE "${transition_modes[0]}"
  await 60 "all ranges are in mode ${transition_modes[0]}" all_in_mode "${transition_modes[0]}"
  : >"$scratch/changes"
  begin_load "$name" --clients 64 --warm-up 1ms --measure 600s
  sleep $((transition_before + 2))  # two seconds to warm up
  change_mode "${transition_modes[1]}"
  sleep $((transition_before + 5))
  change_mode "${transition_modes[2]}"
  sleep $((transition_after + 1))
  end_load TERM
  jq -c --argjson run "$1" --slurpfile changes "$scratch/changes" \
    --rawfile lines "$scratch/$name.dat" \
    '{$run, $changes} + .
     + {lines: [$lines | split("\n")[] | select(. != "") | split(" ") | map(tonumber)]}' \
    "$scratch/$name.json" >>"$scratch/$part.runs"
}

measure_transition() {
  local run
  transition_before=30 transition_after=15
  ((!quick)) || transition_before=8 transition_after=5
  transition_modes=(ms+sc ms+ec ms+sc)
  [[ $part != *-aa ]] || transition_modes=(ms+ec aa+ec ms+sc)
  open_deployment 3 --replicas 3
  for ((run = 1; run <= rounds; ++run)); do transition_run "$run"; done
  report "members-$part" "$part" \
    "transitions($transition_before; $transition_after)" transition_tables
  draw_transition
}

# Per run a file: seconds from the first change of the mode, SETs/s.
draw_transition() {
  local run
  for ((run = 0; run < rounds; ++run)); do
    jq -r --argjson run "$run" '.runs[$run].rates[] | "\(.[0]) \(.[1])"' \
      "$results/members-$part.json" >"$scratch/plot-$run"
  done
  gnuplot -e "modes='${transition_modes[*]}'; data='$scratch/plot'; runs=$rounds; out='$results/members-$part.svg'; \
    change=$(jq '[.runs[].changes[1].at_s] | add / length' "$results/members-$part.json")" \
    "$here/transition.gp"
}
