# What a share by hand does, as in figures 3 and 4 of the study. Needs: out, data (lines: share, hit rate
# and rate of the popular tenant, hit rate and rate of the other).
set terminal svg size 900,420 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set logscale x
set xrange [0.008:1.2]
set yrange [0:*]
set xlabel "share of the other's misses admitted"
set key outside top horizontal
set multiplot layout 1,2
set ylabel "hit rate"
plot data using 1:2 title "popular" with linespoints linewidth 2 pointtype 7 linecolor rgb "#0072b2", \
     '' using 1:4 title "uniform" with linespoints linewidth 2 pointtype 5 linecolor rgb "#e69f00"
set ylabel "reads/s"
plot data using 1:3 title "popular" with linespoints linewidth 2 pointtype 7 linecolor rgb "#0072b2", \
     '' using 1:5 title "uniform" with linespoints linewidth 2 pointtype 5 linecolor rgb "#e69f00"
unset multiplot
