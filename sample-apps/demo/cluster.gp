# Rate, latency and members in sync over time, with the events. Called with data (directory of
# cluster-load --out) and out.
load sprintf("%s/events.gp", ARG0[1:strlen(ARG0)-strlen("cluster.gp")-1])
load_data = data . "/load.dat"

set multiplot layout 3,1
set tmargin 5
set yrange [0:*]
set ylabel "operations/s"
plot load_data using 1:2 with lines linetype 1 title "answered", \
  load_data using 1:3 with lines linetype 2 title "failed"
do for [i=1:count] { unset label i }
set tmargin 2
set logscale y
set yrange [*:*]
set format y "%g ms"
set ylabel "from when due"
plot load_data using 1:5 with lines linetype 2 title "p99", \
  load_data using 1:4 with lines linetype 1 title "p50"
unset logscale y
set format y "%g"
set yrange [0:*]
set ytics 1
set ylabel "members in sync"
set xlabel "seconds"
plot load_data using 1:7 with lines linetype 3 title "mean of ranges", \
  load_data using 1:6 with steps linetype 2 title "least"
unset multiplot
