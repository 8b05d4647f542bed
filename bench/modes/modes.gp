# Mean latency against throughput, a line for each side and a point for each number of clients. Needs:
# out, data (see latency_points in modes.jq: five blocks for 95 % gets, then five for 50 %).
set terminal svg size 1000,440 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set logscale y
set xrange [0:*]
set xlabel "requests/s"
set xtics 10000
set key outside top horizontal
set linetype 1 linecolor rgb "#0072b2" linewidth 2 pointtype 7
set linetype 2 linecolor rgb "#000000" linewidth 2 pointtype 9
set linetype 3 linecolor rgb "#d55e00" linewidth 2 pointtype 5
set linetype 4 linecolor rgb "#009e73" linewidth 2 pointtype 13
set linetype 5 linecolor rgb "#e69f00" linewidth 2 pointtype 11
set multiplot layout 1,2
set ylabel "mean latency, ms"
set title "95 % gets"
plot for [i=0:4] data index i using 1:2 with linespoints title columnheader(1)
set title "50 % gets"
plot for [i=5:9] data index i using 1:2 with linespoints linetype i-4 title columnheader(1)
unset multiplot
