#!/usr/bin/env bash
# cut-store.sh BIN_DIR: cuts docstore-server under leases (--lease-ttl 2s), with writes pending, off
# from its store, but not from its lease service. Prints the seconds until /healthz is 503, at most 60.
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "$0")/lib/measure.sh"

start_postgres "$scratch/postgres"
start_network "$scratch/postgres/.s.PGSQL.5432"
start_docstore --leases "$postgres_url" --lease-ttl 2s \
  --store "postgres://postgres@127.0.0.1:$network_port/postgres?timeout=1s&connect_timeout=1s"
seconds_until 60 put "$address" d1 >"$scratch/ready"

behave refuse cut
for d in {1..20}; do
  curl -s -m 90 -X PUT --data x "http://$address/docs/d$d/sections/s" >/dev/null &
done
is_unhealthy() { [[ $(status "http://$address/healthz") == 503 ]]; }
report "store cut off, until /healthz is 503 (60: never)" "$(seconds_until 60 is_unhealthy)" s
