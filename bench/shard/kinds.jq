# Tables of what kinds.sh has measured. Input: kinds.json.

def three: if . >= 100 then round elif . >= 10 then . * 10 | round / 10 else . * 100 | round / 100 end;
def short: if . == null then "" elif . >= 1e6 then "\(. / 1e6 | three)M"
  elif . >= 1e3 then "\(. / 1e3 | three)k" else "\(three)" end;
def fixed: . * 1000 | round | tostring | ("000" + .)[-([length, 4] | max):] | .[:-3] + "." + .[-3:];
def row: "| " + join(" | ") + " |";
def table($heads): ($heads | row), ($heads | map("---") | "|" + join("|") + "|"), (.[] | row), "";

def peer($name): first(.peers[] | select(.name == $name)) // null;
# Sizes are of files, except those of Redis.
def ratio($name): .raw_bytes as $raw | peer($name)
  | if . == null then "" else (.parts["files, values"] // .bytes) / $raw | fixed end;
# A client of Redis does not do the work, so its rates are by the wall clock.
def rate($workload; $name): first(.workloads[] | select(.name == $workload) | .peers[]
  | select(.name == $name) | if $name == "redis" then .best_per_s else .best_per_cpu_s end) // null;
def gets($name): [rate("get"; $name), rate("get x16"; $name) | short] | join(", ");
def mb($seconds): if $seconds == null then "" else .raw_bytes / 1e6 / $seconds | three | tostring end;
def build($name): mb(peer($name).build_s);
def code: "`\(.)`";

def tables: . as $kinds
  | ($kinds | map([(.kind | code),
      (if peer("blowfish").bytes == peer("blocks").bytes then "blocks" else "index" end),
      ratio("index", "blocks", "text", "rocksdb", "redis")])
    | table(["kind", "chosen", "`index`", "`blocks`", "`text`", "`rocksdb`", "`redis`"])),
    ($kinds | map([(.kind | code), gets("index", "blocks", "text", "rocksdb", "redis")])
    | table(["gets/s", "`index`", "`blocks`", "`text`", "`rocksdb`", "`redis`"])),
    ($kinds | map([(.kind | code),
      (first(.workloads[] | select(.name == "grep") | .hits_per_operation) | three | tostring),
      (rate("grep"; "index", "blocks", "text", "rocksdb", "redis") | short)])
    | table(["substrings/s", "found", "`index`", "`blocks`", "`text`", "`rocksdb`", "`redis`"])),
    ($kinds | map([(.kind | code), mb(.merge.seconds),
      build("index", "blocks", "text", "rocksdb", "redis")])
    | table(["MB/s", "merges of the server", "`index`", "`blocks`", "`text`", "`rocksdb`", "`redis`"])),
    ($kinds[] | select(.kind == "lineitem")
    | [rate("search mix8"; "blowfish", "rocksdb") | short] as [$ours, $rocksdb]
    | "Searches of line items by attribute, a second: blowfish \($ours), rocksdb \($rocksdb)");
