# Mean latency over that of the default, when one option is multiplied. Called with data, out.
set terminal svg size 900,480 font "sans,13" background "white"
set output out

# Colours of Okabe and Ito, which colour-blind readers can tell apart; shapes differ too.
array colours[5] = ["#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00"]
set grid ytics linecolor "gray85"
set border 3
set tics nomirror
set xtics ("1/2" 1, "2/3" 2, "default" 3, "3/2" 4, "2" 5)
set xrange [0.8:5.2]
set xlabel "the option, times"
set ylabel "mean latency over that of the default"
set key outside right top noenhanced

options = system("cut -d' ' -f1 ".data)
plot for [i=1:words(options)] sprintf("< awk 'NR == %d { for (j = 2; j <= 6; ++j) print j - 1, $j }' %s", i, data) \
  using 1:2 with linespoints linewidth 2 linecolor rgb colours[1 + (i - 1) % 5] dashtype 1 + (i - 1) / 5 \
  pointtype 4 + i % 10 title word(options, i)
