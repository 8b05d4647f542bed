#!/usr/bin/env bash
# locked-rows.sh BIN_DIR: measures how long writes to 20 documents take while another session of
# PostgreSQL keeps the rows of 8 other documents locked, which are written too. Makes five rounds, one
# a second. Prints the median and the largest of the 100 times.
set -euo pipefail

bin=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
locked=8 others=20 rounds=5

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-locked-rows.XXXXXX")
chmod 755 "$scratch"  # PostgreSQL runs as a user of its own
database='' server='' stranger=''
stop() {
  local pid
  for pid in "$@"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
}
# The server before its database, which would wait for it. Without locks it ends at once.
trap 'stop $stranger $server $database; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

apart start_postgres "$scratch/postgres"
: >"$scratch/out"
"$bin/docstore-server" --store "$postgres_url" --listen 127.0.0.1:0 --reply-deadline 60s \
  >"$scratch/out" 2>"$scratch/log" &
server=$!
address=
for _ in {1..100}; do
  address=$(sed -n 's/^listening on //p' "$scratch/out")
  [[ -z $address ]] || break
  kill -0 "$server" 2>/dev/null || { cat "$scratch/log" >&2; exit 1; }
  sleep 0.1
done

# put TIMES DOCUMENT...: writes all at the same time; appends the seconds of each.
put() {
  local urls=()
  for document in "${@:2}"; do urls+=("http://$address/docs/$document/sections/s"); done
  curl --silent --parallel --parallel-immediate --parallel-max 50 --request PUT \
    --data "$RANDOM" --output /dev/null --write-out '%{time_total}\n' "${urls[@]}" \
    >>"$1" 2>"$scratch/progress"
}

mapfile -t held < <(seq -f 'locked-%g' "$locked")
mapfile -t free < <(seq -f 'other-%g' "$others")
put /dev/null "${held[@]}" "${free[@]}"
mkfifo "$scratch/commands"
"$postgres_programs/psql" -qAt -h "$scratch/postgres" -U postgres postgres \
  <"$scratch/commands" >"$scratch/held" &
stranger=$!
exec {commands}>"$scratch/commands"
echo "BEGIN; SELECT count(*) FROM (SELECT FROM stout WHERE position('locked-' in encode(key, 'escape')) > 0
FOR UPDATE) AS held;" >&"$commands"
for _ in {1..100}; do
  [[ ! -s $scratch/held ]] || break
  sleep 0.1
done
(($(<"$scratch/held") >= locked)) || { echo "locked-rows: nothing is locked" >&2; exit 1; }

# A writer that kept the pipe open would keep the rows locked.
put /dev/null "${held[@]}" {commands}>&- &
writers=($!)
for ((round = 0; round < rounds; ++round)); do
  put "$scratch/times" "${free[@]}" {commands}>&- &
  writers+=($!)
  sleep 1
done
wait "${writers[@]:1}"
exec {commands}>&-  # ends the session
wait "${writers[0]}"
sort -n "$scratch/times" | awk -v locked="$locked" -v others="$others" '
  { time[NR] = $1 }
  END {
    line = "{\"what\": \"%d rows locked, writes of %d other documents, %s\", \"value\": %.3f, \"unit\": \"s\"}\n"
    printf line, locked, others, "median", (time[int((NR + 1) / 2)] + time[int(NR / 2) + 1]) / 2
    printf line, locked, others, "largest", time[NR]
  }'
