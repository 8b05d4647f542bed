# Gets over time while one shard after the other is hot. Needs: out, all, half (CSV), turn (seconds).
set terminal svg size 760,380 font "sans,13" background "white"
set output out
set encoding utf8
set datafile separator comma
set datafile columnheaders
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set title "Gets of one shard of eight, each in its turn"
set key outside bottom center horizontal samplen 2
set xlabel "seconds"
set ylabel "gets/s"
set format y "%.0s%c"
set yrange [0:*]
set xtics turn
set grid xtics
plot all using "time_s":"answered_per_s" with lines linecolor "gray50" title "memory for all files", \
  half using "time_s":"answered_per_s" with lines linecolor "#0072b2" linewidth 2 title "memory for half of them"
