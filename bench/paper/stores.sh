# Figures 1 to 4 on real stores in real time, with 16 application servers; sourced by run.sh.
#
# queue: one server that takes 900 us a batch and 90 us a change. One batch for each of 16 servers
# takes the same fixed costs as in the simulator for 32 with 450 us a batch, so the two can be
# compared: a change here is two requests there, half of which read.
# rocksdb: on this machine's disk; it shares its syncs among all waiting writers, and so batches by
# itself.
# shellcheck shell=bash disable=SC2154

queue="queue=memory:?latency=900us&per_item=90us&workers=1"
rocksdb="rocksdb:$scratch/db"
queue_rates=250,1000,2000,3000,4000,5000,6000,8000,10000
queue_many=250,2000,4000,6000,10000,20000
rocksdb_rates=500,2000,5000,10000,20000,40000
times=(--warmup 1s --measure 2s)
step_times=(--warmup 10s --measure 15s --slice 500ms)
before_s=10 after_s=15
if [[ $quick ]]; then
  queue_rates=250,2000,6000,9000
  queue_many=250,4000,10000,20000
  rocksdb_rates=500,20000
  times=(--warmup 300ms --measure 500ms)
  step_times=(--warmup 1500ms --measure 2s --slice 200ms)
  before_s=1.5 after_s=2
fi

# measure RUNS FILTER STORE DOCUMENTS RATES [OPTION...] -- POLICY...
measure() {
  local runs=$1 filter=$2 options=(--store "$3" --documents "$4" --rates "$5")
  shift 5
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  say "real time: $runs"
  "$bin/policy-bench" "${options[@]}" --servers 16 --repetitions 1 --sustained 0 --max-p99 1s \
    --policies "${@:2}" --json - >"$scratch/json"
  keep "$runs" "$filter"
}

measure_loads() {
  measure real-queue real "$queue" 10000 "$queue_rates" "${times[@]}" -- \
    unbatched "${timers[@]}" "${laws[@]}"
  measure real-queue-100-documents real "$queue" 100 "$queue_many" "${times[@]}" -- \
    unbatched tick:20ms tick:80ms "${laws[@]}"
  measure real-rocksdb real "$rocksdb" 10000 "$rocksdb_rates" "${times[@]}" -- \
    unbatched "${timers[@]}" "${laws[@]}"
  measure real-rocksdb-100-documents real "$rocksdb" 100 "$rocksdb_rates" "${times[@]}" -- \
    unbatched tick:20ms tick:80ms "${laws[@]}"
}

measure_steps() {
  local policies=(tick:40ms tick:160ms "${laws[@]}")
  measure real-decrease real_step "$queue" 10000 6000 "${step_times[@]}" --step 0.6667 -- \
    "${policies[@]}"
  measure real-increase real_step "$queue" 10000 6000 "${step_times[@]}" --step 1.5 -- \
    "${policies[@]}"
}

draw_real() {
  local few="unbatched tick:20ms tick:80ms ${laws[*]}" steps="tick:40ms tick:160ms ${laws[*]}"
  local axes="xlabel='changes per second'; logx=1; xmax='10000 40000'"
  figure load 1-fixed-intervals-real "Adaptive against fixed intervals, 16 servers, real time" \
    "$axes" "queue|real-queue|${timers[*]} ${laws[*]}" \
    "RocksDB|real-rocksdb|${timers[*]} ${laws[*]}"
  figure load 2-batching-real "Batching and no batching, 16 servers, real time" "$axes" \
    "queue|real-queue|unbatched tick:20ms natural adaptive" \
    "RocksDB|real-rocksdb|unbatched tick:20ms natural adaptive"
  figure load 3-collapsing-real "Low and high collapsing, 16 servers, real time" \
    "${axes/10000 40000/20000 20000 40000 40000}" \
    "queue, 10,000 documents|real-queue|$few" \
    "queue, 100 documents|real-queue-100-documents|$few" \
    "RocksDB, 10,000 documents|real-rocksdb|$few" \
    "RocksDB, 100 documents|real-rocksdb-100-documents|$few"
  figure steps 4-load-steps-real "Steps of the load, a queue, 16 servers, real time" \
    "before_s=$before_s; after_s=$after_s" \
    "6,000 to 4,000 changes/s|real-decrease|$steps" "6,000 to 9,000 changes/s|real-increase|$steps"
}

measure_loads
measure_steps
draw_real
