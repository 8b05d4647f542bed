# What member-reads measured, and its tables; needs -L of this directory and of ../stores.
include "tables";
include "members";

def middle_of(f): map(f) | middle;

# The input is the runs of one choice with different numbers of clients. The knee has the fewest clients
# of those that get at least 95 % of the most answers.
def knee: (map(.rate_per_s) | max * .95) as $enough | map(select(.rate_per_s >= $enough)) | min_by(.clients);

# A line for each round of a case. The limit is the p99 of random choice at its knee. The ratio compares
# the rates at the knees of both sides, where that of the shortest queue is among the runs that keep the
# limit. `above_limit` has the numbers of clients beyond this knee that do not. `still_rising` names a side
# whose knee is at the largest number of clients, so that more clients might get more answers.
def read_ratios:
  (.runs | map(.clients) | max) as $largest
  | .runs | map(select(.choice | IN("shortest", "random"))) | group_by(.round)
  | map((map(select(.choice == "random")) | knee) as $random
    | map(select(.choice == "shortest")) as $shortest
    | $random.p99_us as $limit
    | ($shortest | map(select(.p99_us <= $limit)) | if . == [] then null else knee end) as $knee
    | {round: .[0].round, p99_limit_us: $limit,
       random: ($random | {clients, rate_per_s, p99_us}),
       shortest: ($knee | if . then {clients, rate_per_s, p99_us} else null end),
       above_limit: ($shortest | map(select(.p99_us > $limit and .clients > ($knee.clients // 0)) | .clients)),
       ratio: (($knee.rate_per_s // 0) / $random.rate_per_s),
       still_rising: [({$random, shortest: $knee} | to_entries[] | select(.value.clients == $largest) | .key)]});

def alone_table:
  .layers.before as $layers
  | [["member", "layers", "gets/s, 1 client", "most gets/s", "clients", "p99 in us"]]
    + [.runs | map(select(.choice | startswith("member "))) | group_by(.choice)[] | . as $runs | knee as $knee
       | ($knee.choice | ltrimstr("member ") | tonumber) as $i
       | [($i + 1 | tostring), ($layers[$i] | tostring), ($runs | min_by(.clients) | .rate_per_s | grouped),
          ($knee.rate_per_s | grouped), ($knee.clients | tostring), ($knee.p99_us | short)]] | markdown;

# The input is runs. Reads per batch over all members, and the share of the reads that each member gets.
def per_batch: (map(.reads | add) | add) / (map(.batches | add) | add);
def shares: (map(.reads) | transpose | map(add)) | add as $all | map(. * 100 / $all | round | tostring) | join(", ");

def clients_table:
  [["clients", "shortest queue: gets/s", "p99 in us", "reads/batch", "% at each member",
    "random: gets/s", "p99 in us", "reads/batch", "% at each member"]]
  + (.runs | map(select(.choice | IN("shortest", "random"))) | group_by(.clients)
     | map(. as $runs | [(.[0].clients | tostring)]
         + [("shortest", "random") as $choice | $runs | map(select(.choice == $choice))
            | (middle_of(.rate_per_s) | grouped), (middle_of(.p99_us) | short), (per_batch | short), shares])) | markdown;

def rounds_table:
  [["round", "random: clients", "gets/s", "p99 in us: the limit", "shortest queue: clients", "gets/s", "p99 in us",
    "above the limit", "times", "still rising"]]
  + [.ratios[] | [(.round + 1 | tostring), (.random.clients | tostring), (.random.rate_per_s | grouped),
       (.p99_limit_us | short), (.shortest.clients // "none" | tostring),
       (.shortest.rate_per_s // 0 | grouped), (.shortest.p99_us | short),
       (if .above_limit == [] then "none" else "from \(.above_limit | min)" end), (.ratio | short),
       (if .still_rising == [] then "none" else .still_rising | join(", ") end)]] | markdown;

def aim_text: if .to then "\(.from) to \(.to)" else "at least \(.from)" end;

def read_tables:
  (.cases[]
   | "Gets from three blowfish-servers, \(.case). Each member alone:", "", alone_table, "",
     "A member chosen for each get; medians of all rounds:", "", clients_table, "",
     "Each round, at the fewest clients that get 95 % of the most answers within the limit:", "", rounds_table, ""),
  ([["members", "shortest queue / random", "of each round", "aim", "rounds with a side still rising"]]
   + [.cases[] | [.case, "**\(.ratios | middle_of(.ratio) | short)**",
        "\(.ratios | map(.ratio) | min | short) to \(.ratios | map(.ratio) | max | short)", (.aim | aim_text),
        "\(.ratios | map(select(.still_rising != [])) | length) of \(.ratios | length)"]]
   + [(0, 2) as $i | ["\(.cases[$i].case), beside \(.cases[1].case)",
        (.cases | map(.ratios | middle_of(.ratio)) | .[$i] / .[1] | short), "", "", ""]] | markdown), "",
  ((.cases | map(.runs[].clients) | max) as $largest
   | select(any(.cases[].ratios[]; .still_rising != []))
   | "WARNING: a side still rises at \($largest) clients, the most that were offered. Offer more.", "");
