#!/usr/bin/env bash
# run.sh [12|13]...: the tests on a bare Debian of each release, in a chroot in build/platforms, with its
# default compiler; and what a user compiles (compiler.sh) by its other compilers. Default: 12 and 13.
# Takes an hour or more for each. Needs root, debootstrap and Debian's servers, or a mirror of them in
# STOUT_DEBIAN_MIRROR.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() { sed -n '2,5s/^# \{0,1\}//p' tests/platforms/run.sh; }

die() {
  echo "platforms: $*" >&2
  exit 1
}

# in_chroot DIR COMMAND...: in DIR/stout. When it ends, nothing is mounted there, and nothing runs.
# DIR is mounted on itself because tests that fill a disk use unshare, which needs a mount point as root.
in_chroot() {
  unshare --mount --pid --fork --kill-child bash -euc '
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs tmpfs "$1/dev/shm"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root STOUT_REQUIRE_MOUNTS=1 \
      chroot "$1" bash -euc "cd /stout; exec \"\$@\"" "$@"' bash "$@"
}

platform() { # RELEASE
  local suite compiler compilers flags root
  case $1 in
    12) suite=bookworm compilers=(clang++-14) ;;
    13) suite=trixie compilers=(g++-13 clang++-19) ;;
  esac
  root=build/platforms/$suite
  if [[ ! -e $root/complete ]]; then
    echo "platforms: a bare Debian $1 in $root"
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=ca-certificates,git "$suite" "$root" \
      "${STOUT_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
    touch "$root/complete"
  fi
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  # The sources as they are here. What was built there stays.
  mkdir -p "$root/stout"
  find "$root/stout" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard |
    tar -c --null --files-from - --ignore-failed-read | tar -x -C "$root/stout"

  echo "platforms: the tests on Debian $1"
  in_chroot "$root" ./dev test
  for compiler in "${compilers[@]}"; do
    in_chroot "$root" apt-get install -y -qq --no-install-recommends "${compiler/clang++/clang}"
    # Debian 13 brings an old libstdc++ with g++-13, but programs run with that of g++-14, which the
    # other libraries need.
    flags=
    [[ $compiler != g++-13 ]] || flags=-Wl,--allow-shlib-undefined
    in_chroot "$root" env LDFLAGS="$flags" tests/platforms/compiler.sh "$compiler" "build/$compiler"
  done
  echo "platforms: Debian $1 passes"
}

[[ ${1-} != -h && ${1-} != --help ]] || { usage && exit; }
(($#)) || set -- 12 13
for release in "$@"; do
  [[ $release =~ ^1[23]$ ]] || die "no platform '$release'; there are 12 and 13, releases of Debian"
done
((EUID == 0)) || die "be root: it makes chroots"
command -v debootstrap >/dev/null || die "apt-get install debootstrap"
for release in "$@"; do platform "$release"; done
