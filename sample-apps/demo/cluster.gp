# Rate, latency and members in sync over time, with the events. Called with data (directory of
# cluster-load --out) and out.
set terminal svg size 900,860 font "sans,13" background "white"
set output out
set linetype 1 linecolor rgb "#0072b2" linewidth 2 pointtype 5 pointsize 0.6
set linetype 2 linecolor rgb "#d55e00" linewidth 2 pointtype 8 pointsize 0.6
set linetype 3 linecolor rgb "#009e73" linewidth 2 pointtype 7 pointsize 0.6
set grid ytics linecolor "gray85"
set border 3
set tics nomirror
load_data = data . "/load.dat"
events = data . "/events.dat"
stats events using 1 nooutput
count = STATS_records
when(i) = system(sprintf("awk 'NR == %d { print $1 }' '%s'", i, events))
event(i) = system(sprintf("awk -F'\"' 'NR == %d { print $2 }' '%s'", i, events))
do for [i=1:count] {
  set arrow i from real(when(i)), graph 0 to real(when(i)), graph 1 nohead dashtype 3 linecolor "gray40"
  set label i event(i) at real(when(i)), graph 1.03 rotate by 20 left font "sans,11"
}

set multiplot layout 3,1
set lmargin 9
set rmargin 14
set key outside right top
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
