# What member-reads measured, and its table; needs -L of this directory and of ../stores.
include "tables";
include "members";

def middle_of(f): map(f) | middle;

# The limit of a round is the p99 of random choice where it answers most. Compared is how much each side
# answers with any number of clients that keeps this limit.
def read_ratios:
  group_by(.round)
  | map((map(select(.choice == "random")) | max_by(.rate_per_s) | .p99_us) as $limit
    | def most($choice): map(select(.choice == $choice and .p99_us <= $limit) | .rate_per_s) | max // 0;
      {p99_limit_us: $limit, shortest: most("shortest"), random: most("random")}
      | . + {ratio: (.shortest / .random)});

def read_tables:
  "Gets, each from one of three blowfish-servers, of which two have layers:", "",
  ([["clients", "shortest queue: gets/s", "p99 in us", "random: gets/s", "p99 in us"]]
   + (.runs | group_by(.clients)
      | map(. as $runs | def of($choice; f): $runs | map(select(.choice == $choice)) | middle_of(f);
            [(.[0].clients | tostring), (of("shortest"; .rate_per_s) | grouped), (of("shortest"; .p99_us) | short),
             (of("random"; .rate_per_s) | grouped), (of("random"; .p99_us) | short)])) | markdown), "",
  ([["rate of", "over that of", "times", "of each round", "aim: at least"]]
   + [["shortest queue", "random, at its p99", "**\(.ratios | middle_of(.ratio) | short)**",
       "\(.ratios | map(.ratio) | min | short) to \(.ratios | map(.ratio) | max | short)", (.aim | short)]] | markdown), "";
