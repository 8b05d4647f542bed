# shellcheck shell=bash disable=SC2034
# To be sourced by benchmarks that fill blowfish-servers with line items.

# As bench/shard/lineitem.h calls them.
attributes=orderkey,partkey,suppkey,quantity,extendedprice,discount,tax,returnflag,linestatus,shipdate
attributes+=,commitdate,receiptdate,shipinstruct,shipmode,comment

# info_total PORT SECTION FIGURE: the sum over all lines of INFO, for example over all shards.
info_total() {
  redis-cli -p "$1" INFO "$2" | tr ',\r' '\n' | sed 's/^shard[0-9]*://' | tr ':' '=' |
    awk -F= -v figure="$3" '$1 == figure { sum += $2 } END { printf "%.0f", sum }'
}

# compressed PORT: there are keys, and all of them are in compressed files. A record that was sent twice
# may be in two of them.
compressed() {
  local keys
  keys=$(info_total "$1" shards keys)
  ((keys > 0 && $(info_total "$1" shards compressed_records) >= keys))
}

# order_layers PORT SHARDS LAYERS: the same number for each shard. Fails if the server refuses one.
order_layers() {
  local shard
  for ((shard = 0; shard < $2; ++shard)); do
    redis-cli -e -p "$1" LAYERS "$shard" SET "$3" >/dev/null ||
      { echo "bench: port $1 refuses LAYERS $shard SET $3" >&2 && return 1; }
  done
}

# layers_are_full PORT LAYERS: each shard has this number of layers, and all are full. A shard without
# compressed files has none to fill yet, although INFO shows the number that was ordered.
layers_are_full() {
  redis-cli -p "$1" INFO shards | awk -v wanted="$2" '
    /^shard/ {
      split("", figures)
      for (i = split($0, parts, /[:,\r]/); i > 0; --i) {
        split(parts[i], pair, "=")
        figures[pair[1]] = pair[2]
      }
      ++shards
      full += figures["layers"] == wanted && figures["filling"] == "0" && figures["compressed_bytes"] > 0
    }
    END { exit !(shards > 0 && full == shards) }'
}
