# Three servers under a load that rises in steps: figure 10 of the BlowFish paper. Needs: out, data
# (a CSV: seconds, offered/s, answered/s, then three columns each for gets/s, the queue, and MiB of
# layers), step (seconds), steps (their number).
set terminal svg size 900,900 font "sans,13" background "white"
set output out
set encoding utf8
set datafile separator comma
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set multiplot layout 3,1 \
  title "BlowFish figure 10: the shortest of three queues; server 3 has no memory for layers" \
  noenhanced font ",15"
set lmargin 11
set rmargin 15
set key outside right top samplen 2
do for [i=1:steps - 1] {
  set arrow i from first i * step, graph 0 to first i * step, graph 1 nohead \
    linecolor "gray60" dashtype 3
}
colours = "#0072b2 #009e73 #d55e00"
name(i) = sprintf("server %d", i)
set xrange [0:step * steps]
set yrange [0:*]
set ylabel "gets/s"
plot data using 1:($2 / 3) with lines linecolor "gray50" dashtype 2 title "offered / 3", \
  for [i=1:3] data using 1:(column(3 + i)) with lines linewidth 1.5 \
    linecolor rgb word(colours, i) title name(i)
set ylabel "gets that wait"
plot for [i=1:3] data using 1:(column(6 + i)) with lines linewidth 1.5 \
  linecolor rgb word(colours, i) title name(i)
set ylabel "MiB of layers"
set xlabel "seconds"
plot for [i=1:3] data using 1:(column(9 + i)) with steps linewidth 2 \
  linecolor rgb word(colours, i) title name(i)
unset multiplot
