#!/usr/bin/env bash
# Three nodes that replicate their keys, under load, while an owner is killed, a member stops, a member
# of another kind is filled, and the mode changes twice. `./dev demo cluster` builds what it needs and
# calls it.
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

die() {
  echo "demo: $*" >&2
  exit "${status:-1}"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
source "$here/databases.sh"
rate=500
clients=600
keys=400
step_seconds=8
out=demo-cluster-out

[[ ${1-} == --help || ${1-} == -h ]] && usage && exit 0
(($#)) || status=2 die "the directory of the programs is missing; run ./dev demo cluster"
bin=$1
shift
while (($#)); do
  option=$1
  case $option in
    --help | -h) usage && exit 0 ;;
    --rate | --clients | --keys | --step-seconds | --out)
      (($# > 1)) || status=2 die "$option needs a value"
      name=${option#--}
      printf -v "${name//-/_}" %s "$2"
      shift 2
      ;;
    *) status=2 die "unknown option '$option'; see --help" ;;
  esac
done
for option in rate clients keys step_seconds; do
  [[ ${!option} =~ ^[1-9][0-9]*$ ]] ||
    status=2 die "--${option/_/-} needs a whole number, 1 or more"
done
[[ $bin == --check ]] && exit
for program in stout-node cluster-load; do
  [[ -x $bin/$program ]] || die "$bin/$program is missing; run ./dev demo cluster, which builds it"
done

# --- Nothing stays behind: every child is known by its id and ended, its files removed ------------

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-demo.XXXXXX") # on a disk: /tmp is often memory
nodes=()
others=() # etcd and Redis
load=
new_out=

clean_up() {
  trap '' INT TERM HUP
  end_child "$load"
  for pid in "${nodes[@]}"; do
    while kill -KILL "$pid" 2>/dev/null; do sleep 0.05; done
  done
  for pid in "${others[@]}" "${database-}"; do end_child "$pid"; done # the last one may be in no list yet
  rm -rf "$work"
  [[ -z $new_out ]] || rmdir "$new_out" 2>/dev/null || true # unless it has results
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# --- The deployment -------------------------------------------------------------------------------

ports=()
# start_node INDEX: a new one, or again what is there, on its old port.
start_node() {
  start_member_node "$work/node$1" "rocksdb:$work/node$1/data" --join "etcd://$etcd_address/demo" \
    --replicas 4 --lease-ttl 3s --member-timeout 1s --reply-deadline 2500ms 3>&- ||
    die "a node did not start"
  nodes[$1]=$database ports[$1]=$node_port
  disown # the shell does not report that it was killed
}

# ask WORDS...: a command to a node that runs all the time.
ask() {
  local reply
  reply=$(redis-cli -p "${ports[0]}" "$@" 2>&1) || true
  [[ $reply == OK* ]] || die "$*: $reply"
}

# mark TEXT: an event, at its time in the plot.
mark() { echo "$*" >&3; } # no child inherits 3: its end ends the load

# step: until the next event. Ends if the load does.
step() {
  sleep "$step_seconds" 3>&- &
  wait $!
  kill -0 "$load" 2>/dev/null || die "the load ended early: $(<"$work/load.err")"
}

[[ -e $out ]] || new_out=$out
mkdir -p "$out" || die "cannot make the directory $out"
out=$(cd "$out" && pwd)
cat <<TEXT
Three nodes, each with a datalet in RocksDB, and a coordinator (etcd). Every write is answered when all
members of its range that are in sync have it on disk. Clients offer $rate operations per second to one
node that runs all the time; it forwards what is not its own.

TEXT
start_etcd "$work/etcd" || die "no private etcd"
others+=("$database")
for i in 0 1 2; do start_node $i; done
mkfifo "$work/events"
"$bin/cluster-load" --join "etcd://$etcd_address/demo" --ports "${ports[0]}" \
  --rate "$rate" --clients "$clients" --keys "$keys" --members 3 --out "$out" \
  <"$work/events" 2>"$work/load.err" &
load=$!
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
start_node 1
step
mark "a node stops"
kill -STOP "${nodes[2]}"
step
mark "it goes on"
kill -CONT "${nodes[2]}"
step
start_redis "$work/redis" 3>&- || die "no private Redis"
others+=("$database")
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
load=
((result != 2)) || die "the load failed: $(<"$work/load.err")"

echo
if command -v gnuplot >/dev/null; then
  gnuplot -e "data='$out'; out='$out/cluster.svg'" "$here/cluster.gp"
  echo "plot:    $out/cluster.svg"
else
  echo "no gnuplot here, so no plot; its data is in $out"
fi
echo "history: $out/history.jsonl"
exit "$result"
