#!/usr/bin/env bash
# locked-rows.sh BIN_DIR: measures how long writes to 20 documents take while another session of
# PostgreSQL keeps the rows of 8 other documents locked, which are written too. Makes five rounds, one
# a second. Prints the median and the largest of the 100 times.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/lib/measure.sh"
locked=8 others=20 rounds=5

start_postgres "$scratch/postgres"
start_docstore --store "$postgres_url" --reply-deadline 60s

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
