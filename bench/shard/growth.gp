# Memory over time while data is loaded. Needs: out, data (CSV), budget (bytes), caption.
set terminal svg size 760,420 font "sans,13" background "white"
set output out
set encoding utf8
set datafile separator comma
set datafile columnheaders
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set title caption noenhanced
set key outside bottom center horizontal samplen 2
set xlabel "seconds"
set ylabel "MiB"
set yrange [0:*]
mib(bytes) = bytes / 1048576.0
plot mib(2 * budget) with lines linecolor "gray50" dashtype 2 title "twice the budget", \
  mib(budget) with lines linecolor "gray50" title "budget", \
  data using "time_s":(mib(column("resident"))) with lines linecolor "#0072b2" linewidth 2 title "resident", \
  "" using "time_s":(mib(column("resident") - column("of_files"))) with lines linecolor "#d55e00" \
    title "of it not of files", \
  "" using "time_s":(mib(column("compressed"))) with lines linecolor "#009e73" linewidth 2 title "compressed files"
