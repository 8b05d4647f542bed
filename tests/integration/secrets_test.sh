#!/usr/bin/env bash
# Starts the programs with a password in a URL, and checks that no output has the password. The cases
# are stores that do not exist, wrong passwords, malformed URLs, mistakes on the command line.
#
# Usage: secrets_test.sh DIRECTORY_OF_PROGRAMS
set -euo pipefail
bin=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR/../.. source=sample-apps/demo/databases.sh
. "$root/sample-apps/demo/databases.sh"

readonly secret=hunter2
# shellcheck source-path=SCRIPTDIR source=work_directory.sh
source "$(dirname "${BASH_SOURCE[0]}")/work_directory.sh"
chmod 755 "$work"
failures=0 runs=0

# program NAME: the path of a program; a NAME with a directory is a path already.
program() { if [[ $1 == */* ]]; then echo "$1"; else echo "$bin/$1"; fi; }
has() { [[ -x $(program "$1") ]]; }

# look FILE WHAT: fails if the secret is in the file, or if nothing is.
look() {
  runs=$((runs + 1))
  if grep -q "$secret" "$1"; then
    echo "FAILED: $2: the output has the password in it:" >&2
    grep "$secret" "$1" >&2
    failures=$((failures + 1))
  elif [[ ! -s $1 ]]; then
    echo "FAILED: $2: it reported nothing" >&2
    failures=$((failures + 1))
  fi
}

# refused PROGRAM ARGUMENT...: it ends with an error that has no password in it.
refused() {
  has "$1" || return 0
  local status=0
  timeout 20 "$(program "$1")" "${@:2}" </dev/null >"$work/out" 2>&1 || status=$?
  if ((status == 0 || status == 124)); then
    echo "FAILED: $*: status $status instead of an error" >&2
    failures=$((failures + 1))
  fi
  look "$work/out" "$*"
}

# serves [ARGUMENT...]: docstore-server begins to serve, answers, and ends at SIGTERM, each without the
# password in its output. `meanwhile` is a command that runs before the end.
serves() {
  local port server status=0
  : >"$work/stdout" # it is there before the server
  "$bin/docstore-server" --listen 127.0.0.1:0 --log-level trace --reply-deadline 500ms "$@" \
    >>"$work/stdout" 2>"$work/stderr" </dev/null &
  server=$!
  await_port "$server"
  if [[ -z $port ]]; then
    echo "FAILED: docstore-server $*: it does not serve: $(<"$work/stderr")" >&2
    failures=$((failures + 1))
    return
  fi
  curl -s --max-time 5 -X PUT --data-binary text "127.0.0.1:$port/docs/one/sections/1" >"$work/out" ||
    status=$?
  curl -s --max-time 5 "127.0.0.1:$port/metrics" >>"$work/out" || status=$?
  curl -s --max-time 5 "127.0.0.1:$port/healthz" >>"$work/out" || status=$?
  ${meanwhile:-true}
  curl -s --max-time 5 -X PUT --data-binary text "127.0.0.1:$port/docs/one/sections/2" >>"$work/out" ||
    status=$?
  kill "$server"
  wait "$server" || true
  cat "$work/stdout" "$work/stderr" >>"$work/out"
  ((status == 0)) || { echo "FAILED: docstore-server $*: curl: $status" >&2 && failures=$((failures + 1)); }
  look "$work/out" "docstore-server $*"
}

readonly nowhere=127.0.0.1:1
readonly run_server=(docstore-server --listen 127.0.0.1:0 --log-level trace)
readonly run_router=(docstore-router --listen 127.0.0.1:0 --log-level trace)
urls=("memory://u:$secret@$nowhere" "rocksdb://u:$secret@$nowhere/x" "redis:u:$secret@h"
  "nothing://u:$secret@$nowhere" "u:$secret@$nowhere" "$secret")
malformed=("u:x/$secret@$nowhere" "u:x?$secret@$nowhere" "u:$secret%4@$nowhere" "u:$secret"
  "u:x $secret@h")
for scheme in postgres redis redis-cluster blowfish; do
  urls+=("$scheme://u:$secret@$nowhere")
  for text in "${malformed[@]}"; do urls+=("$scheme://$text"); done
done
urls+=("postgres://$nowhere/db?password=$secret" "postgres:host=127.0.0.1 port=1 password='$secret x'")
for url in "${urls[@]}"; do
  refused "${run_server[@]}" --store "$url"
done
for url in "postgres://u:$secret@$nowhere" "postgres://u:x/$secret@$nowhere" \
  "etcd://u:$secret@$nowhere" "redis://:$secret@$nowhere"; do
  refused "${run_server[@]}" --store "redis://$nowhere" --leases "$url"
  refused "${run_router[@]}" --leases "$url"
done

# Mistakes on the command line and in configuration files.
url=postgres://u:$secret@$nowhere
refused "${run_server[@]}" "$url"
refused "${run_server[@]}" --stor "$url"
refused "${run_server[@]}" "--stor=$url"
refused "${run_server[@]}" --threads "$url"
refused "${run_router[@]}" --lease "$url"
printf 'store = "%s"\n' "$url" >"$work/config.toml"
refused "${run_server[@]}" --config "$work/config.toml"
printf '{"store": "%s"}' "$url" >"$work/config.json"
refused "${run_server[@]}" --config "$work/config.json"
refused docstore-load --target "http://u:$secret@$nowhere"
refused docstore-load "$url"
refused docstore-import --target "http://u:$secret@$nowhere" "$0"
refused blowfish-load --to "blowfish://u:$secret@$nowhere" "$0"
refused policy-bench --store "$url" --measure 100ms --warmup 1ms
refused policy-bench --store "U:$url"
refused policy-bench --stor "$url"
refused store-bench compare --store "$url"
refused store-bench compare --store "redis://:$secret@$nowhere"

# The demo.
readonly run_demo=("$root/sample-apps/demo/demo.sh" "$bin" --out "$work/demo" --policies natural)
for url in "${urls[@]}"; do
  refused "${run_demo[@]}" --store "$url"
done
refused "${run_demo[@]}" --store memory: "$url"
refused "${run_demo[@]}" --stor "$url"
refused "${run_demo[@]}" "--store=$url"
refused "${run_demo[@]}" --step-seconds "$url"
"${run_demo[@]}" --store "$url" --help >"$work/out"
look "$work/out" "demo.sh --help"

if command -v redis-server >/dev/null && has docstore-server; then
  # It knows no AUTH, and its error repeats the argument.
  start_redis "$work/no-auth" --rename-command AUTH ""
  address=${redis_url#redis://}
  refused "${run_server[@]}" --store "redis://:$secret@$address"
  BLOWFISH_PASSWORD=$secret refused blowfish-load --to "$address" "$0"
  kill -KILL "$database"
  start_redis "$work/redis"
  redis-cli -s "$work/redis/socket" CONFIG SET requirepass "$secret" >/dev/null
  address=${redis_url#redis://}
  stop_redis() { kill -KILL "$database"; }
  refused "${run_server[@]}" --store "redis://:x$secret@$address"
  refused "${run_server[@]}" --store "redis://u:x$secret@$address"
  meanwhile=stop_redis serves --store "redis://:$secret@$address"
fi
if [[ -x ${postgres_programs[0]}/initdb ]] && has docstore-server; then
  start_postgres "$work/postgres"
  address="?host=$work/postgres"
  serves --store "postgres://postgres:$secret@/postgres$address"
  serves --store "postgres://postgres:$secret@/postgres$address" \
    --leases "postgres://postgres:$secret@/postgres$address" --advertise 127.0.0.1:1
  sed -i 's/trust$/scram-sha-256/' "$work/postgres/data/pg_hba.conf"
  kill -HUP "$database"
  sleep 0.3
  refused "${run_server[@]}" --store "postgres://postgres:x$secret@/postgres$address"
  refused "${run_server[@]}" --store "redis://$nowhere" --leases "postgres:///postgres$address&user=u&password=x$secret"
fi

echo "$runs outputs looked at, $failures failures"
((failures == 0))
