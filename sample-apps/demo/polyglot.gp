# Requests, lag of the lazy member, and Redis in sync over time, with the events. Called with data
# (directory with polyglot.dat: seconds, requests/s of both loads, age of the newest record in
# PostgreSQL, keys that it is behind, ranges that have Redis in sync) and out.
load sprintf("%s/events.gp", ARG0[1:strlen(ARG0)-strlen("polyglot.gp")-1])
lines = data . "/polyglot.dat"

set multiplot layout 3,1
set tmargin 5
set yrange [0:*]
set ylabel "requests/s"
plot lines using 1:2 with lines linetype 1 title "job launch", \
  lines using 1:3 with lines linetype 2 title "I/O forwarding"
do for [i=1:count] { unset label i }
set tmargin 2
set ylabel "age of newest, s"
set y2range [0:*]
set y2tics
set y2label "keys"
set key inside right top
plot lines using 1:4 with lines linetype 1 title "newest record in PostgreSQL, s", \
  lines using 1:5 axes x1y2 with lines linetype 2 title "keys that it is behind (right)"
unset y2tics
unset y2label
set ylabel "ranges with Redis in sync"
set yrange [0:17]
set xlabel "seconds"
plot lines using 1:6 with steps linetype 3 notitle
unset multiplot
