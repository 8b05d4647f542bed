#!/usr/bin/env bash
# compiler.sh COMPILER DIR: what a user of libstout compiles, by this compiler, with DIR for the files:
# each public header alone, as C++20 and as C++23 with -Wconversion and -Wshadow; the library, installed;
# the examples of headers and documents; a project that finds the installed library by CMake, one that
# finds it by pkg-config, and one that has libstout as a part.
set -euo pipefail

usage() { sed -n '2,5s/^# \{0,1\}//p' "$0"; }

if (($# != 2)) || [[ $1 == -* ]]; then
  usage >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
export CXX=$1
mkdir -p "$2"
cd "$2"
library=(-G Ninja -D STOUT_BUILD_APPS=OFF -D STOUT_BUILD_SIM=OFF -D STOUT_BUILD_TESTS=OFF
         -D STOUT_BUILD_BENCH=OFF -D STOUT_BUILD_SHARD_SERVER=OFF -D STOUT_WERROR=ON
         -D CMAKE_VERIFY_INTERFACE_HEADER_SETS=ON)

step() { echo "platforms: $CXX: $*"; }

step "headers as C++23, with more warnings"
cmake -S "$root" -B headers "${library[@]}" -D CMAKE_CXX_STANDARD=23 \
  -D CMAKE_CXX_FLAGS='-Wconversion -Wshadow -Werror' >headers.log
cmake --build headers --target all_verify_interface_header_sets

step "library"
cmake -S "$root" -B library "${library[@]}" -D CMAKE_BUILD_TYPE=Debug >library.log
cmake --build library --target all all_verify_interface_header_sets
rm -rf prefix
cmake --install library --prefix "$PWD/prefix" >install.log

step "examples"
mapfile -t documents < <(find "$root/libstout/include" "$root/adapters" -path '*/include/*.h' \
  -not -path '*/adapters/common/*' | sort; ls "$root"/docs/*.md "$root/README.md")
sh "$root/tests/snippets/check.sh" "$CXX" examples.cc -Iprefix/include -- "${documents[@]}"

step "a project with the installed library"
cmake -S "$root/tests/consumer" -B consumer -G Ninja -D CMAKE_PREFIX_PATH="$PWD/prefix" >consumer.log
cmake --build consumer
consumer/consumer

step "the same by pkg-config"
sh "$root/tests/consumer/pkg_config.sh" "$CXX" prefix ./by-pkg-config

step "a project with libstout as a part"
mkdir -p part
cat >part/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.25)
project(part LANGUAGES CXX)
add_subdirectory("$root" stout)
add_executable(part "$root/tests/consumer/consumer.cc")
target_link_libraries(part PRIVATE stout::stores)
TEXT
cmake -S part -B part/build -G Ninja >part.log
ninja -C part/build -n part | tail -1
cmake --build part/build --target part
part/build/part
[[ ! -d part/build/stout/support && ! -d part/build/stout/sim ]] || {
  echo "compiler.sh: more than the library is a part of the project" >&2
  exit 1
}
