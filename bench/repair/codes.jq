# The paper's figure 7, of what a run of run.sh has measured: 12 servers store the values of the run,
# one is lost, and another takes its place. Input: repair.json. The new server receives all that it
# needs over a link of `gbits`, but a copy of our files takes at least as long as measured. Then it
# repairs what is coded, and fills layers.

def servers: 12;
def data_blocks: 10;

# scheme(NAME; STORED; READ; SECONDS): bytes that are stored, bytes that are read for each lost one,
# and seconds for the rest.
def scheme($name; $stored; $read; $seconds):
  {$name, $stored, moved: ($stored / servers * $read), $seconds, receives: 0};

def schemes: (.mib * 1048576) as $values | .compressed_bytes as $files
  | (.copy.layers_s - .copy.serves_s) as $layers  # of all values
  | scheme("three replicas, not compressed"; 3 * $values; 1; 0),
    scheme("RS(10,2), not compressed"; 1.2 * $values; data_blocks; .codes.values.repair_s),
    scheme("RS(10,2) of our files"; 1.2 * $files; data_blocks; .codes.files.repair_s + $layers / data_blocks),
    # The lost server had a quarter of each copy.
    (scheme("three replicas of our files"; 3 * $files; 1; $layers * 3 / servers)
     + {receives: (.copy.serves_s * 3 / servers)});

def time($gbits): ([.moved * 8 / ($gbits * 1e9), .receives] | max) + .seconds;

def rounded($digits): pow(10; $digits) as $unit | . * $unit | round / $unit;

def codes: .runs[] | .mib as $mib | ($mib * 1048576) as $values | [schemes] | last as $ours | .[]
  | {$mib, name, stored: (.stored / $values | rounded(2)), moved: (.moved / $values | rounded(3)),
     times_ours: (.moved / $ours.moved | rounded(1)),
     seconds_1_gbit: (time(1) | rounded(2)), seconds_10_gbit: (time(10) | rounded(2))};

# closed: of what closed_side has measured, medians, and the gets of each round over those alone.
def middle: sort | .[length / 2 | floor];
def closed: . as $all
  | [("alone", "code-1", "code-10", "copy") as $side | [$all[] | select(.side == $side)] as $own
     | [$own[] as $run
        | $run.gets_per_s / first($all[] | select(.side == "alone" and .round == $run.round) | .gets_per_s)] as $ratios
     | {$side, gets_per_s: ($own | map(.gets_per_s) | middle), sent_per_s: ($own | map(.sent_per_s) | middle),
        ratio: ($ratios | middle), $ratios}];

def closed_table: ["MiB", "the source", "sends MB/s", "gets/s", "times alone", "of each round"],
  (.runs[] | .mib as $mib | .closed[]
   | [$mib, {alone: "sends nothing", "code-1": "sends blocks, 1 Gbit/s", "code-10": "sends blocks, 10 Gbit/s",
             copy: "is copied"}[.side],
      (if .sent_per_s then .sent_per_s / 1e6 | rounded(1) else "" end), .gets_per_s, (.ratio | rounded(2)),
      "\(.ratios | min | rounded(2)) to \(.ratios | max | rounded(2))"]) | @tsv;

def codes_table: ["MiB", "scheme", "stored / values", "moved / values", "times ours", "s at 1 Gbit/s", "at 10"],
  (codes | [.[]]) | @tsv;
