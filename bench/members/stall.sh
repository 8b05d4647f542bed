# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, parts `stall` and `stall-aa`: how long writes wait after a node fails. A node is
# the owner of some ranges and a member of all. In mode aa+ec the owner of a range merges it, and every node
# takes its requests.

stall_before=3 stall_after=7  # seconds of load around the event

owners() { status | jq -c '[.ranges[].owner]'; }
owners_are() { [[ $(owners 2>/dev/null) == "$1" ]]; }

# stall_run kill|stop RUN: n2 fails, the clients are at n0.
stall_run() {
  local name=$part-$1-$2 home time
  say "$part, $1, run $2"
  home=$(owners)
  jq -e --arg victim "${addresses[n2]}" 'index($victim) and any(. != $victim)' <<<"$home" \
    >/dev/null || complain "n2 owns all ranges or none: $home"
  begin_load "$name" --clients 64 --ranges "$(jq length <<<"$home")" --warm-up 1ms \
    --measure $((stall_before + stall_after))s
  sleep "$stall_before"
  time=$EPOCHREALTIME
  if [[ $1 == kill ]]; then kill_node n2; else kill -STOP "${pids[n2]}"; fi
  end_load
  jq -c --arg event "$1" --argjson run "$2" --argjson time "$time" --argjson owners "$home" \
    --arg victim "${addresses[n2]}" '{$event, $run, $time, $owners, $victim} + .' \
    "$scratch/$name.json" >>"$scratch/$part.runs"
  if [[ $1 == kill ]]; then join_node n2 rocksdb --replicas 3; else kill -CONT "${pids[n2]}"; fi
  await 60 "all members are in again" all_have 3
  await 60 "the ranges are at their owners again" owners_are "$home"
}

measure_stall() {
  local event run mode=ms+sc limits='{member: 1300, owner: 4000}'
  [[ $part != *-aa ]] || mode=aa+ec limits='{}'
  open_deployment 3 --replicas 3 --mode "$mode"
  await 60 "all ranges are in mode $mode" all_in_mode "$mode"
  for event in kill stop; do
    for ((run = 1; run <= rounds; ++run)); do stall_run "$event" "$run"; done
  done
  report "members-$part" "$part" "{mode: \"$mode\", limits_ms: $limits, runs: .}" stall_tables
  draw_stall
}

# Per run a file: seconds from the event, SETs/s in ranges of other owners, in those of the victim.
draw_stall() {
  local event run
  for event in kill stop; do
    for ((run = 1; run <= rounds; ++run)); do
      jq -r --arg event "$event" --argjson run "$run" \
        'select(.event == $event and .run == $run)
         | "time \(.time)", (.victim as $victim | .owners[] | if . == $victim then 1 else 0 end)' \
        "$scratch/$part.runs" |
        awk 'NR == FNR && $1 == "time" { event = $2; next }
             NR == FNR { lost[n++] = $1; next }
             { split("0 0", sum); for (i = 0; i < n; ++i) sum[1 + lost[i]] += $(5 + i)
               print $1 - event, 10 * sum[1], 10 * sum[2] }' - "$scratch/$part-$event-$run.dat" \
          >"$scratch/plot-$event-$run"
    done
  done
  gnuplot -e "data='$scratch/plot'; runs=$rounds; mode='$mode'; out='$results/members-$part.svg'" "$here/stall.gp"
}
