# The tables of part steps; needs -L of this directory and of ../stores.
include "tables";

# Means of slices, each with the weight of its time.
def mean(f): (map(f * .weight) | add) / (map(.weight) | add);
def means(f): . as $all | [range(3) as $i | $all | mean(f[$i])];
def in_text(f): map(f) | join(", ");

# A line for each step: means over its second half.
def steps:
  . as $run
  | range(.loads | length) as $i
  | [range(.slices | length) as $n
     | (if $n == 0 then 0 else .slices[$n - 1].time_s end) as $begin
     | .slices[$n] | .weight = .time_s - $begin
     | select(.time_s / $run.seconds - $i | . > .5 and . <= 1)]
  | {load: $run.loads[$i], offered: mean(.offered_per_s), answered: mean(.answered_per_s),
     p99_ms: (map(.p99_us) | max / 1000), failed: (map(.failed) | add),
     reads: means(.reads_per_s), queue: means(.queue), layers: last.layers,
     mib: (last.layer_bytes | map(. / 1048576))};

def step_tables:
  "Three servers without layers carry \(.capacity_per_s | grouped) gets/s together. "
  + "The second half of each step, each server:", "",
  ([["load in %", "offered/s", "answered/s", "failed", "worst p99 in ms", "gets/s", "queue",
     "layers", "MiB of layers"]]
   + [steps | [(.load | tostring), (.offered | grouped), (.answered | grouped),
        (.failed | tostring), (.p99_ms | short), (.reads | in_text(short | tonumber | grouped)),
        (.queue | in_text(short)), (.layers | in_text(tostring)), (.mib | in_text(short))]]
   | markdown), "";
