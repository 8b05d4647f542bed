# What a coordinator does for many nodes. Needs: out, data (see curves.jq).
set terminal svg size 900,920 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set linetype 1 linecolor rgb "#0072b2" linewidth 2 pointtype 7
set linetype 2 linecolor rgb "#e69f00" linewidth 2 pointtype 5
set linetype 3 linecolor rgb "#009e73" linewidth 2 pointtype 9
set logscale xy
set xlabel "nodes"
set key outside top horizontal
set multiplot layout 3,2
set title "all nodes start: seconds until all ranges are served"
plot for [i=0:2] data index i using 1:2 with linespoints title columnheader(1)
set title "all nodes start: events that the coordinator sends"
plot for [i=0:2] data index i using 1:3 with linespoints title columnheader(1)
set title "a node dies: seconds until its ranges are served again"
set yrange [1:100]
plot for [i=0:2] data index i using 1:4 with linespoints title columnheader(1)
set autoscale y
set title "a node dies: calls to the coordinator, without renewals"
plot for [i=0:2] data index i using 1:5 with linespoints title columnheader(1)
set title "it comes back: longest time without an owner, ms"
plot for [i=0:2] data index i using 1:6 with linespoints title columnheader(1)
set title "renewals a second, for any number of ranges"
plot data index 0 using 1:7 with linespoints notitle
unset multiplot
