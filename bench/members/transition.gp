# The rate of writes while the mode changes twice, a line for each run. Needs: out, data (files
# DATA-RUN: seconds from the first change, SETs/s), runs, change (when the second one is), modes (three
# words).
set terminal svg size 900,420 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set key off
set yrange [0:*]
set xlabel "seconds"
set ylabel "answered SETs/s"
set tmargin 2.5
set arrow 1 from 0, graph 0 to 0, graph 1 nohead dashtype 2 linecolor "gray40"
set arrow 2 from change, graph 0 to change, graph 1 nohead dashtype 2 linecolor "gray40"
set label 1 word(modes, 1) . " to " . word(modes, 2) at 0, graph 1.04 center
set label 2 word(modes, 2) . " to " . word(modes, 3) at change, graph 1.04 center
colours = "#000000 #e69f00 #d55e00 #0072b2 #009e73"
plot for [i=0:runs-1] sprintf("%s-%d", data, i) using 1:2 with lines linewidth 1.5 \
  linecolor rgb word(colours, 1 + i % 5)
