#!/usr/bin/env bash
# handover.sh BIN_DIR: docstore-server under leases has 64 documents. One of them cannot be written,
# because another session has locked its row. A second server joins, and the first is told to end.
# Prints the seconds until each of the other documents was written again, and until the first server
# has ended.
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/lib/measure.sh"

start_postgres "$scratch/postgres"
options=(--store "$postgres_url&timeout=1s" --leases "$postgres_url&poll=100ms" --lease-ttl 2s)
start_docstore "${options[@]}"
first=$address
for d in {1..64}; do seconds_until 60 put "$first" "d$d" >"$scratch/ready"; done

# The session holds its lock as long as the other end of its input is open.
mkfifo "$scratch/sql"
"$postgres_programs/psql" -qAt -h "$scratch/postgres" -U postgres <"$scratch/sql" >"$scratch/locked" &
exec 9>"$scratch/sql"
echo "BEGIN; SELECT 'locked' FROM stout WHERE key = 'd1/s/s' FOR UPDATE;" >&9
seconds_until 60 grep -q locked "$scratch/locked" >"$scratch/ready"
curl -s -m 90 -X PUT --data y "http://$first/docs/d1/sections/s" >/dev/null &

start_docstore "${options[@]}"
left=$(seq -f d%.0f 2 64)
all_written() { # by the second server, for the first is ending
  local d
  for d in $left; do put "$address" "$d" || return 1; left=${left#*$'\n'}; done
}
start=$(now)
kill -TERM "${servers[0]}"
seconds_until 60 all_written >"$scratch/served" || true
report "1 row locked, its server ends, until all others serve (60: never)" "$(since "$start")" s
wait "${servers[0]}" || true
report "1 row locked, its server ends, until it has ended" "$(since "$start")" s
