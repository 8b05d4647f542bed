# What run.sh makes of runs; `include "paper"` with -L. A runs file has an object a line: `policy`,
# and `rate_per_s` or `from_s` or `timeline`, by what was varied.

# Of numbers, wherever they are: four digits. More would be noise.
def short:
  if . == 0 then . else
    pow(10; 3 - (fabs | log10 | floor)) as $scale
    | if $scale < 1 then round else (. * $scale | round) / $scale end
  end;
def line: walk(if type == "number" then short else . end) | with_entries(select(.value != null));

# --- To runs -----------------------------------------------------------------------------------

# From the JSON of `stout-sim sweep`, where this share of the requests are changes. The store keeps
# up if policy-bench would say so too.
def simulated($share):
  .runs[]
  | .rate_per_s /= $share
  | .stable = (.stable and .write_latency_ms.p99 <= 1000)
  | {policy, rate_per_s, mean_ms: .write_latency_ms.mean, p99_ms: .write_latency_ms.p99,
     batch_items, interval_ms, store_utilisation, jain_latency, jain_batches, stable, digest}
  | line;

def simulated_step($at_s):
  {policy, timeline: (.timeline | map([.at_s - $at_s, .write_mean_ms, .interval_ms])), digest}
  | line;

# Of a window as long as the time before it. A run with policies "P:OPTION P:OPTION" is P's.
def simulated_window:
  {policy: (.policy | if test(" ") then sub(":.*"; "") else . end), from_s: .measured_s,
   jain_latency, jain_batches, digest}
  | line;

# From the JSON of policy-bench.
def real:
  .settings[].policies[] | .policy as $policy
  | .points[] | .sustained as $stable
  | .median + {rate_per_s}
  | {$policy, rate_per_s, mean_ms: .latency_ms.mean, p99_ms: .latency_ms.p99, batch_items,
     interval_ms, jain_latency, generator_lateness_p99_ms, $stable}
  | line;

# Slices in which nothing was answered are left out.
def real_step:
  (.options.warmup_ms / 1000) as $at_s
  | .settings[].policies[]
  | {policy, timeline: (.points[0].median.timeline
                        | map(select(.[1] > 0) | [.[0] - $at_s, .[1], .[2]]))}
  | line;

# From an array of the JSON of docstore-load, with `policy`, a member for each round. The steps are a
# first one, and for each rate one to settle and one that counts.
def served:
  def median: sort | .[length / 2 | floor];
  def medians: . as $all | .[0] | with_entries(.key as $key | .value = ($all | map(.[$key]) | median));
  [.[] | .policy as $policy
   | .steps as $steps | range(2; $steps | length; 2) | $steps[.]
   | {$policy, rate_per_s: .rate, mean_ms: (.writes.latency_us.mean / 1000),
      p99_ms: (.writes.latency_us.p99 / 1000), read_mean_ms: (.reads.latency_us.mean / 1000),
      generator_lateness_p99_ms: (.send_delay_us.p99 / 1000),
      stable: (.writes.done >= 0.98 * .writes.offered and .writes.latency_us.p99 <= 1e6)}]
  | group_by(.policy, .rate_per_s)[] | medians
  | line;

# A slice is a second, by when requests were due.
def served_step($at_s):
  {policy, timeline: (.seconds | map(select(.writes.done > 0)
                                     | [.second - $at_s, .writes.latency_us.mean / 1000]))}
  | line;

# --- From runs: the input is an array of all of a file -------------------------------------------

def of($policy): map(select(.policy == $policy));

# Up to the first rate at which the store did not keep up, with that.
def to_overload:
  sort_by(.rate_per_s) | (map(.stable) | index(false)) as $at | if $at then .[:$at + 1] else . end;

# Those at which it did.
def kept: to_overload | map(select(.stable));

# Data for gnuplot: a block for each policy, `index "POLICY"`.
def blocks(row; $policies):
  . as $runs | $policies[]
  | "# \(.)", (. as $policy | $runs | of($policy) | row | map(tostring) | join(" ")), "", "";
def load_data($policies): blocks(to_overload[] | [.rate_per_s, .mean_ms]; $policies);
def steps_data($policies): blocks(.[].timeline[]; $policies);
def fairness_data($policies): blocks(.[] | [.from_s, .jain_latency, .jain_batches]; $policies);

def steps_note($title; $policies): empty;
def fairness_note($title; $policies): empty;

def cells: "| " + join(" | ") + " |";
def head: cells, "|---|" + "---:|" * (length - 1);

# Three digits: to at most so many decimals.
def digits3:
  (if . >= 100 then 1 elif . >= 10 then 10 else 100 end) as $scale | (. * $scale | round) / $scale;

# Latencies at six of the rates, the lowest of each in bold, and what is within 1 % of it.
def load_table($title; $policies):
  def some($n): . as $all | [range($n) * (length - 1) / ($n - 1) | round] | unique | map($all[.]);
  ([$policies[] as $policy | of($policy)[].rate_per_s] | unique | some(6)) as $rates
  | [$policies[] as $policy | of($policy) | kept[]] as $kept
  | ([$title] + ($rates | map("\(.)/s")) + ["keeps up to"] | head),
    ($policies[] as $policy
     | ["`\($policy)`"]
       + [$rates[] as $rate
          | ($kept | map(select(.rate_per_s == $rate))) as $here
          | ($here | of($policy)[0].mean_ms) as $ms
          | if $ms == null then "too much"
            elif $ms <= 1.01 * ($here | map(.mean_ms) | min) then "**\($ms | digits3)**"
            else "\($ms | digits3)" end]
       + ["\($kept | of($policy) | map(.rate_per_s) | max // 0)/s"]
     | cells);

# How `adaptive` stands against whichever of the others is best, rate by rate.
def standing:
  group_by(.rate_per_s)
  | map((of("adaptive")[0].mean_ms) as $ms
        | (map(select(.policy != "adaptive")) | min_by(.mean_ms)) as $best
        | {rate: .[0].rate_per_s, best: $best.policy,
           times: (if $ms == null then infinite elif $best == null then 0
                   else $ms / $best.mean_ms end)})
  | sort_by(-.times, .rate)[0] as $worst
  | "`adaptive` has the lowest latency, or is within 5 % of it, at "
    + "\(map(select(.times <= 1.05)) | length) of \(length) rates"
    + if $worst.times <= 1.05 then "."
      elif $worst.times == infinite then
        "; at \($worst.rate)/s, where `\($worst.best)` keeps up, it does not."
      else
        "; where it stands worst, at \($worst.rate)/s, it is at \($worst.times | digits3) "
        + "times that of `\($worst.best)`."
      end;

# The paper's headline: `adaptive` against the timer that carries most, under light load, and
# against the timer that is fastest there, under heavy load. Nothing where timers are no choice.
def headline:
  def carries: map(.rate_per_s) | max;
  (map(.rate_per_s) | min) as $light
  | def lightly: map(select(.rate_per_s == $light))[0].mean_ms;
    (map(select(.policy | startswith("tick:"))) | group_by(.policy)) as $timers
  | of("adaptive") as $ours
  | if ($timers | length) < 3 or ($ours | lightly) == null then ""
    else
      ($timers | min_by([-carries, lightly])) as $throughput
      | ($timers | min_by(lightly)) as $latency
      | (($throughput | lightly) / ($ours | lightly) | digits3) as $gain
      | " At \($light)/s it answers in 1/\($gain) of the time of `\($throughput[0].policy)`, the "
        + "quickest of the timers that carry most; it keeps up to "
        + "\(($ours | carries) / ($latency | carries) | digits3) times the rate of "
        + "`\($latency[0].policy)`, the timer that is quickest there."
    end;

# How far real runs can be trusted.
def lateness:
  map(.generator_lateness_p99_ms // empty) | sort
  | if length == 0 then ""
    else " The load generator's p99 lateness: median \(.[length / 2 | floor] | digits3) ms, "
         + "at worst \(max | digits3) ms."
    end;

def load_note($title; $policies):
  [$policies[] as $policy | of($policy) | kept[]]
  | "- \($title): \(standing)\(headline)\(lateness)";

# Before the step, after it, and how long that took: until the mean over four slices has come to
# within 15 % of what it is in the last third of the time, for good.
def steps_table($title; $policies):
  def mean($from; $to): map(select(.[0] >= $from and .[0] < $to)[1])
    | if length > 0 then add / length else 0 end;
  def cell: digits3 | tostring;
  . as $runs
  | ([$title, "before, ms", "highest after, ms", "settled after, s", "in the end, ms"] | head),
    ($policies[] as $policy
     | ($runs | of($policy)[0].timeline) as $slices
     | ($slices[1][0] - $slices[0][0]) as $slice
     | ($slices[-1][0] + $slice) as $until
     | ($slices | mean($until * 2 / 3; $until)) as $last
     | ($slices | map(select(.[0] >= 0))) as $after
     | ([$after[] | .[0] | select(. + 4 * $slice <= $until) as $at | $at
         | select($after | mean($at; $at + 4 * $slice) / $last | . > 1.15 or . < 1 / 1.15)
         | $at + $slice] | max // 0) as $settled
     | ["`\($policy)`", ($slices | mean(-10; 0) | cell), ($after | map(.[1]) | max | cell),
        (if $settled > $until * 2 / 3 then "not" else $settled | cell end), ($last | cell)]
     | cells);

# Jain's index of latency / of batches.
def fairness_table($title; $policies):
  def index: . * 1000 | round / 1000;
  . as $runs
  | ([$title] + (map(.from_s) | unique | map("\(.) s")) | head),
    ($policies[] as $policy
     | ["`\($policy)`"] + ($runs | of($policy) | sort_by(.from_s)
                           | map("\(.jain_latency | index) / \(.jain_batches | index)"))
     | cells);

