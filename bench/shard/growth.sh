# The memory of a server while data is loaded, and when it is quiet, and its rate of gets afterwards:
# 10 GB, which is much more than one file of a shard holds, or 1 GiB with a small budget.
# Sourced by run.sh behind server.sh and redis.sh.
# shellcheck shell=bash disable=SC2034,SC2154

growth_bytes=$((10 * 1000 * 1000 * 1000)) growth_budget=$((4 << 30))
memory_bytes=$((1 << 30)) memory_budget=400000000
if [[ $quick ]]; then
  growth_bytes=$((64 << 20)) growth_budget=$((32 << 20))
  memory_bytes=$((16 << 20)) memory_budget=$((8 << 20))
fi

# watch_memory PID: a line each second while the process lives: time, resident bytes, and which of
# them are of files; keys, bytes and number of compressed files.
watch_memory() {
  echo time_s,resident,of_files,keys,compressed,files
  local start=$SECONDS resident file
  while kill -0 "$1" 2>/dev/null; do
    read -r resident file < <(awk '/^VmRSS/ { r = $2 } /^RssFile/ { f = $2 }
      END { printf "%.0f %.0f\n", r * 1024, f * 1024 }' "/proc/$1/status")
    echo "$((SECONDS - start)),$resident,$file,$(total keys),$(total compressed_bytes),$(total compressed_files)"
    sleep 1
  done 2>/dev/null
}

# await_quiet_memory: until no merge runs, and then until resident memory has not shrunk for 5 s. Sets
# `quiet_resident`: at most 1.1 times the budget and 20 MB, and changes that are not merged (docs/SHARD.md).
await_quiet_memory() {
  local now still=0
  await_calm
  quiet_resident=$(resident)
  while ((still < 5)); do
    sleep 1
    now=$(resident)
    if ((now < quiet_resident)); then quiet_resident=$now still=0; else ((++still)); fi
  done
}

# growth NAME BYTES BUDGET: figures go to NAME.csv and NAME.json.
growth() {
  local name=$1 bytes=$2 budget=$3
  say "loading $((bytes / 1000000)) MB under a budget of $((budget / 1000000)) MB"
  stop_database
  apart start_blowfish "$scratch/growth" --shards 2 --memory-budget "$budget" --attributes "$attributes"
  local csv=$results/shard/$name.csv began=$SECONDS watcher loaded quiet quiet_resident
  watch_memory "$database" >"$csv" &
  watcher=$!
  "$bin/shard-data" --size "$bytes" --format keyed --out - 2>"$scratch/errors" |
    "$bin/blowfish-load" --to "127.0.0.1:$blowfish_port" --drop-key - ||
    { cat "$scratch/errors" >&2 && return 1; }
  loaded=$((SECONDS - began))
  say "loaded in $loaded s; waiting for merges"
  await_quiet_memory
  quiet=$((SECONDS - began - 7))
  say "gets"
  # It fails if a key is missing.
  raw_bytes=$bytes offer /dev/null --operations get --closed "$calibration" --depth 16 \
    --connections 16 2>"$scratch/errors" || { cat "$scratch/errors" >&2 && return 1; }
  # While the server ends, its figures are wrong.
  kill "$watcher"
  wait "$watcher" || true
  jq -n --arg commit "$commit" --arg machine "$machine" --argjson bytes "$bytes" \
    --argjson budget "$budget" --argjson loaded_s "$loaded" --argjson quiet_s "$quiet" \
    --argjson keys "$(total keys)" --argjson files "$(total compressed_files)" \
    --argjson most "$(cut -d, -f2 "$csv" | sort -n | tail -n 1)" --argjson last "$(resident)" \
    --argjson quiet_resident "$quiet_resident" \
    --argjson compressed "$(total compressed_bytes)" --slurpfile gets "$scratch/summary" \
    '{$bytes, $budget, $keys, $loaded_s, $quiet_s, most_resident: $most, $quiet_resident, resident_at_end: $last,
      compressed_bytes: $compressed, $files, gets_per_s: ($gets[0].answered_per_s | round),
      $commit, $machine}' \
    >"$results/shard/$name.json"
  stop_database
  cat "$results/shard/$name.json"
  gnuplot -e "out='$pictures/shard-$name.svg'; data='$csv'; budget=$budget.0; \
    caption='A load of $((bytes / 1000000)) MB of line items into 2 shards'" "$here/growth.gp"
}
