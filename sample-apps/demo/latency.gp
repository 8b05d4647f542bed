# Write latency over time, a curve per policy: half of the writes, and all but one in a hundred.
# Called with data (directory of `docstore-load report --plot-data`), runs, labels, out, and what style.gp
# needs.
set terminal svg size 900,720 font "sans,13" background "white"
set output out
load sprintf("%s/style.gp", ARG0[1:strlen(ARG0)-strlen("latency.gp")-1])

set multiplot layout 2,1
set xlabel "seconds"
set logscale y
set ylabel "from when due"
set format y "%.0s %cs"
set key outside right top
do for [quantile in "p50 p99"] {
  ms = quantile eq "p50" ? 4 : 5
  set title sprintf("Write latency, %s of each second", quantile)
  plot for [i=0:runs-1] sprintf("%s/run-%d.dat", data, i) using 1:(column(ms) / 1000) \
    with linespoints linetype (i + 1) title word(labels, i + 1)
}
unset multiplot
