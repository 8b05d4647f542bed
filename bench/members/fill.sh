# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, part `fill`: a new member is filled while clients write.

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

add_rocksdb() { join_node n2 rocksdb --replicas 4; }
add_redis() {
  start start_redis "$scratch/redis"
  ask_ok STOUT.DATALET ADD "$redis_url" redis
}

# fill_member rocksdb|redis MEMBERS: adds an empty one, which makes this number.
fill_member() {
  local half from
  say "fill, $1: the load before"
  run_load "full-$1" --clients 64 --keys "$states" --measure "${fill_seconds}s"
  half=$(jq '.rate_per_s / 2 | floor' "$scratch/full-$1.json")
  run_load "before-$1" --clients 256 --keys "$states" --rate "$half" --measure "${fill_seconds}s"
  say "fill, $1: $states states under $half SETs/s"
  begin_load "during-$1" --clients 256 --keys "$states" --rate "$half" --warm-up 2s --measure 3600s
  sleep 2
  from=$EPOCHREALTIME
  "add_$1"
  watch_fill "$1" "$2"
  jq -nc --argjson from "$from" --argjson to "$EPOCHREALTIME" '{$from, $to}' \
    >"$scratch/times-$1.json"
  end_load TERM
  jq -nc --arg kind "$1" --argjson states "$states" --argjson half "$half" \
    --slurpfile plain "$scratch/plain-$1.json" --slurpfile full "$scratch/full-$1.json" \
    --slurpfile before "$scratch/before-$1.json" --slurpfile during "$scratch/during-$1.json" \
    --slurpfile times "$scratch/times-$1.json" \
    '{$kind, $states, $half, plain: $plain[0], full: $full[0], before: $before[0],
      during: $during[0]} + $times[0]' >>"$scratch/fill.runs"
}

# watch_fill KIND MEMBERS: until all ranges have this number in. Writes down how many have it when.
watch_fill() {
  local ranges=0 last=$SECONDS
  until all_have "$2"; do
    load_runs
    ranges=$(members_in | jq --argjson members "$2" 'map(select(. == $members)) | length')
    echo "$EPOCHREALTIME $ranges" >>"$scratch/ranges-$1"
    ((SECONDS < last + 10)) || { last=$SECONDS && say "fill, $1: $ranges ranges have it"; }
    sleep 0.25
  done
  ranges=$(members_in | jq length)
  echo "$EPOCHREALTIME $ranges" >>"$scratch/ranges-$1"
}

measure_fill() {
  states=1000000 fill_seconds=20
  ((!quick)) || states=20000 fill_seconds=3
  open_deployment 2 --replicas 4
  plain_writes rocksdb
  plain_writes redis
  deployment=members
  say "fill: writing $states states"
  fill "${addresses[n0]##*:}" key "$states" "$(printf '%100s' '' | tr ' ' x)"
  fill_member rocksdb 3
  fill_member redis 4
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
