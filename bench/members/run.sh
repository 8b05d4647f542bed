#!/usr/bin/env bash
# run.sh BIN_DIR [--quick] [PART...]: what it costs to keep members equal, and what clients see of it.
# PART, by default all:
#
#   rocksdb     three RocksDB directories on one disk, all in sync, beside one
#   redis       three Redis behind a stout-node, beside a Redis with two replicas and SET with WAIT 2
#   stall       how long writes wait after one of three nodes fails
#   transition  the rate of writes while the mode changes
#   stall-aa, transition-aa   the same in mode aa+ec, and to and from it
#   takeover    gets of keys that new owners do not have in memory, after a node was killed
#   fill        a new member is filled with 1,000,000 states while clients write
#   reads       gets from three blowfish-servers: one has no memory for layers; all are equal; one has
#               little of a processor
#   steps       only if it is named, and as root: figure 10 of the BlowFish paper. Gets from three
#               blowfish-servers, at a rate that rises in steps; one has no memory for layers
#
#   --quick     one round instead of five, and 20,000 states: shows that all works
#
# Starts private servers and stops them again. Prints tables. Writes all figures of rocksdb and redis to
# bench/results/members.json, those of another part to members-PART.json, and the tables to a .txt beside
# it. stall*, transition*, fill and steps have a plot in an .svg, too. With --quick, or if only one of
# rocksdb and redis is named, all goes to BIN_DIR/../members/ instead.
# README.md describes the method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
fail() { echo "bench members: $*" >&2 && exit 2; }
rounds=5 quick=0 parts=()
while (($#)); do
  case $1 in
    --quick) quick=1 rounds=1 results=$bin/../members ;;
    -h | --help) usage && exit ;;
    rocksdb | redis | stall | stall-aa | transition | transition-aa | takeover | fill | reads | steps) parts+=("$1") ;;
    *) usage >&2 && fail "no option '$1'" ;;
  esac
  shift
done
case " ${parts[*]} " in
  *' rocksdb '*'redis '* | *' redis '*'rocksdb '*) ;;
  *' rocksdb '* | *' redis '*) results=$bin/../members ;;  # members.json has figures of both
esac
((${#parts[@]})) || parts=(rocksdb redis stall stall-aa transition transition-aa takeover fill reads)
for program in etcd gnuplot jq redis-server redis-cli "$bin"/{stout-node,member-{bench,reads,steps},blowfish-{server,load},shard-data}; do
  command -v "$program" >/dev/null || fail "no $program"
done

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
[[ " ${parts[*]} " != *" reads "* ]] || command -v cpulimit >/dev/null || fail "no cpulimit"
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-member-bench.XXXXXX")
database=''
# shellcheck source=/dev/null
source "$here/../rounds.sh"
# shellcheck source=/dev/null
source "$here/../node/servers.sh"
for part in deployment stall transition takeover fill reads steps; do
  # shellcheck source=/dev/null
  source "$here/$part.sh"
done
trap 'stop_replicas; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

rocksdb_side() { # SIDE
  local members=1
  [[ $1 != three ]] || members=3
  measure rocksdb "SET, 64 clients" "$1" --rocksdb "$scratch/$1" --members "$members"
}

measure_rocksdb() {
  for ((round = 0; round <= rounds; ++round)); do in_turns rocksdb_side -- one three; done
}

# start_front NAME URL...: a node over these members; sets its port.
start_front() {
  local output=$scratch/$1 url mode=ms+sc
  [[ $1 != ack1 ]] || mode=ms+ec
  : >"$output"
  "$bin/stout-node" --listen 127.0.0.1:0 --log-level warning --join "etcd://$etcd_address/$1" --ranges 1 \
    --mode "$mode" --datalet "$2" >"$output" 2>"$output.log" &
  database=$!
  await_database grep -q '^listening on' "$output" ||
    { echo "bench members: stout-node does not start: $(tail -n 3 "$output.log")" >&2 && return 1; }
  ports[$1]=$(sed -n 's/^listening on .*://p' "$output")
  for url in "${@:3}"; do
    redis-cli -p "${ports[$1]}" STOUT.DATALET ADD "$url" >/dev/null
  done
  await_database all_in "${ports[$1]}" $(($# - 1))
}

all_in() { # PORT MEMBERS
  redis-cli -p "$1" STOUT.STATUS |
    jq -e --argjson members "$2" '[.ranges[0].members[]? | select(.state == "in")] | length == $members' \
      >/dev/null
}

redis_side() { # SIDE
  local options=(--server "127.0.0.1:${ports[$1]}" --pipeline "$pipeline")
  [[ $1 != wait ]] || options+=(--wait 2)
  measure redis "SET, 64 clients$( ((pipeline == 1)) || echo ", $pipeline pipelined")" "$1" \
    "${options[@]}"
}

measure_redis() {
  local pipeline name primary
  local -A ports urls
  start start_etcd "$scratch/etcd"
  for name in a b c; do
    start start_redis "$scratch/$name" --appendonly no
    urls[$name]=$redis_url
  done
  start start_front all "${urls[a]}/1?detect_loss=true" "${urls[b]}/1?detect_loss=true" "${urls[c]}/1?detect_loss=true"
  start start_front ack1 "${urls[a]}/2?detect_loss=true" "${urls[b]}/2?detect_loss=true" "${urls[c]}/2?detect_loss=true"
  start start_redis "$scratch/primary" --appendonly no
  primary=${redis_url##*:}
  ports[wait]=$primary ports[alone]=${urls[a]##*:}
  for name in replica1 replica2; do
    start start_redis "$scratch/$name" --appendonly no --replicaof 127.0.0.1 "$primary"
  done
  await_database replicas_are_there "$primary"
  for ((round = 0; round <= rounds; ++round)); do
    for pipeline in 1 16; do in_turns redis_side -- all ack1 wait alone; done
  done
}

replicas_are_there() { # PORT
  redis-cli -p "$1" INFO replication | grep -q 'slave1:.*state=online'
}

mkdir -p "$results"
modules=(members deployment reads steps)
for part in "${parts[@]}"; do
  say "$part"
  "measure_${part%-aa}"
  stop_servers
done
[[ ! -e $scratch/side.runs ]] || report members side '{comparisons: comparisons}' member_tables
