#!/usr/bin/env bash
# Goal: no write that docstore-server has acknowledged is lost or stale, and no read has shown an
# undone state, under faults of the server, of its store, and of the network between them.
# Method: rounds on one store and one port. In each, docstore-load --verify offers a fixed rate, the
# fault strikes in the middle at a seeded moment, and the load goes on. Then all acknowledged writes,
# of this and all earlier rounds, are read back. At the very end the server is killed once more and
# all writes are read from the store.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: crash_test.sh BIN_DIR [OPTIONS]
  --store S      rocksdb; postgres, redis, redis-cluster or blowfish: private servers (rocksdb)
  --fault F,...  one per round, in turn (server)
                 server: kill -9 of docstore-server, and another takes over
                 also with --store postgres, redis and blowfish:
                 store: kill -9 of the store's server, which is started again
                 pause: that server is stopped for 4 s
                 delay, throttle, cut, swallow: faults of the network; cut: in the middle of a
                 message, swallow: answers are lost
                 ghost: batches come late, after newer ones
                 with --store rocksdb, postgres and blowfish:
                 full-data: no room for its data, for a time
                 with --store postgres:
                 full-wal: no room for its log
                 with --store redis-cluster:
                 failover: kill -9 of a master, and its replica takes over
  --rounds N     number of rounds (20). Without --broken, STOUT_CRASH_ROUNDS replaces it for --fault server,
                 and STOUT_FAULT_ROUNDS for all others
  --policy P     policy of docstore-server (natural)
  --rate R       requests per second (2000), half of them writes
  --seconds N    length of the load of a round; the length of the fault is added (2)
  --seed N       seed of the times of the faults and of the load (1)
  --broken B     tests this test, which must find the lost writes (nothing)
                 unsynced: PostgreSQL answers before its log is on disk, so that replies run too
                 early; unstamped: a late write wins
Options after -- go to docstore-server.
Exit status: 0 if no acknowledged write is lost, and every fault met some writes.
TEXT
}

die() {
  echo "crash_test: $*" >&2
  exit 1
}

arguments=("$@")
store=rocksdb fault=server rounds=20 policy=natural rate=2000 seconds=2 seed=1 broken=nothing
[[ ${1-} != --help ]] || { usage && exit 0; }
bin=${1:?"crash_test: the directory of the programs is missing; see --help"}
shift
while (($#)); do
  case $1 in
    --store | --fault | --rounds | --policy | --rate | --seconds | --seed | --broken)
      (($# > 1)) || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    --) shift && break ;;
    *) die "no option $1; see --help" ;;
  esac
done
server_options=("$@")
case $broken:$fault in
  nothing:server) rounds=${STOUT_CRASH_ROUNDS:-$rounds} ;;
  nothing:*) rounds=${STOUT_FAULT_ROUNDS:-$rounds} ;;
esac

here=$(dirname "${BASH_SOURCE[0]}")
demo=$here/../../sample-apps/demo
for part in "$demo/databases.sh" "$here"/{redis_cluster,network_faults,disk_faults}.sh; do
  # shellcheck source=/dev/null
  source "$part"
done

IFS=, read -ra faults <<<"$fault"
# Duration of the faults, in seconds.
declare -A lasts=([server]=0 [store]=0 [pause]=4 [full-data]=2 [full-wal]=2 [failover]=0)
for fault in "${!network_faults[@]}"; do lasts[$fault]=${network_faults[$fault]}; done
[[ $store != rocksdb ]] || lasts[full-data]=20 # RocksDB looks for space every 5 s, and logs it
of_servers="server store pause ${!network_faults[*]}"
declare -A faults_of=([rocksdb]="server full-data" [postgres]="$of_servers full-data full-wal"
  [redis]=$of_servers [redis-cluster]="server failover" [blowfish]="$of_servers full-data")
[[ -n ${faults_of[$store]-} ]] || die "--store is one of: ${!faults_of[*]}"
for fault in "${faults[@]}"; do
  [[ " ${faults_of[$store]} " == *" $fault "* ]] ||
    die "no fault '$fault' of $store, but: ${faults_of[$store]}"
done
[[ $broken == nothing || ($store == postgres && $broken =~ ^(unsynced|unstamped)$) ]] ||
  die "--broken is unsynced or unstamped, with --store postgres"
if [[ " ${faults[*]}" == *" full-"* && ${private_mounts-} != yes ]]; then
  export private_mounts=yes
  in_private_mounts "${BASH_SOURCE[0]}" "${arguments[@]}"
fi

work=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-crash.XXXXXX") # on a disk: /tmp is often memory
chmod 711 "$work" # PostgreSQL may run as another user
server=
load=
database=
clean_up() {
  trap '' INT TERM HUP
  [[ -z $database ]] || signal_database KILL
  for pid in $load $server $database ${network_PID-}; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  stop_redis_cluster
  unmount_disks
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

listen=127.0.0.1:0 # from the second start on the port that the first has found
# On a busy machine the store may not answer in time, at first.
start_server() {
  for _ in {1..5}; do
    try_to_start_server && return
    wait "$server" || true
  done
  die "docstore-server did not start: $(<"$work/err")"
}

try_to_start_server() {
  : >"$work/out"
  "$bin/docstore-server" --store "$url" --policy "$policy" --listen "$listen" \
    --log-level error "${server_options[@]}" >"$work/out" 2>"$work/err" &
  server=$!
  local address
  for _ in {1..400}; do
    address=$(sed -n 's/^listening on //p' "$work/out")
    [[ -z $address ]] || { listen=$address && return; }
    kill -0 "$server" 2>/dev/null || return 1
    sleep 0.02
  done
  die "docstore-server does not listen: $(<"$work/err")"
}

kill_server() {
  kill -KILL "$server"
  wait "$server" 2>/dev/null || true
  server=
}

# Returns 3 if it found a write lost or stale.
run_load() { # OPTIONS...
  # Some sections are written again and again, which ghosts are a danger to; most are not, so that
  # one that is lost is not soon made good.
  "$bin/docstore-load" --target "http://$listen" --documents 5000 --sections 2 \
    --distribution zipf:0.99 --connections 16 --pipeline 8 --timeout 30s \
    --verify-file "$work/acknowledged" "$@"
}

# Reads all acknowledged writes through a new server, whose cache is empty. Sets `status` to what
# run_load returns.
read_all_from_store() {
  kill_server
  start_server
  status=0
  run_load --verify-only 2>"$work/load" || status=$?
}

strike() { # FAULT
  local probe=http://$listen/docs/probe/sections/s
  case $1 in
    server)
      kill_server
      start_server
      ;;
    store)
      signal_database KILL
      restart_store
      ;;
    pause)
      signal_database STOP
      sleep "${lasts[pause]}"
      signal_database CONT
      ;;
    full-*)
      [[ $store != rocksdb ]] || curl -sf -m 10 -X PUT -d probe "$probe" >/dev/null || die "no PUT"
      fill_disk "$work/$store/${1#full-}"
      [[ $1 == full-data ]] || use_up_wal
      for ((second = 0; second < lasts[$1]; ++second)); do
        sleep 1
        fill_disk "$work/$store/${1#full-}" # also what the store gave back
      done
      [[ $store != rocksdb || $(curl -sf -m 10 "$probe") == probe ]] ||
        die "reads from memory do not go on while the disk is full"
      empty_disk "$work/$store/${1#full-}"
      [[ $store == postgres ]] || return 0
      # Recovery needs room too, and without it PostgreSQL ends, which takes it a moment.
      until "$postgres_programs/pg_isready" -q -h "$work/postgres"; do
        kill -0 "$database" 2>/dev/null || restart_store
        sleep 0.05
      done
      ;;
    failover) fail_over_redis_cluster || die "the cluster did not recover" ;;
    *) strike_network "$1" ;;
  esac
}

run_sql() {
  "$postgres_programs/psql" -h "$work/postgres" -U postgres -qc "$1" >/dev/null
}

# The log goes into files that are there already; without room for another the server gives up.
use_up_wal() {
  for _ in {1..100}; do
    run_sql 'SELECT pg_switch_wal()' 2>/dev/null || return 0
  done
}

# Did the fault come upon anything? A test that tested nothing must not pass.
met() { # FAULT
  case $1 in
    server) grep -q '^open ' "$work/acknowledged" ;; # a write was under way
    full-data)
      [[ $store == postgres ]] || { met store && return; }
      grep -q 'ERROR: .* No space left on device' "$work/postgres/log"
      ;;
    full-wal) grep -q 'PANIC: .* No space left on device' "$work/postgres/log" ;;
    store | pause | failover)
      # Into a file first: a grep that is content early would break the pipe of curl.
      curl -s "http://$listen/metrics" >"$work/metrics" || die "docstore-server has no metrics"
      grep -q '^stout_retries_total.* [1-9]' "$work/metrics"
      ;;
    *) met_network "$1" ;;
  esac
}

restart_store() {
  wait "$database" 2>/dev/null || true
  "start_$store" "$work/$store" "${store_options[@]}" || die "$store did not come back"
}

start_store_postgres() {
  local options=()
  if [[ ${private_mounts-} == yes ]]; then
    mount_disk "$work/postgres/data" 64
    mount_disk "$work/postgres/wal" 12
    options=(--waldir="$work/postgres/wal" --wal-segsize=1) # in MiB: soon another one is needed
  fi
  start_postgres "$work/postgres" "${options[@]}" || die "no private PostgreSQL"
  if [[ ${private_mounts-} == yes ]]; then
    # A checkpoint comes before the log alone fills its disk: recovery needs room there.
    run_sql "ALTER SYSTEM SET max_wal_size = '4MB'"
    run_sql "ALTER SYSTEM SET min_wal_size = '2MB'"
    run_sql 'SELECT pg_reload_conf()'
  fi
  start_network "$work/postgres/.s.PGSQL.5432" || die "no network"
  local role=postgres
  if [[ " ${faults[*]} " == *" ghost "* ]]; then
    # A store ends the server processes that it abandons, and their ghosts with them. This role may
    # not.
    role=app
    run_sql 'CREATE ROLE app LOGIN'
    run_sql 'GRANT CREATE ON SCHEMA public TO app'
    run_sql 'REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC'
  fi
  url="postgres://$role@127.0.0.1:$network_port/postgres?timeout=1s&connect_timeout=1s"
  case $broken in
    unsynced) run_sql 'ALTER ROLE postgres SET synchronous_commit = off' ;;
    unstamped)
      run_sql 'CREATE TABLE documents (key bytea PRIMARY KEY, value bytea, epoch int8, version int8)'
      run_sql 'ALTER TABLE documents OWNER TO app'
      url+="&templates=$here/unstamped.sql"
      ;;
  esac
}

store_options=()
case $store in
  rocksdb)
    url=rocksdb:$work/rocksdb/data/db
    if [[ ${private_mounts-} == yes ]]; then
      mount_disk "$work/rocksdb/data" 64
      url+="?memtable=1MiB" # small, so that it soon needs another file
    fi
    ;;
  postgres) start_store_postgres ;;
  redis)
    start_redis "$work/redis" || die "no private Redis"
    start_network "$work/redis/socket" || die "no network"
    url="redis://127.0.0.1:$network_port?timeout=1s&connect_timeout=1s"
    ;;
  blowfish)
    [[ ${private_mounts-} != yes ]] || mount_disk "$work/blowfish/data" 64
    # Small, so that it freezes and merges all the time.
    store_options=(--shards 2 --freeze-bytes 256KB --merge-bytes 1MB)
    start_blowfish "$work/blowfish" "${store_options[@]}" || die "no private blowfish-server"
    start_network "$blowfish_port" || die "no network"
    url="blowfish://127.0.0.1:$network_port?timeout=1s&connect_timeout=1s"
    ;;
  redis-cluster)
    start_redis_cluster "$work/redis" || die "no private Redis Cluster"
    url="$cluster_url?timeout=2s&wait=1"
    ;;
esac
RANDOM=$seed
start_server
declare -A has_met=()
# unmet: a fault that has not met a write, or nothing.
unmet() {
  local fault
  for fault in "${faults[@]}"; do [[ -n ${has_met[$fault]-} ]] || { echo "$fault" && return; }; done
}
# A fault that came between two writes comes again.
for ((round = 1; rounds > 0; ++round)); do
  fault=${faults[(round - 1) % ${#faults[@]}]}
  ((round <= rounds)) || fault=$(unmet)
  [[ $fault ]] && ((round <= 3 * rounds)) || break
  run_load --rate "$rate" --duration "$((seconds + lasts[$fault]))s" \
    --seed "$((seed * 1000 + round))" >"$work/load" 2>&1 &
  load=$!
  # Within the middle 80 % of the load; the random number has 15 bits.
  moment_ms=$((seconds * (100 + 800 * RANDOM / 32768)))
  sleep "$((moment_ms / 1000)).$(printf %03d $((moment_ms % 1000)))"
  strike "$fault"
  status=0
  wait "$load" || status=$?
  load=
  ((status == 0)) || [[ $broken != nothing && $status == 3 ]] ||
    die "round $round, $fault at $moment_ms ms (seed $seed): $(<"$work/load")"
  ! met "$fault" || has_met[$fault]=yes
  echo "round $round: $fault at $moment_ms ms; $(grep -m 1 '^verify:' "$work/load")"
  if [[ $broken != nothing && -n ${has_met[$fault]-} ]] && ((status == 0)); then
    read_all_from_store # the cache may hide what is lost
  fi
  ((status == 0)) || break # found out
done
((rounds == 0)) || [[ -z $(unmet) ]] ||
  die "$(unmet) never met a write in $((round - 1)) rounds: raise --rate or --rounds"

read_all_from_store
if [[ $broken != nothing ]]; then
  ((status == 3)) || die "$broken (seed $seed): nothing is lost, or nobody sees it: $(<"$work/load")"
  echo "crash_test: $broken, and found out: $(grep -m 1 lost "$work/load")"
  exit
fi
((status == 0)) || die "at the end (seed $seed): $(<"$work/load")"
cat "$work/load"
echo "crash_test: ${faults[*]}, $rounds rounds: nothing acknowledged was lost or stale"
