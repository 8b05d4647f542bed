#!/bin/sh
# check.sh COMPILER OUTPUT FLAGS... -- FILES...: compiles the examples of FILES; OUTPUT gets the source.
set -eu
compiler=$1 output=$2 here=$(dirname "$0")
shift 2
flags=
while [ "$1" != -- ]; do flags="$flags $1"; shift; done
shift
rm -f "$output".*.cc
awk -v STEM="$output" -f "$here/extract.awk" "$@" >"$output"
"$compiler" -std=c++20 -w -fsyntax-only -include "$here/given.h" $flags "$output"
for source in "$output".*.cc; do "$compiler" -std=c++20 -w -fsyntax-only $flags "$source"; done
