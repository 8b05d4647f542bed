# Mean latency over that of the default, when one constant is halved or doubled. Called with data, out.
set terminal svg size 900,420 font "sans,13" background "white"
set output out

set grid ytics linecolor "gray85"
set border 3
set tics nomirror
set xtics rotate by -60 noenhanced
set xrange [-0.7:*]
set yrange [0.9:*]
set ylabel "mean latency over that of the default"
set key top left

plot data using 0:3:xtic(1) every ::1 with points pointtype 6 linecolor rgb "#0072b2" title "half", \
  data using 0:4 every ::1 with points pointtype 7 linecolor rgb "#d55e00" title "twice"
