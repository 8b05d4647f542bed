# The highest rate by the round trip to the store, a panel for each store. Needs: styles, out, data
# ("FILE FILE"), titles ("first second").
panels = words(data)
width = 560 * panels
height = 440
load styles
set multiplot layout 1,panels title "Durable changes per second, by the round trip to the store" \
  font ",15"
set logscale y
set yrange [50:*]
set format y "%.0s%c"
set xlabel "round trip, ms"
set lmargin 9
set key right bottom
set datafile columnheaders
set xrange [-0.2:*]
do for [panel=1:panels] {
  file = word(data, panel)
  set title word(titles, panel) noenhanced
  stats file nooutput
  plot for [i=0:STATS_blocks-1] file index i using 1:2 with linespoints linewidth 2 \
    title columnheader(1)
}
unset multiplot
