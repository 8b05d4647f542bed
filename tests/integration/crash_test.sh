#!/usr/bin/env bash
# Goal: no write that docstore-server has acknowledged is lost or stale, and no read has shown what
# was undone, whatever becomes of the server or of its store.
# Method: rounds on one store and one port. In each, docstore-load --verify offers a fixed rate, the
# fault strikes in the middle at a seeded moment, the load goes on, and everything that it ever had
# acknowledged, in this and all earlier rounds, is read back. At the very end the server is killed
# once more and all is read from the store.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: crash_test.sh BIN_DIR [OPTIONS]
  --store S      rocksdb; postgres, redis or redis-cluster: private servers (rocksdb)
  --fault F      server: kill -9 of docstore-server, and another takes over; store: kill -9 of the
                 store's server, which is started again; pause: it stands still for 10 s; failover:
                 kill -9 of a master of a cluster, and its replica takes over (server)
  --rounds N     how often (20)
  --policy P     of docstore-server (natural)
  --rate R       requests per second (2000), half of them writes
  --seconds N    length of the load of a round (2)
  --seed N       of the moments of the faults and of the load (1)
Anything after -- goes to docstore-server.
Exit status: 0 if every acknowledged write was there.
TEXT
}

die() {
  echo "crash_test: $*" >&2
  exit 1
}

store=rocksdb fault=server rounds=20 policy=natural rate=2000 seconds=2 seed=1
[[ ${1-} != --help ]] || { usage && exit 0; }
bin=${1:?"crash_test: the directory of the programs is missing; see --help"}
shift
while (($#)); do
  case $1 in
    --store | --fault | --rounds | --policy | --rate | --seconds | --seed)
      (($# > 1)) || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    --) shift && break ;;
    *) die "no option $1; see --help" ;;
  esac
done
server_options=("$@")
case $store:$fault in
  rocksdb:server | postgres:server | postgres:store | postgres:pause | redis:server | redis:store | \
    redis:pause | redis-cluster:server | redis-cluster:failover) ;;
  *) die "no fault $fault of a store $store; see --help" ;;
esac

here=$(dirname "${BASH_SOURCE[0]}")
demo=$here/../../sample-apps/demo
# shellcheck source=/dev/null
source "$demo/postgres.sh"
# shellcheck source=/dev/null
source "$demo/redis.sh"
# shellcheck source=/dev/null
source "$here/redis_cluster.sh"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-crash.XXXXXX") # on a disk: /tmp is often memory
chmod 711 "$work" # PostgreSQL may run as another user
server=
load=
database=
clean_up() {
  trap '' INT TERM HUP
  [[ -z $database ]] || "signal_$store" KILL
  for pid in $load $server $database; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  stop_redis_cluster
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

listen=127.0.0.1:0 # from the second start on the port that the first has found
start_server() {
  : >"$work/out"
  "$bin/docstore-server" --store "$url" --policy "$policy" --listen "$listen" \
    --log-level error "${server_options[@]}" >"$work/out" 2>"$work/err" &
  server=$!
  local address
  for _ in {1..400}; do
    address=$(sed -n 's/^listening on //p' "$work/out")
    [[ -z $address ]] || { listen=$address && return; }
    kill -0 "$server" 2>/dev/null || break
    sleep 0.02
  done
  die "docstore-server did not start: $(<"$work/err")"
}

kill_server() {
  kill -KILL "$server"
  wait "$server" 2>/dev/null || true
  server=
}

run_load() { # OPTIONS...
  "$bin/docstore-load" --target "http://$listen" --documents 500 --sections 2 --connections 16 \
    --pipeline 8 --timeout 30s --verify-file "$work/acknowledged" "$@"
}

strike() {
  case $fault in
    server)
      kill_server
      start_server
      ;;
    store)
      "signal_$store" KILL
      wait "$database" 2>/dev/null || true
      "start_$store" "$work/$store" || die "$store did not come back"
      ;;
    pause)
      "signal_$store" STOP
      sleep 10
      "signal_$store" CONT
      ;;
    failover) fail_over_redis_cluster || die "the cluster did not recover" ;;
  esac
}

case $store in
  rocksdb) url=rocksdb:$work/db ;;
  postgres)
    start_postgres "$work/postgres" || die "no private PostgreSQL"
    url="$postgres_url&timeout=2s"
    ;;
  redis)
    start_redis "$work/redis" || die "no private Redis"
    url="$redis_url?timeout=2s"
    ;;
  redis-cluster)
    start_redis_cluster "$work/redis" || die "no private Redis Cluster"
    url="$cluster_url?timeout=2s&wait=1"
    ;;
esac
RANDOM=$seed
start_server
for ((round = 1; round <= rounds; ++round)); do
  run_load --rate "$rate" --duration "${seconds}s" --seed "$((seed * 1000 + round))" \
    >"$work/load" 2>&1 &
  load=$!
  # Within the middle 80 % of the load; the random number has 15 bits.
  moment_ms=$((seconds * (100 + 800 * RANDOM / 32768)))
  sleep "$((moment_ms / 1000)).$(printf %03d $((moment_ms % 1000)))"
  strike
  status=0
  wait "$load" || status=$?
  load=
  ((status == 0)) || die "round $round, $fault at $moment_ms ms (seed $seed): $(<"$work/load")"
  echo "round $round: $fault at $moment_ms ms; $(grep -m 1 '^verify:' "$work/load")"
done

# A test that tested nothing must not pass: the faults have to have met writes under way.
if [[ $fault == server ]]; then
  ((rounds == 0)) || grep -q '^open ' "$work/acknowledged" ||
    die "no write was under way at any of $rounds kills: raise --rate"
else
  # Into a file first: a grep that is content early would break the pipe of curl, and fail with it.
  curl -s "http://$listen/metrics" >"$work/metrics" || die "docstore-server has no metrics"
  grep -q '^stout_retries_total.* [1-9]' "$work/metrics" ||
    die "no write had to be sent again: the store was never away"
fi

kill_server
start_server
run_load --verify-only 2>"$work/load" || die "at the end (seed $seed): $(<"$work/load")"
cat "$work/load"
echo "crash_test: $fault, $rounds times: nothing acknowledged was lost or stale"
