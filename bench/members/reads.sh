# shellcheck shell=bash disable=SC2034,SC2154
# To be sourced by run.sh, part `reads`: gets from three blowfish-servers with equal data. Two have memory
# for layers, the third has none.

reads_mib=16 reads_clients=1,2,3,4,6,8,12,16,24,32,48,64
reads_attributes=orderkey,partkey,suppkey,quantity,extendedprice,discount,tax,returnflag,linestatus
reads_attributes+=,shipdate,commitdate,receiptdate,shipinstruct,shipmode,comment

measure_reads() {
  local members=() source i
  ((quick == 0)) || reads_mib=2 reads_clients=4,16
  say "reads: filling a member with $reads_mib MiB"
  start start_blowfish "$scratch/slow" --shards 1 --attributes "$reads_attributes" \
    --memory-budget 1GiB --freeze-bytes 1 --merge-bytes 1
  "$bin/shard-data" --size "${reads_mib}MiB" --format keyed --out - |
    "$bin/blowfish-load" --to "127.0.0.1:$blowfish_port" --drop-key --quiet -
  await 600 "the data is compressed" all_compressed "$blowfish_port"
  stop_servers
  start start_blowfish "$scratch/slow" --memory-budget 1MiB # less than the compressed data
  redis-cli -p "$blowfish_port" --scan >"$scratch/keys"
  source=blowfish://127.0.0.1:$blowfish_port
  members=(--member "$source")
  for i in 1 2; do
    start start_blowfish "$scratch/fast$i" --copy-from "$source" --memory-budget 1GiB
    redis-cli -p "$blowfish_port" LAYERS 0 SET 6 >/dev/null
    await 60 "the layers of a member are full" layers_rest "$blowfish_port"
    members+=(--member "blowfish://127.0.0.1:$blowfish_port")
  done
  say "reads: $(wc -l <"$scratch/keys") keys, $rounds rounds"
  "$bin/member-reads" "${members[@]}" --keys "$scratch/keys" --clients "$reads_clients" \
    --rounds "$rounds" >"$scratch/reads.runs"
  report members-reads reads "{mib: $reads_mib, aim: 1.3, runs: ., ratios: read_ratios}" read_tables
}

layers_rest() { redis-cli -p "$1" INFO shards | grep -q 'filling=0'; }
all_compressed() { # PORT
  redis-cli -p "$1" INFO shards | tr ',:\r' '\n' |
    awk -F= '$1 == "keys" { keys = $2 } $1 == "compressed_records" { records = $2 }
             END { exit !(keys > 0 && keys == records) }'
}
