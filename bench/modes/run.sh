#!/usr/bin/env bash
# run.sh BIN_DIR [--quick] [--keys N] [PART...]: the modes of nodes with members, as BespoKV's paper
# measures them, beside Redis Cluster and nutcracker (twemproxy). PART, by default all:
#
#   throughput  requests/s of each mode, with 95 % and 50 % gets, keys uniform and by Zipf's law
#   latency     the same for 1 to 256 clients, with keys by Zipf's law
#   replicas    1, 2 and 3 members for each range
#   levels      strong and relaxed gets, mixed
#   nodes       1, 2 and 3 nodes over three datalets
#   polyglot    datalets of one kind, and of three kinds
#   scans       95 % scans of 1 to 100 keys in order, with ranges that are intervals of keys or slots
#
#   --quick     one round instead of five: shows that all works
#   --keys N    keys, 20,000 by default
#
# Starts private servers and stops them again. Prints tables. Writes all figures to bench/results/modes.json,
# the tables to modes.txt and a plot of latency to modes.svg. With PARTs these are modes-PART... instead, as
# modes-polyglot-scans.json. With --quick or --keys they go to BIN_DIR/../modes/. README.md describes the
# method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
fail() { echo "bench modes: $*" >&2 && exit 2; }
rounds=5 keys=20000 parts=()
while (($#)); do
  case $1 in
    --quick) rounds=1 results=$bin/../modes ;;
    --keys) keys=${2-} results=$bin/../modes && shift ;;
    -h | --help) usage && exit ;;
    throughput | latency | replicas | levels | nodes | polyglot | scans) parts+=("$1") ;;
    *) usage >&2 && fail "no option '$1'" ;;
  esac
  shift
done
[[ $keys =~ ^[1-9][0-9]{0,8}$ ]] || fail "--keys needs a number from 1 to 999999999"
all=(throughput latency replicas levels nodes polyglot scans) named=" ${parts[*]} " parts=()
for part in "${all[@]}"; do [[ $named != *" $part "* ]] || parts+=("$part"); done
name=modes
if ((${#parts[@]})); then name=$(IFS=- && echo "modes-${parts[*]}"); else parts=("${all[@]}"); fi
for program in etcd gnuplot jq nutcracker redis-server redis-cli "$bin"/{stout-node,member-bench}; do
  command -v "$program" >/dev/null || fail "no $program"
done

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-modes-bench.XXXXXX")
database=''
for file in ../../sample-apps/demo/databases ../../tests/integration/redis_cluster ../rounds \
  ../node/servers ../members/deployment; do
  # shellcheck source=/dev/null
  source "$here/$file.sh"
done
trap 'stop_servers; stop_redis_cluster; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
# shellcheck disable=SC2034  # a busy machine must not put members or nodes out
member_timeout=10s lease_ttl=10s
modes=(ms+sc ms+ec aa+ec)
workloads=("95 0" "50 0" "95 .99" "50 .99")  # percent of gets, exponent of Zipf's law

# fill_side OPTION...: all keys, by the clients of a side.
fill_side() {
  "$bin/member-bench" "$@" --keys "$keys" --value-bytes 32 --fill
}

# offer NAME SIDE OPTION...: the workloads `offered`, in cases that end with NAME. `kind`: gets or scans.
kind=gets
offer() {
  local workload gets zipf time=(--warm-up 300ms --measure 1200ms)
  ((round > 0)) || time=(--warm-up 1ms --measure 300ms)
  for workload in "${offered[@]}"; do
    read -r gets zipf <<<"$workload"
    [[ $zipf == 0 ]] && workload=uniform || workload="Zipf $zipf"
    measure "$part" "$gets % $kind, $workload$1" "$2" "${@:3}" "--$kind" "$gets" --zipf "$zipf" \
      --keys "$keys" --value-bytes 32 "${time[@]}"
  done
}

declare -A nodes=() replicas=() # of each deployment: the addresses of its nodes, and --replicas

start_datalets() {
  local i
  rm -rf "$scratch/etcd"
  start start_etcd "$scratch/etcd"
  for i in 0 1 2; do
    start start_redis "$scratch/datalet$i" --appendonly no
    datalets[i]=$redis_url
  done
}

# open_nodes NAME DATABASE NODES REPLICAS: a deployment over this database of all three datalets.
open_nodes() {
  local i url all=()
  say "starting $1"
  # shellcheck disable=SC2034  # they are those of deployment.sh
  deployment=$1 asked=$1-0
  for i in 0 1 2; do
    url="${datalets[i]}/$2?detect_loss=true"
    if ((i < $3)); then
      join_node "$1-$i" "$url" --replicas "$4"
      all+=("${addresses[$1-$i]}")
    else
      ask STOUT.DATALET ADD "$url" >/dev/null
    fi
  done
  await 60 "all members are in" all_have "$4"
  nodes[$1]=$(IFS=, && echo "${all[*]}") replicas[$1]=$4
  fill_side --server "${nodes[$1]}" --slots
}

# enter NAME MODE: sets `client`, the options of its clients. In ms they send each request to its owner.
enter() {
  local from
  asked=$1-0 client=(--server "${nodes[$1]}")
  from=$(ask STOUT.MODE)
  ask_ok STOUT.MODE "$2"
  await 60 "all ranges are in mode $2" all_in_mode "$2"
  if [[ $2 == aa+ec ]]; then
    # First all ranges are merged, which slows requests down for about 2 s.
    ((round == 0)) || sleep 4
    return
  fi
  client+=(--slots)
  await 60 "all ranges have owners and members" all_have "${replicas[$1]}"
  # Ranges that leave aa+ec are opened anew, with empty caches.
  [[ $from != aa+ec ]] || fill_side "${client[@]}"
}

# Three masters with a replica each, which clients know by CLUSTER SLOTS; and the same by nutcracker.
start_peers() {
  local i masters=()
  say "starting Redis Cluster and nutcracker"
  rm -rf "$scratch/cluster"
  mkdir -p "$scratch/cluster"
  apart start_redis_cluster "$scratch/cluster" --appendonly no
  processes+=("${cluster[@]}")
  cluster_server=$(IFS=, && echo "${cluster_url#redis-cluster://}")
  for i in 0 1 2; do
    start start_redis "$scratch/master$i" --appendonly no
    masters[i]=${redis_url##*:}
    start start_redis "$scratch/replica$i" --appendonly no --replicaof 127.0.0.1 "${masters[i]}"
  done
  start start_nutcracker "${masters[@]}"
  fill_side --server "$cluster_server" --slots
  fill_side --server "127.0.0.1:$nutcracker_port"
}

# side_offer SIDE: cluster, nutcracker, or a mode of the deployment `main`, also "MODE, N % relaxed".
side_offer() {
  local clients relaxed=${1#*, } mode=${1%%,*}
  # So that no merge of aa+ec runs beside another side.
  [[ $1 == *+* ]] || mode=ms+sc
  enter main "$mode"
  case $1 in
    cluster) client=(--server "$cluster_server" --slots) ;;
    nutcracker) client=(--server "127.0.0.1:$nutcracker_port") ;;
  esac
  [[ $1 != *relaxed ]] || client+=(--relaxed "${relaxed%% *}")
  for clients in "${counts[@]}"; do offer ", $clients clients" "$1" "${client[@]}" --clients "$clients"; done
}

# side_deployment COUNT: the modes `counted` of the deployment that has this number in its name.
side_deployment() {
  local mode
  for mode in "${counted[@]}"; do
    enter "$part$1" "$mode"
    offer ", $mode" "$1" "${client[@]}"
  done
}

# take_turns COMMAND SIDE...
take_turns() {
  for ((round = 0; round <= rounds; ++round)); do
    say "$part, round $round"
    in_turns "$1" -- "${@:2}"
  done
}

measure_throughput() {
  open_nodes main 1 3 3
  start_peers
  offered=("${workloads[@]}") counts=(64)
  take_turns side_offer "${modes[@]}" cluster nutcracker
}

measure_latency() {
  open_nodes main 1 3 3
  start_peers
  offered=("${workloads[@]:2}") counts=(1 8 64 256)
  take_turns side_offer "${modes[@]}" cluster nutcracker
}

measure_levels() {
  open_nodes main 1 3 3
  offered=("${workloads[@]:2}") counts=(64)
  take_turns side_offer ms+sc "ms+sc, 75 % relaxed" "ms+sc, 100 % relaxed" ms+ec "ms+ec, 100 % relaxed"
}

measure_replicas() {
  local count
  for count in 1 2 3; do open_nodes "replicas$count" "$count" 3 "$count"; done
  offered=("${workloads[@]:0:2}") counted=(aa+ec ms+ec ms+sc)
  take_turns side_deployment 1 2 3
}

measure_nodes() {
  local count
  for count in 1 2 3; do open_nodes "nodes$count" "$count" "$count" 3; done
  offered=("${workloads[@]:0:2}") counted=(ms+sc)
  take_turns side_deployment 1 2 3
}

# open_datalets NAME URL URL URL [OPTION...]: a deployment of three nodes, each with one of these datalets.
open_datalets() {
  local i urls=("${@:2:3}") all=()
  say "starting $1"
  # shellcheck disable=SC2034
  deployment=$1 asked=$1-0
  for i in 0 1 2; do
    join_node "$1-$i" "${urls[i]}" --replicas 3 --mode ms+ec "${@:5}"
    all+=("${addresses[$1-$i]}")
  done
  await 60 "all members are in" all_have 3
  nodes[$1]=$(IFS=, && echo "${all[*]}") replicas[$1]=3
  fill_side --server "${nodes[$1]}"
}

# RocksDB syncs each write. Reports by SQL are in the demo, where PostgreSQL is a lazy member.
measure_polyglot() {
  local redis=("${datalets[@]/%//1?detect_loss=true}")
  open_datalets Redis "${redis[@]}"
  open_datalets RocksDB rocksdb rocksdb rocksdb
  open_datalets memory memory: memory: memory:
  open_datalets mixed "${datalets[0]}/2?detect_loss=true" rocksdb memory:
  offered=("95 0" "62 0" "50 0")
  take_turns side_polyglot Redis RocksDB memory mixed
}
side_polyglot() { # NAME
  enter "$1" ms+ec
  offer ", 64 clients" "$1" "${client[@]}"
}

# Redis lists no keys in order.
open_scanned() { # PARTITION
  local bounds
  bounds=$(for i in {1..15}; do printf ',key:%012d' $((keys * i / 16)); done)
  open_datalets "$1" memory: memory: memory: --partition "${1/intervals/range:${bounds#,}}"
}

side_scans() { # PARTITION
  offered=("95 0" "95 .99")
  for kind in scans gets; do offer ", 64 clients" "$1" --server "${nodes[$1]}"; done
}

measure_scans() {
  open_scanned intervals
  open_scanned slots
  take_turns side_scans intervals slots
}

mkdir -p "$results"
modules=(modes)
for part in "${parts[@]}"; do
  say "$part"
  start_datalets
  "measure_$part"
  stop_servers
  cluster=()
done
report "$name" side "{keys: $keys, cases: cases}" mode_tables
if [[ " ${parts[*]} " == *" latency "* ]]; then
  jq -r -L "$here" -L "$here/../stores" 'include "modes"; latency_points' "$results/$name.json" >"$scratch/points"
  gnuplot -e "out='$results/$name.svg'; data='$scratch/points'" "$here/modes.gp"
fi
