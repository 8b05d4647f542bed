# The processor time of an event for one watcher, in microseconds: for each rate of changes and kind of
# watchers the median of all rounds, the least and the largest.
def median: sort | .[length / 2 | floor];
def shown: . * 10 | round / 10;
.runs | group_by(.rate)[]
| (map(select(.watchers == 0).processor_s) | median) as $alone
| map(select(.watchers > 0)) | group_by(.watchers)[]
| (map((.processor_s - $alone) / (.changes * .watchers) * 1e6)) as $us
| "\(if .[0].rate > 0 then "\(.[0].rate) changes a second" else "as fast as it goes" end), "
  + "\(.[0].watchers) watchers by \(.[0].by): \($us | median | shown) us "
  + "(\($us | min | shown) to \($us | max | shown))"
