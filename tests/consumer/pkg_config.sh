#!/bin/sh
# pkg_config.sh COMPILER PREFIX OUTPUT: compiles the consumer as pkg-config says, and runs it.
set -eu
here=$(dirname "$0")
PKG_CONFIG_PATH=$(dirname "$(find "$2" -name stout.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs stout)
# shellcheck disable=SC2086
"$1" -std=c++20 "$here/consumer.cc" $flags ${LDFLAGS-} -o "$3"
exec "$3"
