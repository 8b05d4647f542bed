# A block for each number of ranges, with a line for each number of nodes: nodes; seconds until all are
# served, if all nodes start; calls to the coordinator if a node dies, and the longest time without an owner in
# ms if it comes back; and renewals a second.
.results | group_by(.ranges)
| map("\"\(.[0].ranges) ranges\"\n"
      + (map([.nodes, .start.seconds, .death.calls, .join.unserved_max_ms,
              .steady.renewals / .steady.seconds]
             | map(tostring) | join(" ")) | join("\n")))
| join("\n\n\n")
