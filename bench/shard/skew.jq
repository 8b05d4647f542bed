# Figure 8 of BlowFish, from the comparison of shard-bench: the memory that 100 shards with Zipf's loads
# need, and the load that they carry in a given memory. Input: NAME.json of `compare`.
#
# A load is that of the busiest shard, over what one thread serves of a shard without layers.

def shards: 100;
def weights: [range(1; shards + 1) | pow(.; -0.99)];  # the paper's skewness of 0.01

# points(REGEX): [bytes over bytes of values, rate over that of `blowfish`], as a shard may be kept.
def points($names): . as $all
  | def rate($name): first(.workloads[] | select(.name == "50/50 mix8") | .peers[]
      | select(.name == $name) | .best_per_cpu_s);
  rate("blowfish") as $unit
  | [.peers[] | select(.name | test($names)) | [.ratio, (.name as $name | $all | rate($name)) / $unit]];

# bytes(POINTS): of the replicas of a shard with the load `.`, at least one. All replicas but the last
# are kept alike; the last takes what they leave.
def bytes($points): . as $load
  | [$points[] as [$size, $rate] | ($load / $rate | floor) as $full
     | ($load - $full * $rate) as $rest
     | if $full > 0 and $rest <= 0 then $full * $size
       else [$points[] | select(.[1] >= $rest) | .[0]] | select(length > 0) | min + $full * $size end]
  | min;

def memory($points; $load): [weights[] * $load | bytes($points)] | add / shards;

# load(POINTS; BYTES): the highest that this memory carries, or null.
def load($points; $bytes):
  if memory($points; 0) > $bytes then null
  else [0, 1e6] | until(.[1] - .[0] < .[0] * 1e-3 + 1e-6;
      (add / 2) as $middle
      | if memory($points; $middle) <= $bytes then [$middle, .[1]] else [.[0], $middle] end) | .[0]
  end;

def kinds: {blowfish: points("^blowfish"), replicas: points("^blowfish$"), zstd: points("^zstd$"),
            hash: points("^hash$")};

# skew: the load of each shard over that of the idlest, memory by load, and load by memory.
def skew: kinds as $kinds
  | {loads: (weights | map(. / weights[-1])),
     needed: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512 | . as $load
              | {load: $load} + ($kinds | map_values(memory(.; $load)))],
     carried: [0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 1, 1.5, 2, 2.5, 3, 4 | . as $bytes
               | {bytes: $bytes} + ($kinds | map_values(load(.; $bytes)))]}
  | walk(if type == "number" then . * 1000 | round / 1000 else . end);
