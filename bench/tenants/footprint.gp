# The memory of two tenants over time, in a map without a law and with it. Needs: out, data (a prefix
# of the files .map and .records; lines: requests, MiB of the popular tenant, MiB of the other).
set terminal svg size 900,420 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set yrange [0:*]
set xlabel "thousands of popular requests since the other began"
set ylabel "MiB"
set key outside top horizontal
set multiplot layout 1,2
set title "all may fill the memory"
plot data.".map" using ($1/1000):2 title "popular" with lines linewidth 2 linecolor rgb "#0072b2", \
     '' using ($1/1000):3 title "uniform" with lines linewidth 2 linecolor rgb "#e69f00"
set title "adaptive"
plot data.".records" using ($1/1000):2 title "popular" with lines linewidth 2 linecolor rgb "#0072b2", \
     '' using ($1/1000):3 title "uniform" with lines linewidth 2 linecolor rgb "#e69f00"
unset multiplot
