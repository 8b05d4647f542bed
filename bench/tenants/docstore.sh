# shellcheck shell=bash
# To be sourced by run.sh: two tenants of a docstore-server, by HTTP.

# open_documents [OPTION...]: a docstore-server with little memory; sets `server` and `address`.
open_documents() {
  : >"$scratch/docstore.out"
  "$bin/docstore-server" --listen 127.0.0.1:0 --log-level error --trust-tenant-header \
    --store "rocksdb:$scratch/docs?direct_reads=true&cache=1MiB&sync=false" \
    --cache-bytes "$document_cache" "$@" >"$scratch/docstore.out" &
  server=$!
  for _ in {1..200}; do
    address=$(sed -n 's/^listening on //p' "$scratch/docstore.out")
    [[ -z $address ]] || return 0
    sleep 0.05
  done
  return 1
}

close_documents() {
  kill "$server"
  wait "$server" || true
  server=
}

# read_as TENANT DOCUMENTS DISTRIBUTION RATE SECONDS: reads by HTTP; writes a report to TENANT.json.
read_as() {
  "$bin/docstore-load" --target "http://$address" --tenant "$1" --documents "$2" \
    --value-bytes 3900 --distribution "$3" --read-fraction 1 --rate "$4" --duration "$5s" \
    --warmup 1s --json "$scratch/$1.json" >/dev/null
}

read_shop() { read_as shop "$hot_documents" zipf:0.99 "$shop_rate" "$document_seconds"; }

# counts: look-ups of each tenant in the records' cache, as [{tenant, hits, misses, share}].
counts() {
  curl -sf "http://$address/stats" | jq -c '[.tenants[] | select(.cache == "records")
    | {tenant, hits: .docstore_tenant_hits_total, misses: .docstore_tenant_misses_total,
       share: .docstore_tenant_admitted_ratio}]'
}

# document_run SCENARIO SIDE TENANT...: writes what was measured from `before` to `after` as a run.
document_run() {
  local tenants
  tenants=$(for tenant in "${@:3}"; do
    jq -c --arg tenant "$tenant" --argjson before "$before" --argjson after "$after" '
      def of($counts): $counts[] | select(.tenant == $tenant);
      (first(of($before)) // {hits: 0, misses: 0}) as $from | of($after) as $to
      | ($to.hits - $from.hits) as $hits | ($to.misses - $from.misses) as $misses
      | {name: $tenant, hit_rate: ($hits / ($hits + $misses) * 10000 | round / 10000),
         rate_per_s: .total.reads.answered_per_s, p50_us: .total.reads.latency_us.p50,
         p99_us: .total.reads.latency_us.p99, share: $to.share}' "$scratch/$tenant.json"
  done | jq -sc .)
  jq -cn --arg scenario "$1" --arg side "$2" --argjson tenants "$tenants" \
    '{store: "docstore, HTTP", $scenario, $side, $tenants}' >>"$scratch/runs"
}

# measure_documents SIDE [OPTION...]: `shop` alone, then beside `reports`, which reads all documents.
measure_documents() {
  local before after reports
  say "docstore, $1"
  open_documents "${@:2}"
  read_shop
  before=$(counts)
  read_shop
  after=$(counts)
  document_run alone "$1" shop
  read_as reports "$all_documents" uniform "$reports_rate" $((2 * document_seconds + 3)) &
  reports=$!
  read_shop
  before=$(counts)
  read_shop
  after=$(counts)
  wait "$reports"
  document_run uniform "$1" shop reports
  close_documents
}
