# Kinds of values, and line items beside them: size, gets, searches for substrings, and building,
# beside RocksDB and Redis, and the rate of merges of our server. Sourced by run.sh behind server.sh.
# shellcheck shell=bash disable=SC2154

kind_bytes=$((32 << 20)) kind_options=(--gets 50000 --substrings 100 --longest 0.5s)
if [[ $quick ]]; then
  kind_bytes=$((1 << 20)) kind_options=(--gets 2000 --substrings 10 --repeats 1 --longest 0.1s)
fi

# of_kind KIND: sets `kind`, the options of shard-data that make such values.
of_kind() {
  kind=()
  [[ $1 == lineitem ]] || kind=(--kind "$1")
}

# await_merges: until merges of our server have run, and none has run or waited for half a second.
# Sets `merge_s` to the time in which they did, or to null if they were too short to be seen.
await_merges() {
  local name value running=0 idle=$EPOCHREALTIME began='' ended='' polls=0 calm=0
  merge_s=null
  # One line of INFO each 20 ms. The server answers at most 50 ms before `idle`.
  while IFS=: read -r name value; do
    case $name in
      merges_running) running=${value%$'\r'} ;;
      merges_waiting)
        if ((running + ${value%$'\r'} > 0)); then
          began=${began:-$idle} ended=$EPOCHREALTIME calm=0
        else
          idle=$EPOCHREALTIME
          [[ ! $ended ]] && ((++polls < 250)) || ((++calm < 25)) || break
        fi
        ;;
    esac
  done < <(redis-cli -p "$blowfish_port" -r -1 -i 0.02 INFO persistence 2>/dev/null)
  [[ ! $ended ]] || merge_s=$(awk "BEGIN { printf \"%.3f\", $ended - $began }")
}

# merge_kind KIND: a server of two shards takes all values into its logs. When it starts again, it
# merges them, both shards at a time, so that merges have two processors. Prints JSON.
merge_kind() {
  local kind merges declared=()
  of_kind "$1"
  [[ ${#kind[@]} -gt 0 ]] || declared=(--attributes "$attributes")
  rm -rf "$scratch/merge"
  serve merge 4GiB --shards 2 --merge-bytes 1GiB "${declared[@]}"
  "$bin/shard-data" --size "$kind_bytes" "${kind[@]}" --format set --out - 2>"$scratch/made" |
    redis-cli -p "$blowfish_port" --pipe >"$scratch/errors" ||
    { cat "$scratch/made" "$scratch/errors" >&2 && return 1; }
  serve merge 4GiB --merges 2 --merge-bytes 1 --freeze-bytes 1
  await_merges
  compressed "$blowfish_port" || { echo "bench shard: not all $1 were merged" >&2 && return 1; }
  merges=$(info_total "$blowfish_port" persistence merges)
  jq -nc --argjson s "$merge_s" --argjson merges "$merges" --argjson bytes "$(total compressed_bytes)" \
    '{merge: {at_once: 2, $merges, seconds: $s, compressed_bytes: $bytes}}'
  stop_database
}

kinds() {
  local name kind results_of_kinds=$results/shard/kinds.json
  mkdir -p "$scratch/shard"
  : >"$scratch/kinds"
  for name in lineitem json logs urls uuids english texts random; do
    say "$name"
    merge_kind "$name" >"$scratch/merged"
    of_kind "$name"
    [[ ${#kind[@]} -gt 0 ]] || kind=(--classes mix8)
    results=$scratch compare "$name" --size "$kind_bytes" "${kind[@]}" "${kind_options[@]}" \
      --peers blowfish index blocks text rocksdb redis >"$scratch/text"
    jq -c --arg kind "$name" '{$kind} + input + .' "$scratch/shard/$name.json" "$scratch/merged" \
      >>"$scratch/kinds"
  done
  jq -s . "$scratch/kinds" >"$results_of_kinds"
  jq -r -L "$here" 'include "kinds"; tables' "$results_of_kinds"
}
