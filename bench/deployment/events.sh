#!/usr/bin/env bash
# events.sh [ROUNDS]: measures what etcd pays to tell one watcher of one change.
#
# Starts a private etcd. Watchers follow a prefix through its HTTP gateway, as nodes do, while a record of
# 200 bytes is changed: 100 and 400 times a second, and as fast as 16 writers can. The processor time of
# etcd with 10 and with 100 watchers, less that without any, is the cost of the events. If there is an
# etcdctl (Debian: etcd-client), also with 20 watchers by gRPC. Prints the medians of 5 rounds (by default),
# the least and the largest. Writes all runs to bench/results/deployment-events.json; with ROUNDS, to
# build/ instead. Takes some minutes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "bench deployment: $*" >&2 && exit 1; }
rounds=${1:-5} changes=1000 results=$here/../results
(($# == 0)) || results=$here/../../build
if [[ ! $rounds =~ ^[1-9][0-9]*$ ]]; then
  sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0" >&2
  exit 2
fi
for program in curl etcd jq; do
  command -v "$program" >/dev/null || fail "no $program"
done
# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-events.XXXXXX")
database='' etcd_address='' listeners=''
end() {
  local pid
  for pid in $1; do { kill "$pid" && wait "$pid"; } 2>/dev/null || true; done
}
trap 'end "$listeners"; end "$database"; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

put=$(jq -nc '{key: ("app/set/7" | @base64), value: ("x" * 200 | @base64)}')
watch=$(jq -nc '{create_request: {key: ("app/" | @base64), range_end: ("app0" | @base64)}}')

processor_time() { awk '{ print $14 + $15 }' "/proc/$database/stat"; } # in hundredths of a second

# await_heard TEXT: until each watcher has the text in its last message.
await_heard() {
  local i
  for ((i = 0; i < 600; ++i)); do
    (($(tail -qn 1 "$scratch"/heard-* 2>/dev/null | grep -c "$1") < watchers)) || return 0
    sleep 0.1
  done
  fail "a watcher did not hear everything within a minute"
}
# The number of the newest change.
revision() {
  curl -s "http://$etcd_address/v3/kv/range" -d '{"key": "AA=="}' | jq -r .header.revision
}

# listen gateway|grpc: starts the watchers.
listen() {
  local i
  rm -f "$scratch"/heard-*
  if [[ $1 == gateway ]]; then
    curl -sN --parallel --parallel-immediate --parallel-max 300 -d "$watch" -o "$scratch/heard-#1" \
      "http://$etcd_address/v3/watch?[1-$watchers]" 2>"$scratch/watch.log" &
    listeners=$!
    await_heard created
  else
    for ((i = 0; i < watchers; ++i)); do
      ETCDCTL_API=3 etcdctl --endpoints "$etcd_address" watch --prefix app/ -w json \
        >"$scratch/heard-$i" 2>"$scratch/watch.log" &
      listeners+=" $!"
    done
    sleep 2 # it does not report that it has begun
  fi
}

# run gateway|grpc WATCHERS RATE: adds a line of JSON. Rate 0: as fast as 16 writers can.
run() {
  local watchers=$2 used begin pace=(--rate "$3/s")
  (($3)) || pace=(--parallel --parallel-max 16)
  ((watchers == 0)) || listen "$1"
  used=$(processor_time) begin=${EPOCHREALTIME/./}
  curl -sf "${pace[@]}" -d "$put" -o /dev/null "http://$etcd_address/v3/kv/put?[1-$changes]" \
    2>"$scratch/put.log" || fail "a change failed: $(tail -n 1 "$scratch/put.log")"
  ((watchers == 0)) || await_heard "\"mod_revision\":\"\?$(revision)\\>"
  jq -nc --arg by "$1" --argjson watchers "$watchers" --argjson rate "$3" --argjson changes "$changes" \
    --argjson us $((${EPOCHREALTIME/./} - begin)) --argjson used $(($(processor_time) - used)) \
    '{$by, $watchers, $rate, $changes, seconds: ($us / 1e6), processor_s: ($used / 100)}' >>"$scratch/runs"
  end "$listeners"
  listeners=''
}

start_etcd "$scratch/etcd"
for ((round = 0; round < rounds; ++round)); do
  for rate in 100 400 0; do
    for watchers in 0 10 100; do run gateway "$watchers" "$rate"; done
    ((rate != 100)) || ! command -v etcdctl >/dev/null || run grpc 20 "$rate"
  done
done
mkdir -p "$results"
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
jq -s --arg machine "$machine" --argjson cpus "$(nproc)" \
  --arg etcd "$(etcd --version | sed -n 's/^etcd Version: //p')" \
  '{$machine, $cpus, $etcd, when: (now | todate), runs: .}' \
  "$scratch/runs" >"$results/deployment-events.json"
jq -r -f "$here/events.jq" "$results/deployment-events.json"
