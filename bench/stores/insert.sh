#!/usr/bin/env bash
# insert.sh: the tables of bench/results/stores.json into README.md, in place of those before.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
results=$here/../results/stores.json
document=$here/README.md
text=$(jq -r -L "$here" 'include "tables"; tables' "$results")
new=$(tables=$text awk '
  /^<!-- tables: made by bench\/stores\/insert.sh -->$/ { print; print ENVIRON["tables"] "\n"; inside = 1 }
  /^<!-- end -->$/ { inside = 0 }
  !inside' "$document")
printf '%s\n' "$new" >"$document"
