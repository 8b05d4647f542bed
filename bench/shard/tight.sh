# A server whose compressed files are twice as large as the memory that it may use: its rate of gets of
# one hot shard, of shards that get less and less, and of all alike. Needs root, for the control group.
# Sourced by run.sh behind server.sh.
# shellcheck shell=bash disable=SC2154

tight_bytes=$((1 << 30)) tight_seconds=10 tight_shards=8
[[ ! $quick ]] || tight_bytes=$((64 << 20)) tight_seconds=3
group=''

# open_group BYTES: a control group with this limit of memory; sets `group` and the file of its members.
open_group() {
  local parent=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
  members=tasks
  [[ -d $parent ]] || parent=/sys/fs/cgroup limit=memory.max members=cgroup.procs
  group=$parent/stout-bench-$$
  mkdir "$group" && echo "$1" >"$group/$limit" ||
    { echo "bench shard: $parent takes no group with a limit of memory: be root, outside of a container" >&2 && return 1; }
  # Otherwise the server's own memory may leave room for files.
  [[ ! -e $group/memory.swap.max ]] || echo 0 >"$group/memory.swap.max"
}
close_group() {
  [[ -z $group ]] || rmdir "$group" 2>/dev/null || true
  group=''
}

# forget_files: none of the server's files is in the system's page cache.
forget_files() {
  sync
  find "$scratch/tight" -type f -exec dd if={} iflag=nocache count=0 status=none \;
}

# serve_tight: in the group, if there is one.
serve_tight() {
  local programs=$scratch/programs real=$bin bin=$bin
  stop_database
  forget_files
  if [[ $group ]]; then
    mkdir -p "$programs"
    printf '#!/bin/sh\necho $$ >"%s" && exec "%s" "$@"\n' "$group/$members" "$real/blowfish-server" \
      >"$programs/blowfish-server"
    chmod +x "$programs/blowfish-server"
    bin=$programs
  fi
  apart start_blowfish "$scratch/tight" --memory-budget 1
}

# read_by_server: bytes that it has read from the disk.
read_by_server() { awk '/^read_bytes/ { print $2 }' "/proc/$database/io"; }

# tight_gets NAME OPTION...: after as long a time to warm up.
tight_gets() {
  local before
  tight_offer /dev/null --closed "${tight_seconds}s" "${@:2}"
  before=$(read_by_server)
  tight_offer /dev/null --closed "${tight_seconds}s" "${@:2}"
  jq -c --arg name "$1" --arg memory "$memory" --argjson read "$(($(read_by_server) - before))" \
    '{$memory, $name, gets_per_s: (.answered_per_s | round), p50_ms, p99_ms,
      read_per_get: ($read / .answered | round)}' "$scratch/summary" | tee -a "$scratch/tight.runs"
}

tight_offer() { # CSV OPTION...
  raw_bytes=$tight_bytes offer "$1" --operations get --connections 16 --depth 4 "${@:2}" 2>"$scratch/errors" ||
    { cat "$scratch/errors" >&2 && return 1; }
}

# tight_runs MEMORY: all measurements of a server that has just started.
tight_runs() {
  local memory=$1
  serve_tight
  tight_gets "one shard" --shard-skew zipf:8
  tight_gets "shards by Zipf's law (1)" --shard-skew zipf:1
  tight_gets "all alike"
  # Each shard in turn, none of them used just before.
  serve_tight
  tight_offer "$results/shard/tight-$memory.csv" --shard-skew zipf:8 --turn "$((tight_seconds / 2))s" \
    --closed "$((tight_seconds * tight_shards / 2))s"
}

# fill_tight: all records, compressed when the server starts again with small --merge-bytes.
fill_tight() {
  say "filling a server of $tight_shards shards with $((tight_bytes >> 20)) MiB"
  serve tight "$((tight_bytes * 2))" --shards "$tight_shards" --attributes "$attributes"
  raw_bytes=$tight_bytes keyed "$blowfish_port"
  serve tight "$((tight_bytes * 2))" --freeze-bytes 1 --merge-bytes 1
  until compressed "$blowfish_port"; do sleep 0.2; done
}

tight() {
  local compressed own
  fill_tight
  serve_tight
  compressed=$(total compressed_bytes)
  own=$(awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$database/status")
  : >"$scratch/tight.runs"
  tight_runs all
  stop_database
  open_group $((own + compressed / 2))
  tight_runs half
  stop_database
  close_group
  jq -s --arg commit "$commit" --arg machine "$machine" --argjson values "$tight_bytes" \
    --argjson files "$compressed" --argjson own "$own" \
    '{$values, $files, limit: ($own + $files / 2), runs: ., $commit, $machine}' "$scratch/tight.runs" \
    >"$results/shard/tight.json"
  gnuplot -e "out='$pictures/shard-tight.svg'; all='$results/shard/tight-all.csv'; \
    half='$results/shard/tight-half.csv'; turn=$((tight_seconds / 2))" "$here/tight.gp"
}
