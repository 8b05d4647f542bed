#!/usr/bin/env bash
# run.sh BIN_DIR [--quick] [STORE...] [-- OPTION...]: compares the batching policies on PostgreSQL
# and Redis. 1, 4 and 16 docstore-server processes share one store, from light load to overload.
# STORE: postgres, redis, or link=BYTES_PER_SECOND: PostgreSQL behind a link of this speed (each
# way, shared by all servers). Default: postgres and redis.
#
#   --quick   one minute instead of about 40: fewer policies, 4 servers, shorter trials
#   --        the options after it go to fleet-bench, instead of the choices of this script
#
# Starts a private PostgreSQL (fsync and synchronous_commit are on) and a private Redis (appendfsync
# always), whose files are on this machine's disk, and stops them again. Prints tables. Writes all
# figures to bench/results/fleet.json, and pictures beside it; with --quick, a STORE or --, or when it
# is cut short, they go to BIN_DIR/../fleet/ instead. README.md describes the method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
documents=10000
options=(--servers 1,4,16 --documents "$documents,100" --rates 100,400,1600,6400,25600 --sustained 16)
stores=()
while (($#)); do
  case $1 in
    --quick)
      results=$bin/../fleet
      options=(--quick --servers 4 --documents "$documents" --rates 100,800,6400 --sustained 4
        --policies unbatched tick:20ms tick:160ms natural stout adaptive)
      ;;
    -h | --help) usage && exit ;;
    --)
      results=$bin/../fleet
      options=("${@:2}")
      break
      ;;
    postgres | redis | link=[1-9]*) stores+=("$1") results=$bin/../fleet ;;
    *) echo "bench fleet: no option '$1'" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done
((${#stores[@]})) || stores=(postgres redis)
for program in jq gnuplot "$bin/fleet-bench" "$bin/docstore-server" "$bin/docstore-load"; do
  command -v "$program" >/dev/null || { echo "bench fleet: no $program" >&2 && exit 1; }
done

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
# shellcheck source=/dev/null
source "$here/../../tests/integration/network_faults.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-fleet.XXXXXX")
chmod 755 "$scratch"  # PostgreSQL runs as a user of its own
database='' server=''
started=()
stop() {
  local pid
  for pid in "$@"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
}
# The server before its database, which would wait for it. A start that was cut short has set
# `database` alone.
trap 'stop $server "${started[@]}" $database; rm -rf "$scratch"' EXIT

open_postgres() {
  apart start_postgres "$scratch/postgres"
  url=$postgres_url
}

open_link() { # BYTES_PER_SECOND
  apart start_postgres "$scratch/link"
  start_network "$scratch/link/.s.PGSQL.5432"
  behave "bytes_per_second=$1"
  url="postgres://postgres@127.0.0.1:$network_port/postgres?sslmode=disable"
}

open_redis() {
  apart start_redis "$scratch/redis"
  url=$redis_url
}

# most_documents OPTION...: the largest number of --documents.
most_documents() {
  printf '%s\n' "$@" | awk -v usual="$documents" '
    /^-/ { named = sub(/^--documents=?/, "") }
    named {
      for (i = split($0, numbers, ","); i > 0; --i) if (numbers[i] + 0 > most) most = numbers[i] + 0
    }
    END { printf "%d", most ? most : usual }'
}

# fill URL: writes every document once, so that no trial but finds them there.
fill() {
  local address=''
  : >"$scratch/fill"
  "$bin/docstore-server" --store "$1" --listen 127.0.0.1:0 --log-level error >"$scratch/fill" &
  server=$!
  await_address "$scratch/fill" "$server" ||
    { echo "bench fleet: docstore-server does not start" >&2 && return 1; }
  "$bin/docstore-load" --target "http://$address" --documents "$documents" --preload \
    --rate 1 --duration 100ms >/dev/null 2>&1 ||
    { echo "bench fleet: cannot fill $1" >&2 && return 1; }
  stop "$server"
  server=''
}

documents=$(most_documents "${options[@]}")
choices=()
for store in "${stores[@]}"; do
  say "starting $store"
  IFS='=' read -r kind speed <<<"$store"
  "open_$kind" "$speed"
  started+=("$database") database=''
  fill "$url"
  choices+=("$kind=$url")
done

status=0
"$bin/fleet-bench" --store "${choices[@]}" "${options[@]}" \
  --json "$scratch/json" --plot-data "$scratch/plot" || status=$?
((status == 0 || status == 130)) || exit "$status"
((status == 0)) || results=$bin/../fleet

mkdir -p "$results"
jq -c --arg commit "$(source_commit)" \
  '. + {format: "stout fleet-bench 1", commit: $commit}' "$scratch/json" >"$results/fleet.json"
for data in "$scratch"/plot/*.dat; do
  [[ -e $data ]] || continue
  name=$(basename "$data" .dat)
  IFS=- read -r store servers of_documents <<<"$name"
  gnuplot -e "data='$data'; out='$results/fleet-$name.svg'" \
    -e "caption='$store, $servers application servers, $of_documents documents'" \
    "$here/../policies/latency.gp"
done
say "$(cd "$results" && pwd)/fleet.json"
exit "$status"
