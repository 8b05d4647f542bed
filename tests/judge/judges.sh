# shellcheck shell=bash
# To be sourced: how each judge is fetched, built and run. `here` is tests/judge, and `judge_home` is
# build/judge, where all downloads go.

# require TOOL REMEDY: fails with a last line that gives the reason.
require() {
  command -v "$1" >/dev/null && return
  echo "$1 is not installed: $2"
  return 1
}

# The version and the suites of Redis' own tests.
redis_suites=(unit/type/string unit/type/incr unit/keyspace unit/expire unit/multi unit/protocol unit/quit)

go_command() {
  GOMODCACHE=$judge_home/go/modules GOCACHE=$judge_home/go/cache GOFLAGS="-mod=readonly -modcacherw" \
    GOWORK=off go "$@"
}

# prepare NAME: makes build/judge/work/NAME ready to run. Fails if that is impossible here.
prepare() {
  local work=$judge_home/work/$1
  mkdir -p "$work"
  require redis-cli "apt-get install redis-tools" && require curl "apt-get install curl" || return
  case $1 in
    node-redis | ioredis)
      require node "install Node.js 18 or newer" && require npm "install npm" || return
      cp "$here/$1"/* "$work"
      npm ci --prefix "$work" --cache "$judge_home/npm" --no-audit --no-fund || return
      ;;
    go-redis | go-ycsb | porcupine | miniredis)
      require go "install Go 1.26 or newer" || return
      (cd "$here/$1" && go_command build -o "$work/judge" .) || return
      ;;
    jedis)
      require javac "install a JDK 17 or newer" && require mvn "install Maven" || return
      cp -r "$here/jedis"/* "$work"
      (cd "$work" && mvn --quiet --batch-mode -Dmaven.repo.local="$judge_home/maven" \
        compile dependency:copy-dependencies) || return
      ;;
    tcl)
      require tclsh "apt-get install tcl" && require dpkg-source "apt-get install dpkg-dev" || return
      fetch_redis "$work" || return
      ;;
  esac
}

# fetch_redis DIRECTORY: unpacks Debian's source package of the redis that is installed, or is the
# candidate, as DIRECTORY/redis. Its own list of sources leaves the system's as they are.
fetch_redis() {
  local version apt
  version=$(dpkg-query -W -f '${Version}' redis-server 2>/dev/null || true)
  [[ -n $version ]] || version=$(apt-cache policy redis-server | sed -n 's/^ *Candidate: //p')
  [[ ! -d $1/redis || $(cat "$1/version" 2>/dev/null) != "$version" ]] || return 0
  local release
  release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  rm -rf "$1"
  mkdir -p "$1/lists/partial"
  printf 'deb-src http://deb.debian.org/%s main\n' \
    "debian $release" "debian $release-updates" "debian-security $release-security" >"$1/sources"
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$1/sources" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$1/lists" -o APT::Sandbox::User=root)
  "${apt[@]}" update || return
  (cd "$1" && "${apt[@]}" source --download-only "redis=$version" && dpkg-source -x redis_*.dsc redis) ||
    return
  # The suite empties the server before each file. A server without functions has none to flush.
  sed -i 's/^    r function flush$/    catch {r function flush}/' "$1/redis/tests/support/server.tcl"
  echo "$version" >"$1/version"
}

# run NAME: runs it in its directory, against the server of JUDGE_PORT.
run() {
  case $1 in
    node-redis | ioredis) timeout 120 node judge.mjs ;;
    go-redis | go-ycsb) timeout 120 ./judge ;;
    jedis) timeout 120 java -cp 'target/classes:target/dependency/*' Judge ;;
    porcupine)
      echo "without a crash"
      JUDGE_RESTART='' timeout 300 ./judge --protocol "$JUDGE_PROTOCOL" || return
      echo "with a crash"
      # The model starts without values, so the second run has keys of its own.
      JUDGE_PREFIX=crash timeout 300 ./judge --protocol "$JUDGE_PROTOCOL"
      ;;
    tcl) run_tcl ;;
  esac
}

# The suite accepts a skip line that matches no test. Here it is a failure, and so are too many lines.
run_tcl() {
  local arguments=(--host 127.0.0.1 --port "$JUDGE_PORT" --singledb --ignore-encoding --ignore-digest --durable)
  local suite output=$PWD/output
  for suite in "${redis_suites[@]}"; do arguments+=(--single "$suite"); done
  # A line of the list is `NAME # reason`; the suite wants the name alone.
  sed -e '/^#/d' -e '/^$/d' -e 's/ \+# .*//' "$JUDGE_SKIP" >skip
  local limit
  limit=$(sed -n 's/^# at most \([0-9]*\) lines$/\1/p' "$JUDGE_SKIP")
  if (($(wc -l <skip) > limit)); then
    echo "$JUDGE_SKIP has more than $limit lines: fix the server instead"
    return 1
  fi
  (cd redis && timeout 300 ./runtest "${arguments[@]}" --skipfile ../skip --clients 1) 2>&1 |
    sed 's/\x1b\[[0-9;]*m//g' | tee "$output"
  grep -q 'All tests passed without errors' "$output" || return
  local passed
  passed=$(grep -c '^\[ok\]' "$output")
  echo "$passed tests passed, $(wc -l <skip) are skipped by the list"
  ((passed > 0)) || return
  ! grep -vxFf <(sed -n 's/^\[skip\]: //p' "$output") skip | sed 's/^/the skipped test is not there: /' | grep . ||
    return 1
}

# doctored LOG: Porcupine's model must call doctored histories illegal, and agree with our checker.
doctored() {
  if (cd "$here/porcupine" && go_command test -count 1 .) >"$1" 2>&1; then
    echo "pass        doctored histories are illegal to Porcupine"
  else
    echo "fail        doctored histories (see build/judge/logs/doctored.log)"
    return 1
  fi
}
