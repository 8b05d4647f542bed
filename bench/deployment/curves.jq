# A block for each number of ranges, with a line for each number of nodes: nodes; if all nodes start, seconds
# until all ranges are served, and events; if a node dies, seconds until they are served again, and calls to
# the coordinator; if it comes back, the longest time without an owner in ms; and renewals a second.
.results | group_by(.ranges)
| map("\"\(.[0].ranges) ranges\"\n"
      + (map([.nodes, .start.seconds, .start.events, .death.unserved_max_ms / 1000, .death.calls,
              .join.unserved_max_ms, .steady.renewals / .steady.seconds]
             | map(tostring) | join(" ")) | join("\n")))
| join("\n\n\n")
