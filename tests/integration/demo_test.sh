#!/usr/bin/env bash
# demo_test.sh BIN_DIR cluster|polyglot: demos refuse wrong options, and this one runs in a short form. At
# the end of `cluster`, what its clients saw is linearizable. At that of `polyglot`, three kinds of stores
# have the same records.
set -euo pipefail

demo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../sample-apps/demo" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 711 "$work" # PostgreSQL may run as another user

fail() {
  echo "demo_test: $*" >&2
  exit 1
}

for wrong in "--store cluster:etcd://h/d" "--store polyglot" "--store sqlite" "--sync-delay 5m" "--light x"; do
  code=0
  # shellcheck disable=SC2086  # one word each
  "$demo/demo.sh" --print-store $wrong >"$work/reason" 2>&1 || code=$?
  ((code == 2)) || fail "demo.sh $wrong: exit status $code: $(<"$work/reason")"
done
[[ $("$demo/demo.sh" --print-store --sync-delay .5min) == rocksdb ]] || fail "0.5 minutes are refused"
[[ $("$demo/demo.sh" --print-store --store stout://h) == stout://h ]] || fail "a URL is refused"

script=$2
for wrong in "--rate 0" "--rate 1000001" "--keys many" "--out" "--nothing 1" "rate 1"; do
  code=0
  # shellcheck disable=SC2086  # one word each
  "$demo/$script.sh" --check $wrong 2>"$work/reason" || code=$?
  ((code == 2)) || fail "$script.sh $wrong: exit status $code: $(<"$work/reason")"
done
"$demo/$script.sh" --check --rate 1000000 --out "$work/none"
[[ ! -e $work/none ]] || fail "$script.sh --check has made a directory"
"$demo/$script.sh" --help >"$work/help"

options=(--step-seconds 1 --rate 100 --keys 500 --out "$work/out")
[[ $script == polyglot ]] || options+=(--clients 32)
TMPDIR=$work "$demo/$script.sh" "$1" "${options[@]}" | tee "$work/text"
grep -q '^verdict: ' "$work/text" || fail "no verdict"
[[ -s $work/out/$script.svg ]] || fail "no plot"
left=("$work"/stout-demo.*)
[[ ! -e ${left[0]} ]] || fail "left behind: ${left[*]}"
