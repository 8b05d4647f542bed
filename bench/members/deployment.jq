# What the parts stall, takeover, transition and fill measured, and their tables; needs -L of this
# directory and of ../stores.
include "members";
include "tables";

def worst_silence($of_victim):
  [range(.owners | length) as $i | select((.owners[$i] == .victim) == $of_victim)
     | .silence_ms[$i]] | max;

def stall_tables:
  . as $all
  | ([["a node", "ranges", "median in ms", "worst", "limit"]]
     + [("kill", "stop") as $event | (false, true) as $of_victim
        | [$all.runs[] | select(.event == $event) | worst_silence($of_victim)] as $silences
        | [{kill: "is killed with -9", stop: "is stopped"}[$event],
           if $of_victim then "that it owned" else "of other owners, where it is a member" end,
           ($silences | middle | grouped), ($silences | max | grouped),
           (if $of_victim then {kill: $all.limits_ms.owner}[$event] else $all.limits_ms.member end
            | if . then grouped else "" end)]]
     | markdown);

# Of lines of 100 ms, as member-bench writes them.
def sets_in_second($lines; $from): [$lines[$from:$from + 10][] | .[4:] | add] | add;
def slowest($lines; $from; $seconds):
  [range($seconds) as $k | sets_in_second($lines; $from + 10 * $k)] | min;

# The transition has the seconds until all ranges have the mode, and one more.
def change($lines; $zero; $before; $after):
  . as $change
  | ([$lines[] | select(.[0] <= $change.from)] | length) as $at
  | ((.to - .from | ceil) + 1) as $seconds
  | {mode, at_s: (.from - $zero), lasted_s: (.to - .from),
     before_per_s: slowest($lines; $at - 10 * $before; $before),
     during_per_s: slowest($lines; $at; $seconds),
     after_per_s: slowest($lines; $at + 10 * $seconds; $after - 2)}
  | .ratio = .during_per_s / .before_per_s;

def transitions($before; $after):
  {before_s: $before, limit: 0.7, runs: map(
    .lines as $lines | .changes[0].from as $zero
    | ([$lines[] | select(.[0] <= $zero)] | length % 10) as $first
    | {run, refused, p99_us, changes: (.changes | map(change($lines; $zero; $before; $after))),
       rates: [range($first; ($lines | length) - 9; 10) as $i
               | [$lines[$i][0] - $zero, sets_in_second($lines; $i)]]})};

def transition_tables:
  . as $all
  | ([["to", "slowest second in \($all.before_s) s before", "in the transition", "after it",
       "transition / before", "of each run", "aim: at least", "transition / after", "seconds",
       "refused"]]
     + [range(2) as $i | [$all.runs[].changes[$i]] as $changes
        | [$changes[0].mode,
           ($changes | map(.before_per_s) | middle | grouped),
           ($changes | map(.during_per_s) | middle | grouped),
           ($changes | map(.after_per_s) | middle | grouped),
           "**\($changes | map(.ratio) | middle | short)**",
           ($changes | map(.ratio) | "\(min | short) to \(max | short)"), ($all.limit | short),
           ($changes | map(.during_per_s / .after_per_s) | middle | short),
           ($changes | map(.lasted_s) | middle | short), ([$all.runs[].refused] | add | tostring)]]
     | markdown);

def filled:
  . + {seconds: (.to - .from)}
  | . + {states_per_s: (.states / .seconds)}
  | . + {over_plain: (.states_per_s / .plain.rate_per_s),
         p99_times: (.during.p99_us / .before.p99_us)};
def in_ms: .p99_us / 1000 | short;

def fill_tables:
  ([["new member", "states", "seconds", "states/s", "plain SETs/s", "times plain", "aim: at least",
     "load, SETs/s", "p99 before, ms", "with two in", "in the fill", "after it", "times before",
     "aim: at most"]]
   + [.runs[]
      | [(.kind | title), (.states | grouped), (.seconds | short), (.states_per_s | grouped),
         (.plain.rate_per_s | grouped), "**\(.over_plain | short)**", "0.5", (.half | grouped),
         (.before | in_ms), (.two | in_ms), (.during | in_ms), (.after | in_ms),
         "**\(.p99_times | short)**", "2"]]
   | markdown);

# Seconds without an answer are left out.
def takeovers($keys; $rate):
  {keys: $keys, rate_per_s: $rate, runs: map(
    .time as $time
    | {kind, run, refused,
       seconds: ([.lines[] | select(.[2] > 0)
                  | {second: (.[0] - $time | floor), p50: .[2], p99: .[3]}]
                 | group_by(.second)
                 | map({second: .[0].second, p50_us: (map(.p50) | add / length),
                        p99_us: (map(.p99) | max)}))})};

def takeover_tables:
  . as $all
  | ([["second after the kill", "RocksDB: p50 in ms", "worst p99", "Redis: p50 in ms", "worst p99"]]
     + [range(-2; [$all.runs[].seconds[].second] | max) as $second
        | ["\($second)"]
          + [("rocksdb", "redis") as $kind | ("p50_us", "p99_us") as $which
             | [$all.runs[] | select(.kind == $kind) | .seconds[] | select(.second == $second) | .[$which]]
             | if length == 0 then "none" else middle / 1000 | short end]]
     | markdown);
