# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, part `takeover`: gets while other nodes take over the ranges of a node that
# was killed. The new owners have no key of these ranges in memory.

takeover_keys=300000 takeover_rate=8000 takeover_after=16

all_own() { owners | jq -e 'unique | length == 3 and all(. != null)' >/dev/null 2>&1; }

# takeover_run rocksdb|redis RUN: a new deployment, whose members are of this kind.
takeover_run() {
  local name=takeover-$1-$2 datalet=$1 i time
  say "takeover, $1, run $2: filling"
  rm -rf "$scratch/etcd" "$scratch"/{n,redis}[0-9]
  deployment=takeover
  start start_etcd "$scratch/etcd"
  for i in 0 1 2; do
    if [[ $1 == redis ]]; then
      start start_redis "$scratch/redis$i" --appendonly no
      datalet="$redis_url?detect_loss=true"
    fi
    join_node "n$i" "$datalet" --replicas 3
  done
  await 60 "all members are in" all_have 3
  await 60 "each node owns ranges" all_own
  "$bin/member-bench" --server "${addresses[n0]},${addresses[n1]},${addresses[n2]}" --clients 256 \
    --keys "$takeover_keys" --fill
  say "takeover, $1, run $2"
  begin_load "$name" --clients 256 --keys "$takeover_keys" --gets 100 --rate "$takeover_rate" \
    --warm-up 1ms --measure $((takeover_after + 4))s
  sleep 3
  all_own || complain "a node owns no range"
  time=$EPOCHREALTIME
  kill_node n2
  end_load
  jq -c --arg kind "$1" --argjson run "$2" --argjson time "$time" \
    --rawfile lines "$scratch/$name.dat" '{$kind, $run, $time} + .
     + {lines: [$lines | split("\n")[] | select(. != "") | split(" ") | map(tonumber)]}' \
    "$scratch/$name.json" >>"$scratch/takeover.runs"
  stop_servers
}

measure_takeover() {
  local kind run
  ((!quick)) || takeover_keys=20000 takeover_rate=2000 takeover_after=8
  for ((run = 1; run <= (quick ? 1 : 3); ++run)); do
    for kind in rocksdb redis; do takeover_run "$kind" "$run"; done
  done
  report members-takeover takeover "takeovers($takeover_keys; $takeover_rate)" takeover_tables
}
