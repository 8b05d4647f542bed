# Latency against load, a curve per policy: the mean, and the time within which 99 % were answered.
# Called with data (a file of policy-bench --plot-data), caption, out.
set terminal svg size 1000,760 font "sans,13" background "white"
set output out

# Colours of Okabe and Ito, which colour-blind readers can tell apart; shapes differ too.
array colours[7] = ["#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7"]
do for [i=1:28] {
  set linetype i linecolor rgb colours[(i - 1) % 7 + 1] linewidth 2 \
    dashtype 1 + (i - 1) / 7 pointtype 4 + i % 10 pointsize 0.7
}
set grid ytics linecolor "gray85"
set border 3
set tics nomirror
set logscale xy
set format x "%.0s%c"
set xlabel "changes per second"
set ylabel "ms, from when due"
set key outside right top noenhanced

set datafile columnheaders
stats data nooutput
set multiplot layout 2,1 title caption noenhanced
do for [quantile in "mean p99"] {
  column = quantile eq "mean" ? 2 : 4
  set title quantile
  plot for [i=0:STATS_blocks-1] data index i using 1:column with linespoints linetype (i + 1) \
    title columnheader(1)
}
unset multiplot
