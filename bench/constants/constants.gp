# Mean latency over that of the default, when one option is multiplied. Called with data, out.
set terminal svg size 900,480 font "sans,13" background "white"
set output out

set grid ytics linecolor "gray85"
set border 3
set tics nomirror
set xtics ("1/2" 0.5, "2/3" 2. / 3, "default" 1, "3/2" 1.5, "2" 2)
set logscale x
set xrange [0.48:2.1]
set xlabel "the option, times"
set ylabel "mean latency over that of the default"
set key outside right top noenhanced

# Colours of Okabe and Ito, which colour-blind readers can tell apart; shapes differ too.
array colours[5] = ["#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00"]
array times[5] = [0.5, 2. / 3, 1, 1.5, 2]
plot for [i=2:14] data using (times[$0 + 1]):i with linespoints linewidth 2 \
  linecolor rgb colours[(i - 2) % 5 + 1] dashtype 1 + (i - 2) / 5 pointtype 4 + i % 10 \
  title columnheader(i)
