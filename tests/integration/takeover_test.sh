#!/usr/bin/env bash
# Goal: several docstore-servers that share one store under leases lose no acknowledged write, and
# show nothing stale, whatever happens to one of them. Clients do not notice a server that leaves in
# order.
# Method: servers and a router on one private PostgreSQL. It is the store and, unless --leases names
# another, the lease service. docstore-load --verify offers a fixed rate to the router while servers
# come and go. All acknowledged writes are read back after each event, and at the end by a server
# without a memory.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: takeover_test.sh BIN_DIR [OPTIONS]
  --events LIST  events, in this order: join (one more server), drain (SIGTERM: no request may
                 fail), kill (kill -9), pause (SIGSTOP for longer than the lease)
                 (join,drain,join,kill,pause)
  --rounds N     repetitions of the list (1); STOUT_FAULT_ROUNDS replaces it if set
  --leases S     postgres, or etcd: a private one (postgres)
  --ttl N        lifetime of a lease in seconds (2)
  --rate R       requests per second (1000), half of them writes
  --seed N       seed of the times of the events and of the load (1)
Exit status: 0 if no acknowledged write is lost.
TEXT
}

die() {
  echo "takeover_test: $*" >&2
  exit 1
}

events=join,drain,join,kill,pause rounds=1 leases=postgres ttl=2 rate=1000 seed=1
[[ ${1-} != --help ]] || { usage && exit 0; }
bin=${1:?"takeover_test: the directory of the programs is missing; see --help"}
shift
while (($#)); do
  case $1 in
    --events | --rounds | --leases | --ttl | --rate | --seed)
      (($# > 1)) || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    *) die "no option $1; see --help" ;;
  esac
done
rounds=${STOUT_FAULT_ROUNDS:-$rounds}
[[ $leases =~ ^(postgres|etcd)$ ]] || die "--leases is postgres or etcd"

# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../../sample-apps/demo/databases.sh"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-takeover.XXXXXX") # on a disk: /tmp is often memory
chmod 711 "$work" # PostgreSQL may run as another user
servers=() # processes of those that serve, oldest first
router=
load=
database=
etcd=
clean_up() {
  trap '' INT TERM HUP
  [[ -z $database ]] || signal_database KILL
  for pid in $load $router "${servers[@]}" $etcd $database; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# await_address OUT PROCESS: sets `address` to what a program says that it listens on.
await_address() {
  for _ in {1..400}; do
    address=$(sed -n 's/^listening on //p' "$1")
    [[ -z $address ]] || return 0
    kill -0 "$2" 2>/dev/null || break
    sleep 0.02
  done
  die "a program did not start: $(cat "${1%.out}.err")"
}

# await WHAT COMMAND...: until it succeeds.
await() {
  for _ in {1..1500}; do
    "${@:2}" && return
    sleep 0.02
  done
  die "in vain: $1; $(curl -s "$url/stats")"
}

declare -A address_of number_of # by process
number=0
start_server() {
  local log=$work/server$((++number))
  : >"$log.out"
  "$bin/docstore-server" --store "$store_url" --leases "$lease_url" --lease-ttl "${ttl}s" \
    --listen 127.0.0.1:0 --policy adaptive --log-level info >"$log.out" 2>"$log.err" &
  servers+=($!)
  await_address "$log.out" $!
  address_of[$!]=$address
  number_of[$!]=$number
}

# As the router knows it. Into a file: a grep that is content early would break the pipe of curl.
owns_some() { # PROCESS
  curl -s "$url/stats" >"$work/stats" && grep -q "\"owner\":\"${address_of[$1]}\"" "$work/stats"
}
owns_none() { # PROCESS
  curl -s "$url/stats" >"$work/stats" && ! grep -q "\"owner\":\"${address_of[$1]}\"" "$work/stats"
}
all_owned() {
  curl -s "$url/metrics" >"$work/metrics" &&
    grep -Eq '^docstore_router_owned_ranges 16(\.0*)?$' "$work/metrics"
}

run_load() { # OPTIONS...
  "$bin/docstore-load" --target "$url" --documents 500 --sections 2 --connections 32 --pipeline 4 \
    --timeout 30s --verify-file "$work/acknowledged" "$@"
}

# The events while the load runs. They happen to the oldest server.
event_join() {
  start_server
  await "a range for the server that joined" owns_some "${servers[-1]}"
}

event_drain() {
  local oldest=${servers[0]}
  kill -TERM "$oldest"
  wait "$oldest" || die "the drained server ended with $?"
  servers=("${servers[@]:1}")
}

event_kill() {
  local oldest=${servers[0]}
  kill -KILL "$oldest"
  wait "$oldest" 2>/dev/null || true
  servers=("${servers[@]:1}")
  await "heirs of the server that was killed" owns_none "$oldest"
}

# It wakes with held answers, a full socket and a memory of what is no longer true.
event_pause() {
  local oldest=${servers[0]}
  ((${#servers[@]} > 1)) || die "a server that pauses needs heirs: let one join before it"
  await "a range for the server that is to pause" owns_some "$oldest"
  kill -STOP "$oldest"
  await "heirs of the server that pauses" owns_none "$oldest"
  await "an owner of every range" all_owned
  sleep 1 # the heirs change what the sleeper remembers
  kill -CONT "$oldest"
  await "a range for the server that woke" owns_some "$oldest"
  grep -q 'lost$' "$work/server${number_of[$oldest]}.err" || die "the server that slept noticed nothing"
}

if [[ $leases == etcd ]]; then
  start_etcd "$work/etcd" || die "no private etcd"
  etcd=$database
fi
start_postgres "$work/postgres" || die "no private PostgreSQL"
store_url="$postgres_url&timeout=2s"
case $leases in
  postgres) lease_url="$postgres_url&poll=50ms" ;;
  etcd) lease_url=etcd://$etcd_address/docs ;;
esac
RANDOM=$seed
start_server
start_server
: >"$work/router.out"
"$bin/docstore-router" --leases "$lease_url" --listen 127.0.0.1:0 --log-level info \
  >"$work/router.out" 2>"$work/router.err" &
router=$!
await_address "$work/router.out" "$router"
url=http://$address
await "an owner of every range" all_owned

IFS=, read -ra once <<<"$events"
sequence=()
for ((i = 0; i < rounds; ++i)); do sequence+=("${once[@]}"); done
for ((step = 1; step <= ${#sequence[@]}; ++step)); do
  event=${sequence[step - 1]}
  # Long enough for the range to move while the load goes on.
  options=(--duration 4s --max-p99 10s) # every request must succeed
  [[ $event =~ join|drain ]] || options=(--duration "$((ttl + 5))s")
  run_load --rate "$rate" --seed "$((seed * 1000 + step))" "${options[@]}" >"$work/load" 2>&1 &
  load=$!
  sleep "1.$((RANDOM % 10))" # the moment of the event
  "event_$event"
  status=0
  wait "$load" || status=$?
  load=
  ((status == 0)) || die "event $step, $event (seed $seed): status $status: $(<"$work/load")"
  echo "event $step: $event; $(grep -m 1 '^verify:' "$work/load")"
done

# A test that tested nothing must not pass: kills and pauses have to have met writes under way.
[[ ! $events =~ kill|pause ]] || grep -q '^open ' "$work/acknowledged" ||
  die "no write was under way at any event: raise --rate"

for pid in "${servers[@]}"; do
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
done
for pid in "${servers[@]}"; do await "the end of the leases of those killed" owns_none "$pid"; done
servers=()
start_server
await "an owner of every range" all_owned
run_load --verify-only 2>"$work/load" || die "at the end (seed $seed): $(<"$work/load")"
cat "$work/load"
kill -TERM "$router"
wait "$router" || die "the router ended with $?"
router=
echo "takeover_test: $events, $rounds rounds, under $leases: nothing acknowledged was lost or stale"
