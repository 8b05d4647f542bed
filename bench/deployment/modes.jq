# Blocks for gnuplot, of what `stout-sim modes` wrote.
def block($title): "\"\($title)\"", .[], "", "";

# rates: a block for each load and mode, the loads in the order of modes.gp: nodes, requests/s.
def rates:
  (.results | group_by([.zipf, -.gets]))[] | group_by(.mode | {"ms+sc": 0, "ms+ec": 1, "aa+ec": 2}[.])[]
  | .[0].mode as $mode | map("\(.nodes) \(.requests_per_s)") | block($mode);

# costs: a block for each number of ranges: nodes, work of all nodes for a request in us, batches for it.
def costs:
  (.results | group_by(.ranges))[] | .[0].ranges as $ranges
  | map("\(.nodes) \(.node_us) \(.batches_per_request)") | block("\($ranges) ranges");
