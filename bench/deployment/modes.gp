# Requests of many nodes, simulated. Needs: out, rates, costs (see modes.jq).
set terminal svg size 900,900 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set linetype 1 linecolor rgb "#0072b2" linewidth 2 pointtype 7
set linetype 2 linecolor rgb "#e69f00" linewidth 2 pointtype 5
set linetype 3 linecolor rgb "#009e73" linewidth 2 pointtype 9
set xlabel "nodes"
set key outside top horizontal
set multiplot layout 3,2
set xrange [0:50]
set yrange [0:*]
titles = "'95 % gets, uniform' '50 % gets, uniform' '95 % gets, Zipf .99' '50 % gets, Zipf .99'"
do for [load=0:3] {
  set title word(titles, load + 1) . ": million requests/s"
  plot for [i=0:2] rates index (3 * load + i) using 1:($2 / 1e6) with linespoints linetype i+1 title columnheader(1)
}
set logscale x
set xrange [*:*]
set title "work of nodes for a request, us"
plot for [i=0:2] costs index i using 1:2 with linespoints linetype i+1 title columnheader(1)
set title "batches to datalets for a request"
plot for [i=0:2] costs index i using 1:3 with linespoints linetype i+1 title columnheader(1)
unset multiplot
