#!/usr/bin/env bash
# Three nodes that replicate their keys, under load, while an owner is killed, a member stops, a member
# of another kind is filled, and the mode changes twice. `./dev demo cluster` builds what it needs and
# calls it.
# shellcheck disable=SC2034,SC2154,SC2317 # they are those of what it sources
set -euo pipefail

usage() {
  cat <<TEXT
usage: ./dev demo cluster [OPTIONS]   builds the programs first
       cluster.sh BIN_DIR [OPTIONS]
       cluster.sh --check [OPTIONS]   checks the options

Starts a private etcd and three nodes, each with a datalet in RocksDB. Offers load, and meanwhile:
kills a node with -9 and starts it again; stops a node for longer than --member-timeout; adds a private
Redis as one more member of every range; changes the mode to ms+ec and back. Then a checker judges
whether all that clients saw is linearizable. Prints a line per second; writes a plot and its data.

  --rate N           operations per second, half of them reads    ($rate)
  --clients N        connections to one node that runs all the time, each with one operation at once
                                                                  ($clients)
  --keys N           keys; a quarter of them are counters         ($keys)
  --step-seconds N   time between two events                      ($step_seconds)
  --out DIR          where results go                             ($out)
  --help

An operation is due at its own time, and its latency counts from then.
Exit status: 0 if the history is linearizable.
TEXT
}

# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/deployment.sh"
rate=500
clients=600
keys=400
step_seconds=8
out=demo-cluster-out

begin_demo cluster "rate=1000000 clients=1000 keys=1000000 step-seconds=3600" \
  "stout-node cluster-load" "$@"

# mark TEXT: an event, at its time in the plot.
mark() { echo "$*" >&3; } # no child inherits 3: its end ends the load

# step: until the next event. Ends if the load does.
step() {
  sleep "$step_seconds" 3>&- &
  wait $!
  kill -0 "$load" 2>/dev/null || die "the load ended early: $(<"$work/load.err")"
}

start_rocksdb() { start_node "$1" "rocksdb:$work/node$1/data" --replicas 4; } # INDEX

cat <<TEXT
Three nodes, each with a datalet in RocksDB, and a coordinator (etcd). Every write is answered when all
members of its range that are in sync have it on disk. Clients offer $rate operations per second to one
node that runs all the time; it forwards what is not its own.

TEXT
start_other etcd start_etcd "$work/etcd"
for i in 0 1 2; do start_rocksdb $i; done
mkfifo "$work/events"
"$bin/cluster-load" --join "etcd://$etcd_address/demo" --ports "${ports[0]}" \
  --rate "$rate" --clients "$clients" --keys "$keys" --members 3 --out "$out" \
  <"$work/events" 2>"$work/load.err" &
load=$!
loads=("$load")
exec 3>"$work/events"
until [[ -s $out/load.dat ]]; do
  kill -0 "$load" 2>/dev/null || die "the load did not start: $(<"$work/load.err")"
  sleep 0.1
done

# --- The events -----------------------------------------------------------------------------------

step
mark "a node is killed"
kill -KILL "${nodes[1]}"
step
mark "it is back"
start_rocksdb 1
step
mark "a node stops"
kill -STOP "${nodes[2]}"
step
mark "it goes on"
kill -CONT "${nodes[2]}"
step
start_other Redis start_redis "$work/redis"
mark "Redis is added"
ask STOUT.DATALET ADD "$redis_url" redis
step
mark "mode ms+ec"
ask STOUT.MODE ms+ec
step
mark "mode ms+sc"
ask STOUT.MODE ms+sc
step
exec 3>&-
result=0
wait "$load" || result=$?
loads=()
((result != 2)) || die "the load failed: $(<"$work/load.err")"

echo
draw cluster
echo "history: $out/history.jsonl"
exit "$result"
