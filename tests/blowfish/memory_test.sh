#!/usr/bin/env bash
# Goal: memory that merges have freed goes back to the system, without a restart.
# Method: values as large as the budget are written, frozen and merged. Once no merge runs or waits,
# the resident memory is at most 1.1 times the budget and 20 MB.
# usage: memory_test.sh BIN_DIR [SHARDS [VALUE_BYTES]]
set -euo pipefail

export bin=$1
shards=${2:-2} value_bytes=${3:-160}
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=/dev/null
source "$here/../../sample-apps/demo/databases.sh"

die() {
  echo "memory_test: $*" >&2
  exit 1
}

work=$(mktemp -d "${TMPDIR:-/tmp}/stout-memory.XXXXXX")
database=
clean_up() {
  [[ -z $database ]] || { kill "$database" && wait "$database"; } 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

budget=$((32 << 20))
blowfish_port=
start_blowfish "$work" --shards "$shards" --memory-budget "$budget" \
  --freeze-bytes $((budget / 8 / shards)) --merge-bytes $((budget / 2 / shards)) ||
  die "no private blowfish-server"

# SETs of values of random words: 32 MB in all, in RESP.
awk -v values=$((budget / value_bytes)) -v bytes="$value_bytes" 'BEGIN {
  srand(1)
  for (w = 0; w < 4096; ++w) for (words[w] = ""; length(words[w]) < 7;)
    words[w] = words[w] sprintf("%c", 97 + int(16 * rand()))
  for (i = 0; i < values; ++i) {
    for (value = ""; length(value) < bytes; value = value part)
      for (part = ""; length(part) < 1000 && length(value part) < bytes;)
        part = part " " words[int(4096 * rand())]
    key = "key" i
    printf "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", length(key), key, length(value), value
  }
}' | redis-cli -p "$blowfish_port" --pipe | grep -q 'errors: 0' || die "SETs fail"

# figure NAME: of INFO.
figure() { redis-cli -p "$blowfish_port" INFO | tr -d '\r' | sed -n "s/^$1://p"; }
# A shard that freezes or sorts will merge: none does when nothing has merged for ten looks.
calm=0
for _ in {1..600}; do
  if (($(figure merges) > 0 && $(figure merges_running) + $(figure merges_waiting) == 0)); then
    ((++calm < 10)) || break
  else
    calm=0
  fi
  sleep 0.1
done
(($(figure merges) > 0)) || die "nothing was merged"
resident=$(figure used_memory_rss)
limit=$((budget * 11 / 10 + 20 * 1000 * 1000))
((resident <= limit)) || die "$resident bytes are resident after all merges, more than $limit"
echo "memory_test: $resident bytes are resident, at most $limit allowed"
