#!/usr/bin/env bash
# Records the changes of a document server until a signal ends it, and replays them in the simulator.
#
# Usage: record_test.sh DIRECTORY_OF_PROGRAMS
set -euo pipefail
bin=$1

# shellcheck source-path=SCRIPTDIR source=work_directory.sh
source "$(dirname "${BASH_SOURCE[0]}")/work_directory.sh"
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# serve FILE [COMMANDS]: starts a server that records to this file. Its shell runs the commands first.
# Sets `server` and `port`.
serve() {
  : >"$work/stdout" # it is there before the server
  (
    eval "${2-}"
    exec "$bin/docstore-server" --store memory: --listen 127.0.0.1:0 --record "$1"
  ) >>"$work/stdout" 2>"$work/stderr" </dev/null &
  server=$!
  await_port "$server"
}

# changes: 50 new sections, which are 100 changes, and 100 changes of the first.
changes() {
  local sections=http://127.0.0.1:$port/docs/doc/sections
  curl -sS --fail --max-time 60 -X PUT --data-binary text "$sections/[1-50]" >"$work/out"
  curl -sS --fail --max-time 60 -X PUT --data-binary text "$sections/1?change=[1-100]" >"$work/out"
}

echo '{"warmup_s": 0, "clients": {"count": 2}}' >"$work/scenario.json"

# replay FILE POLICY: the simulator has seen all changes; prints the digest of the run.
replay() {
  "$bin/stout-sim" run "$work/scenario.json" --policy "$2" --trace "$1" --json >"$work/result.json"
  jq -e --arg policy "$2" '.policy == $policy and (.offered_per_s * .measured_s | round) == 200
    and .completed_per_s > 0' "$work/result.json" >"$work/out" ||
    fail "$1 under $2: $(jq -c 'del(.timeline)' "$work/result.json")"
  jq -r .digest "$work/result.json"
}

for signal in TERM INT; do
  file=$work/$signal.csv
  serve "$file"
  [[ -n $port ]] || fail "the server does not serve: $(<"$work/stderr")"
  changes
  kill "-$signal" "$server"
  wait "$server" || fail "status $? after SIG$signal: $(<"$work/stderr")"
  lines=$(wc -l <"$file")
  ((lines == 201)) || fail "$lines lines instead of 201 after SIG$signal"
  for policy in natural adaptive; do replay "$file" "$policy" >"$work/digest"; done
done

gzip -k "$file"
[[ $(replay "$file.gz" adaptive) == $(<"$work/digest") ]] || fail "the packed file is another load"

# A disk that is full after 2 KiB.
file=$work/full.csv
serve "$file" "trap '' XFSZ; ulimit -f 2"
changes
kill "$server"
wait "$server" || fail "status $? after a full disk: $(<"$work/stderr")"
grep -q "the recording ends, and the server goes on: .*File too large" "$work/stderr" ||
  fail "$(<"$work/stderr")"
[[ $(tail -c 1 "$file" | od -An -c) == *'\n' ]] || fail "a line is cut off: $(tail -n 1 "$file")"
"$bin/stout-sim" run "$work/scenario.json" --trace "$file" >"$work/out" || fail "$(<"$work/out")"

serve "$file"
[[ -z $port ]] || fail "a second server overwrites the recording"
wait "$server" && fail "status 0 of a server that cannot record"
grep -q "the file is not empty; move it away" "$work/stderr" || fail "$(<"$work/stderr")"
