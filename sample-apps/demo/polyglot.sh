#!/usr/bin/env bash
# The store of a monitor, with members of three kinds: RocksDB, Redis and PostgreSQL. Two loads run,
# while PostgreSQL and Redis are killed. `./dev demo polyglot` builds what it needs and calls it.
# shellcheck disable=SC2154,SC2317 # variables are set, and functions called, by what it sources
set -euo pipefail
export LC_ALL=C # a point in times, and one order of keys

usage() {
  cat <<TEXT
usage: ./dev demo polyglot [OPTIONS]   builds the programs first
       polyglot.sh BIN_DIR [OPTIONS]
       polyglot.sh --check [OPTIONS]   checks the options

The monitoring store of BespoKV (TPDS 2020, section 7.1): each record is kept by RocksDB, which is
part of a node, by Redis in memory, and by PostgreSQL, a lazy member for reports. Starts a private
etcd, Redis and PostgreSQL, and two nodes. Offers two loads to the same keys at once:

  job launch       50 % gets, at the node with RocksDB
  I/O forwarding   62 % gets, at the other node. They are relaxed: Redis or RocksDB answers them

The loads are synthetic, because the traces of the paper are not public: only the percentages of
gets are from it. Each second a query to PostgreSQL makes a report. The age of the newest record and
the keys whose newest records PostgreSQL lacks show how far it is behind. Meanwhile PostgreSQL is
killed with -9 and started again, and then Redis, which comes back empty. At the end, all records of
the three stores are compared. Prints a line per second; writes a plot and its data.

  --rate N           requests per second of each load              ($rate)
  --clients N        connections of each load                      ($clients)
  --keys N           keys, one record each                         ($keys)
  --step-seconds N   time between two events                       ($step_seconds)
  --out DIR          where results go                              ($out)
  --help

Exit status: 0 if the three stores have the same records.
TEXT
}

# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/deployment.sh"
rate=500
clients=32
keys=5000
step_seconds=6
# A store that is only slow should stay in, above all while it is the only one that has all.
member_timeout=3s
reply_deadline=5s
out=demo-polyglot-out
begin_demo polyglot "rate=1000000 clients=10000 keys=1000000 step-seconds=3600" \
  "stout-node member-bench" "$@"

# --- What is asked --------------------------------------------------------------------------------

# sql QUERY [OPTION...]: to PostgreSQL itself. Fails if it does not answer within `sql_timeout`.
sql_timeout=1s
sql() {
  PGCONNECT_TIMEOUT=1 PGOPTIONS="-c statement_timeout=$sql_timeout -c client_min_messages=error" \
    psql -qX -h "$work/postgres" -U postgres "${@:2}" -c "$1" 2>>"$work/sql.errors"
}

# member_states: four numbers: ranges that have RocksDB in sync, that have Redis in sync, that
# PostgreSQL follows, and keys whose newest records PostgreSQL lacks.
member_states() {
  local port
  for port in "${ports[@]}"; do redis-cli -p "$port" STOUT.STATUS; done 2>/dev/null |
    jq -rs '[.[0].ranges[].members[] | select(.state == "in" or .state == "lazy").id] as $good
      | [.[].ranges[].members[] | select(.id == "postgres").lag_keys // 0] as $lags
      | [("rocksdb", "redis", "postgres") as $id | [$good[] | select(. == $id)] | length]
      | map(tostring) + [$lags | add | tostring] | join(" ")' 2>/dev/null || echo "0 0 0 0"
}

all_follow() { [[ $(member_states) == "16 16 16 0" ]]; }
rocksdb_follows() { [[ $(member_states) == "16 "* ]]; }

# await_all SECONDS COMMAND...: until it succeeds.
await_all() {
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    ((SECONDS < end)) || return 1
    sleep 0.2 &
    wait $!
  done
}

# Each prints all records of a store: "KEY SECONDS NUMBER", sorted.
records_of_postgres() {
  sql "SELECT convert_from(key, 'UTF8'), convert_from(value, 'UTF8') FROM stout
    WHERE value IS NOT NULL AND substr(key, 1, 4) = 'key:' ORDER BY key" -At -F ' '
}
records_of_redis() { # 18 bytes before each value are its stamp
  redis-cli -s "$work/redis/socket" --scan --pattern 'key:*' | sort -u >"$work/keys"
  sed 's/.*/GETRANGE & 18 -1/' "$work/keys" | redis-cli -s "$work/redis/socket" |
    paste -d ' ' "$work/keys" -
}
records_of_rocksdb() { # relaxed reads, which a node answers from its own datalet
  redis-cli -p "${ports[0]}" --scan --pattern 'key:*' | sort -u >"$work/keys"
  { echo READONLY && sed 's/^/GET /' "$work/keys"; } | redis-cli -p "${ports[0]}" | tail -n +2 |
    paste -d ' ' "$work/keys" -
}

all_same() {
  local store
  for store in rocksdb redis postgres; do
    "records_of_$store" >"$work/$store.records" || return 1
  done
  (($(wc -l <"$work/rocksdb.records") == keys)) && all_follow &&
    cmp -s "$work/rocksdb.records" "$work/redis.records" &&
    cmp -s "$work/rocksdb.records" "$work/postgres.records"
}

# --- Time -----------------------------------------------------------------------------------------

now_us() { echo $((${EPOCHREALTIME/./} - start_us)); }

# mark TEXT: an event, at its time in the plot.
mark() {
  local us
  us=$(now_us)
  printf '%d.%06d "%s"\n' $((us / 1000000)) $((us % 1000000)) "$1" >>"$out/events.dat"
  printf '%4d s   %s\n' $((us / 1000000)) "$1"
}

last=(0 0) last_us=0 newest=0
# tick: one line of figures, since the line before.
tick() {
  local i us answered report='' rates=() states
  us=$(now_us)
  for i in 0 1; do
    kill -0 "${loads[i]}" 2>/dev/null || die "a load ended early: $(<"$work/load$i.errors")"
    answered=$(awk '{ n += $5 } END { print n + 0 }' "$work/load$i.dat")
    rates+=($(((answered - last[i]) * 1000000 / (us - last_us))))
    last[i]=$answered
  done
  last_us=$us
  read -r -a states < <(member_states)
  report=$(sql "SELECT sum(records), sum(total), extract(epoch FROM min(newest)) FROM servers" \
    -At -F ' ') || report=
  [[ ! $report ]] || newest=${report##* }
  awk -v us="$us" -v rates="${rates[*]}" -v states="${states[*]}" -v report="$report" \
    -v newest="$newest" -v now="$EPOCHREALTIME" -v data="$out/polyglot.dat" 'BEGIN {
      split(rates, rate); split(states, state); age = now - newest
      printf "%.2f %d %d %.2f %d %d\n", us / 1e6, rate[1], rate[2], age, state[4], state[2] >>data
      text = split(report, part) ? sprintf("%d records, sum %d", part[1], part[2]) : "none"
      printf "%4d s %5d + %d requests/s   ", us / 1e6, rate[1], rate[2]
      printf "Redis in %d of 16   report: %s; ", state[2], text
      printf "newest %.2f s old, %d keys behind\n", age, state[4] }'
}

# step: until the next event, with a line each second.
step() {
  local end=$(($(now_us) + step_seconds * 1000000))
  while (($(now_us) < end)); do
    sleep 0.9 & # the line takes time, too
    wait $!
    tick
  done
}

# kill_other NAME: with -9, and its children.
kill_other() {
  database=${others[$1]}
  signal_database KILL
  wait "$database" 2>/dev/null || true
  others[$1]='' database=''
}

# load INDEX OPTION...: offers a load to the node with this index.
load() {
  : >"$work/load$1.dat"
  "$bin/member-bench" --server "127.0.0.1:${ports[$1]}" --keys "$keys" --samples \
    --clients "$clients" --rate "$rate" --warm-up 1ms --measure 86400s \
    --timeline "$work/load$1.dat" "${@:2}" >"$work/load$1.json" 2>"$work/load$1.errors" &
  loads[$1]=$!
}

# --- The run --------------------------------------------------------------------------------------

cat <<TEXT
Two nodes keep each record in RocksDB and in Redis; a write is answered when both have it.
PostgreSQL follows as a lazy member. Two synthetic loads offer $rate requests per second each: job
launch (50 % gets) and I/O forwarding (62 % gets). A report sums up all records by SQL.

TEXT
chmod 711 "$work" # PostgreSQL may run as another user
start_other etcd start_etcd "$work/etcd"
start_other postgres start_postgres "$work/postgres"
start_redis_in_memory() { start_redis "$work/redis" --appendonly no; }
start_other redis start_redis_in_memory
start_node 0 "rocksdb:$work/node0/data" --datalet-id rocksdb --replicas 2
start_node 1 "$redis_url?detect_loss=true" --datalet-id redis --replicas 2
ask STOUT.DATALET ADD "$postgres_url" postgres LAZY
await_all 30 all_follow || die "some ranges lack members: $(member_states)"
fill() {
  "$bin/member-bench" --server "127.0.0.1:${ports[0]}" --keys "$keys" --samples --fill \
    2>"$work/fill.errors"
}
await_all 30 fill || die "not all records could be written: $(<"$work/fill.errors")"
# The last digit of a key is the server that it is about.
sql "CREATE VIEW samples AS
  SELECT right(convert_from(key, 'UTF8'), 1) AS server,
    split_part(convert_from(value, 'UTF8'), ' ', 1)::float8 AS at,
    split_part(convert_from(value, 'UTF8'), ' ', 2)::int8 AS number
  FROM stout WHERE value IS NOT NULL AND substr(key, 1, 4) = 'key:'" || die "$(<"$work/sql.errors")"
sql "CREATE VIEW servers AS
  SELECT server, count(*) AS records, sum(number) AS total, to_timestamp(max(at)) AS newest
  FROM samples GROUP BY server" || die "$(<"$work/sql.errors")"

start_us=${EPOCHREALTIME/./}
: >"$out/polyglot.dat"
: >"$out/events.dat"
load 0 --gets 50
load 1 --gets 62 --relaxed 100
step
mark "PostgreSQL is killed"
kill_other postgres
step
start_other postgres start_postgres "$work/postgres"
mark "it is back"
step
# Redis alone would forget what it alone has.
await_all 30 rocksdb_follows || die "RocksDB lacks records: $(member_states)"
mark "Redis is killed"
kill_other redis
step
start_other redis start_redis_in_memory
mark "it is back, empty"
step

# --- The verdict ----------------------------------------------------------------------------------

for i in 0 1; do kill "${loads[i]}"; done
echo
names=("job launch" "I/O forwarding")
for i in 0 1; do
  wait "${loads[i]}" || die "a load failed: $(<"$work/load$i.errors")"
  jq -r --arg name "${names[i]}" 'def ms: . / 10 | round / 100;
    "\($name): \(.answered) requests, \(.refused) refused; p50 \(.p50_us | ms) ms, "
    + "p99 \(.p99_us | ms) ms; at most \(.silence_ms | max) ms without an answer"' \
    "$work/load$i.json"
done
loads=()
result=0
sql_timeout=60s # all records take longer than a report
for store in rocksdb redis postgres; do : >"$work/$store.records"; done
await_all 60 all_same || result=1
echo
sql "SELECT * FROM servers ORDER BY server" || true
for store in rocksdb redis postgres; do
  printf '%-9s %6d records, SHA-256 %.16s\n' "$store" "$(wc -l <"$work/$store.records")" \
    "$(sha256sum <"$work/$store.records")"
done
if ((result == 0)); then
  echo "verdict: the three stores have the same $keys records"
else
  echo "verdict: the three stores do NOT have the same $keys records; states: $(member_states)"
fi
draw polyglot || echo "no plot"
exit "$result"
