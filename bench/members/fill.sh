# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, part `fill`: an empty member takes the place of another while clients
# write.

# plain_writes rocksdb|redis: a member of this kind alone behind a node, as fast as it goes.
plain_writes() {
  local datalet=rocksdb
  say "fill, $1: plain writes"
  deployment=plain-$1
  if [[ $1 == redis ]]; then
    start start_redis "$scratch/redis-plain"
    datalet=$redis_url
  fi
  asked=p-$1
  join_node "$asked" "$datalet"
  await 60 "the member is in" all_have 1
  run_load "plain-$1" --clients 256 --keys "$states" --measure "${fill_seconds}s"
  end_node "$asked"
  asked=n0
}

add_rocksdb() { third=n3 && join_node n3 rocksdb --replicas 5; }
add_redis() {
  start start_redis "$scratch/redis"
  ask_ok STOUT.DATALET ADD "$redis_url" redis
}

# fill_member rocksdb|redis: the third member goes, and an empty one of this kind is filled.
fill_member() {
  local half from half_load
  say "fill, $1: the load before"
  run_load "full-$1" --clients 64 --keys "$states" --measure "${fill_seconds}s"
  half=$(jq '.rate_per_s / 2 | floor' "$scratch/full-$1.json")
  half_load=(--clients 256 --keys "$states" --rate "$half")
  run_load "before-$1" "${half_load[@]}" --measure "${fill_seconds}s"
  end_node "$third"
  await 60 "two members are in" all_have 2
  run_load "two-$1" "${half_load[@]}" --measure "${fill_seconds}s"
  say "fill, $1: $states states under $half SETs/s"
  begin_load "during-$1" "${half_load[@]}" --warm-up 2s --measure 3600s
  sleep 2
  from=$EPOCHREALTIME
  "add_$1"
  watch_fill "$1"
  jq -nc --argjson from "$from" --argjson to "$EPOCHREALTIME" '{$from, $to}' \
    >"$scratch/times-$1.json"
  end_load TERM
  say "fill, $1: the load after"
  run_load "after-$1" "${half_load[@]}" --measure "${fill_seconds}s"
  jq -nc --arg kind "$1" --argjson states "$states" --argjson half "$half" \
    --slurpfile plain "$scratch/plain-$1.json" --slurpfile full "$scratch/full-$1.json" \
    --slurpfile before "$scratch/before-$1.json" --slurpfile during "$scratch/during-$1.json" \
    --slurpfile after "$scratch/after-$1.json" --slurpfile two "$scratch/two-$1.json" \
    --slurpfile times "$scratch/times-$1.json" \
    '{$kind, $states, $half, plain: $plain[0], full: $full[0], before: $before[0],
      two: $two[0], during: $during[0], after: $after[0]} + $times[0]' >>"$scratch/fill.runs"
}

# watch_fill KIND: until all ranges have three members in. Writes down how many have them when.
watch_fill() {
  local have=0 ranges=-1 last=$SECONDS
  until ((have == ranges && ranges > 0)); do
    load_runs
    sleep 1  # STOUT.STATUS takes time of the processors
    # A command may fail meanwhile.
    read -r have ranges < <(members_in | jq -r '"\(map(select(. == 3)) | length) \(length)"') ||
      continue
    echo "$EPOCHREALTIME $have" >>"$scratch/ranges-$1"
    ((SECONDS < last + 10)) || { last=$SECONDS && say "fill, $1: $have ranges have it"; }
  done
}

measure_fill() {
  states=1000000 fill_seconds=20 third=n2
  ((!quick)) || states=20000 fill_seconds=3
  open_deployment 3 --replicas 5
  plain_writes rocksdb
  plain_writes redis
  deployment=members
  say "fill: writing $states states"
  fill "${addresses[n0]##*:}" key "$states" "$(printf '%100s' '' | tr ' ' x)"
  fill_member rocksdb
  fill_member redis
  report members-fill fill '{runs: map(filled)}' fill_tables
  draw_fill
}

# Per kind two files: seconds from the begin of the fill, SETs/s and p99 in ms of each second; and
# ranges that have the member.
draw_fill() {
  local kind from
  for kind in rocksdb redis; do
    from=$(jq .from "$scratch/times-$kind.json")
    awk -v from="$from" '{ for (i = 5; i <= NF; ++i) sets += $i; if ($4 > p99) p99 = $4 }
      NR % 10 == 0 { print $1 - from, sets, p99 / 1000; sets = p99 = 0 }' \
      "$scratch/during-$kind.dat" >"$scratch/plot-$kind-load"
    awk -v from="$from" '{ print $1 - from, $2 }' "$scratch/ranges-$kind" \
      >"$scratch/plot-$kind-ranges"
  done
  gnuplot -e "data='$scratch/plot'; out='$results/members-fill.svg'" "$here/fill.gp"
}
