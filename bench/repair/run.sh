#!/usr/bin/env bash
# run.sh BIN_DIR [SIZE...]: how a member gets its data back that lost its directory: by
# blowfish-server --copy-from, and by a fill, key by key. Measures bytes, the time until the member
# serves and until its layers are back, and the gets of the source meanwhile. A second table has the
# paper's figure 7: replicas and the Reed-Solomon code RS(10,2). A third one has the highest rate of gets of a
# source, while it sends what each of them needs.
#
#   SIZE      MiB of line items; by default 64 and 256. Otherwise figures go to BIN_DIR/../repair/
#   --quick   4 MiB and shorter loads, to BIN_DIR/../repair-quick/
#
# Starts private blowfish-servers, and stops them again. Prints a table, and writes all figures to
# bench/results/repair.json. README.md describes the method.
set -euo pipefail

# shellcheck source=/dev/null
source "$(dirname "$0")/../arguments.sh"
sizes=() seconds=10 rate=4000 rounds=3
while (($#)); do
  case $1 in
    --quick) sizes=(4) seconds=2 rounds=1 results=$bin/../repair-quick ;;
    -h | --help) usage && exit ;;
    *) sizes+=("$1") results=$bin/../repair ;;
  esac
  shift
done
((${#sizes[@]})) || sizes=(64 256)
for program in jq python3 redis-cli "$bin"/{blowfish-server,blowfish-load,repair-codes,repair-fill,shard-data,shard-load}; do
  command -v "$program" >/dev/null || { echo "bench repair: no $program; repair-codes needs libisal-dev" >&2 && exit 1; }
done
mkdir -p "$results"

# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"
# shellcheck source=/dev/null
source "$here/../blowfish.sh"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/stout-repair.XXXXXX")
source_process='' target_process='' load_process='' sender_process=''
stop() { # VARIABLE: with the name of a process
  [[ -z ${!1} ]] || kill "${!1}" 2>/dev/null || true
  [[ -z ${!1} ]] || wait "${!1}" 2>/dev/null || true
  printf -v "$1" ''
}
trap 'for each in load sender target source; do stop "${each}_process"; done; rm -rf "$scratch"' EXIT
trap 'echo "bench repair: interrupted" >&2; exit 130' INT TERM

now() { echo "$EPOCHREALTIME"; }
since() { jq -n --argjson from "$1" --argjson to "$EPOCHREALTIME" '($to - $from) * 1000 | round / 1000'; }

await() { # WHAT COMMAND...
  local what=$1
  shift
  for _ in {1..60000}; do
    ! "$@" || return 0
    sleep 0.01
  done
  echo "bench repair: $what did not happen in ten minutes" >&2
  exit 1
}

shards=2 layers=3

# shellcheck disable=SC2154
start_source() { # MiB
  apart start_blowfish "$scratch/source" --shards "$shards" --attributes "$attributes" \
    --memory-budget "$(($1 << 23))"
  source_process=$database source_port=$blowfish_port
  "$bin/shard-data" --size "$1MiB" --format keyed --out - 2>"$scratch/errors" |
    "$bin/blowfish-load" --to "127.0.0.1:$source_port" --drop-key --quiet - ||
    { cat "$scratch/errors" >&2 && return 1; }
  # A start with small --merge-bytes compresses what is still in the logs.
  stop source_process
  apart start_blowfish "$scratch/source" --memory-budget "$(($1 << 23))" --freeze-bytes 1 --merge-bytes 1
  source_process=$database source_port=$blowfish_port
  await 'the compression' compressed "$source_port"
  order_layers "$source_port" "$shards" "$layers"
  await 'the fill of layers' layers_are_full "$source_port" "$layers"
}

start_target() { # MiB [OPTION...]
  stop target_process
  rm -rf "$scratch/target"
  apart start_blowfish "$scratch/target" --memory-budget "$(($1 << 23))" "${@:2}"
  target_process=$database target_port=$blowfish_port
}
copy() { start_target "$1" --copy-from "blowfish://127.0.0.1:$source_port"; }
# Smaller merges than by default, so that most of the data is compressed when the fill ends.
start_empty() {
  start_target "$1" --shards "$shards" --attributes "$attributes" --merge-bytes "$(($1 << 16))"
}
fill() {
  "$bin/repair-fill" --from "blowfish://127.0.0.1:$source_port" --to "blowfish://127.0.0.1:$target_port"
}

sent() { info_total "$source_port" stats total_net_output_bytes; }
# taken: what the target has received and sent, because an owner compares its states.
taken() {
  echo $(($(info_total "$target_port" stats total_net_input_bytes) +
    $(info_total "$target_port" stats total_net_output_bytes)))
}

# measure_copy MiB, measure_fill MiB: without load; one line of JSON.
measure_copy() {
  local before bytes began serves layered result
  before=$(sent) began=$(now)
  copy "$1"
  serves=$(since "$began")
  await 'the fill of layers' layers_are_full "$target_port" "$layers"
  layered=$(since "$began")
  bytes=$(($(sent) - before))
  # What the owner then does, although nothing differs.
  before=$(($(sent) + $(taken)))
  result=$(fill)
  jq -cn --argjson bytes "$bytes" --argjson serves "$serves" --argjson layered "$layered" \
    --argjson moved "$(($(sent) + $(taken) - before))" --argjson fill "$result" \
    '{bytes: $bytes, serves_s: $serves, layers_s: $layered, fill_after: ({bytes: $moved} + $fill)}'
}
measure_fill() {
  local before bytes began serves layered result
  start_empty "$1"
  before=$(sent) began=$(now)
  result=$(fill)
  serves=$(since "$began")
  # What the owner reads, and what it writes.
  bytes=$(($(sent) - before + $(taken)))
  order_layers "$target_port" "$shards" "$layers"
  await 'the fill of layers' layers_are_full "$target_port" "$layers"
  layered=$(since "$began")
  jq -cn --argjson bytes "$bytes" --argjson serves "$serves" --argjson layered "$layered" \
    --argjson fill "$result" '{bytes: $bytes, serves_s: $serves, layers_s: $layered, $fill}'
}

# measure_codes MiB: the code over the values, and over the files of the source.
measure_codes() {
  "$bin/shard-data" --size "$1MiB" --out "$scratch/values" 2>"$scratch/errors"
  find "$scratch/source/data" -path "*/shard-*" -type f -print0 | sort -z | xargs -0 cat >"$scratch/files"
  jq -n --argjson values "$("$bin/repair-codes" "$scratch/values")" \
    --argjson files "$("$bin/repair-codes" "$scratch/files")" '{$values, $files}'
  rm "$scratch/files"
}

# begin_gets MiB TIME, end_gets: gets at the source, at a fixed rate; prints their summary.
begin_gets() {
  "$bin/shard-load" --to "127.0.0.1:$source_port" --size "$1MiB" --operations get --csv /dev/null \
    --json "$scratch/gets" --phase "$rate:$2" 2>"$scratch/errors" &
  load_process=$!
}
end_gets() {
  wait "$load_process" || [[ $? == 130 ]] || { cat "$scratch/errors" >&2 && return 1; }
  load_process=''
  jq -c '{answered_per_s, p50_ms, p99_ms, p999_ms, failed, generator_lateness_p99_ms}' "$scratch/gets"
}
quiet_gets() {
  begin_gets "$1" "${seconds}s"
  end_gets
}
# The target and the owner, which elsewhere are on other machines, get only processor time that the
# source and the clients leave.
low=$scratch/low
mkdir "$low"
for program in blowfish-server repair-fill; do
  printf '#!/bin/sh\nexec nice -n 19 "%s" "$@"\n' "$bin/$program" >"$low/$program"
done
chmod +x "$low"/*

# A copy is short, so it is repeated.
gets_beside_copies() {
  begin_gets "$1" 3600s
  local end=$((SECONDS + seconds)) bin=$low
  while ((SECONDS < end)); do copy "$1"; done
  kill -INT "$load_process"
  end_gets
}
gets_beside_fill() {
  start_empty "$1"
  begin_gets "$1" 3600s
  local bin=$low
  renice -n 19 -p "$target_process" >/dev/null
  fill >/dev/null
  kill -INT "$load_process"
  end_gets
}

# --- The highest rate of gets -----------------------------------------------------------------------------

begin_closed() { # MiB: as many gets as the source answers
  "$bin/shard-load" --to "127.0.0.1:$source_port" --size "$1MiB" --operations get --csv /dev/null \
    --json "$scratch/closed" --closed "$((seconds / 2))s" 2>"$scratch/errors" &
  load_process=$!
}

# A source of a code's repair sends a tenth of what the link of the new server carries, of 1 or 10 Gbit/s. All
# of it is in the page cache. Copies follow each other, as fast as they can.
closed_side() { # MiB SIDE
  local gets copies=0 sends=null bin=$bin
  if [[ $2 == code-* ]]; then
    python3 "$here/send_blocks.py" $((${2#code-} * 12500000)) "$scratch/values" >"$scratch/sends" &
    sender_process=$!
  fi
  begin_closed "$1"
  bin=$low
  while [[ $2 == copy ]] && kill -0 "$load_process" 2>/dev/null; do
    copy "$1"
    copies=$((copies + 1))
  done
  ((!copies)) || sends=$(jq --argjson copies "$copies" --argjson time $((seconds / 2)) '.bytes * $copies / $time' \
    "$scratch/by_copy")
  wait "$load_process" || { cat "$scratch/errors" >&2 && return 1; }
  load_process=''
  gets=$(jq .answered_per_s "$scratch/closed")
  stop target_process
  if [[ $sender_process ]]; then
    stop sender_process
    sends=$(<"$scratch/sends")
  fi
  ((round == 0)) || jq -cn --arg side "$2" --argjson round "$round" --argjson gets "$gets" --argjson sends "$sends" \
    '{$side, $round, gets_per_s: $gets, sent_per_s: $sends}' >>"$scratch/closed.runs"
}
closed_sides() { # MiB
  local round side
  : >"$scratch/closed.runs"
  for ((round = 0; round <= rounds; ++round)); do
    for side in alone code-1 code-10 copy; do closed_side "$1" "$side"; done
  done
  jq -s -L "$here" 'include "codes"; closed' "$scratch/closed.runs"
}

commit=$(source_commit)
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
# report: all sizes so far.
report() {
  jq -s --arg commit "$commit" --arg machine "$machine" --argjson rate "$rate" --argjson layers "$layers" \
    '{gets_per_s: $rate, layers: $layers, runs: ., commit: $commit, machine: $machine}' \
    "$scratch/runs" >"$results/repair.json"
  jq -r 'def mb: . / 1e6 * 10 | round / 10;
    ["MiB", "by", "MB sent", "serves_s", "layers_s", "gets p50_ms", "p99_ms", "p50 before", "p99 before"],
    (.runs[] | . as $run | ["copy", "fill"][] | . as $by | $run[$by] as $way
     | $run.gets["beside_" + $by] as $gets
     | [$run.mib, $by, ($way.bytes | mb), $way.serves_s, $way.layers_s, $gets.p50_ms, $gets.p99_ms,
        $run.gets.before.p50_ms, $run.gets.before.p99_ms]) | @tsv' "$results/repair.json" |
    column -t -s "$(printf '\t')"
  for table in codes_table closed_table; do
    jq -r -L "$here" "include \"codes\"; $table" "$results/repair.json" | column -t -s "$(printf '\t')"
  done
}

: >"$scratch/runs"
for size in "${sizes[@]}"; do
  say "filling a source with $size MiB"
  start_source "$size"
  compressed_bytes=$(info_total "$source_port" shards compressed_bytes)
  say "codes"
  measure_codes "$size" >"$scratch/codes"
  say "copying"
  measure_copy "$size" >"$scratch/by_copy"
  say "gets without and beside copies"
  quiet_gets "$size" >"$scratch/before"
  gets_beside_copies "$size" >"$scratch/beside_copy"
  say "filling key by key"
  measure_fill "$size" >"$scratch/by_fill"
  say "gets beside a fill"
  gets_beside_fill "$size" >"$scratch/beside_fill"
  stop target_process
  say "the highest rate of gets"
  closed_sides "$size" >"$scratch/by_side"
  stop source_process
  rm -rf "$scratch"/{source,target,values}
  jq -cn --argjson size "$size" --argjson compressed "$compressed_bytes" --slurpfile copy "$scratch/by_copy" \
    --slurpfile fill "$scratch/by_fill" --slurpfile before "$scratch/before" --slurpfile codes "$scratch/codes" \
    --slurpfile closed "$scratch/by_side" \
    --slurpfile beside_copy "$scratch/beside_copy" --slurpfile beside_fill "$scratch/beside_fill" \
    '$copy[0] as $copy | $fill[0] as $fill
     | {mib: $size, compressed_bytes: $compressed, $copy, $fill, codes: $codes[0], closed: $closed[0],
      gets: {before: $before[0], beside_copy: $beside_copy[0], beside_fill: $beside_fill[0]},
      ratios: {bytes: ($fill.bytes / $copy.bytes), serves: ($fill.serves_s / $copy.serves_s),
               layers: ($fill.layers_s / $copy.layers_s)} | map_values(. * 100 | round / 100)}' \
    >>"$scratch/runs"
  report
done
