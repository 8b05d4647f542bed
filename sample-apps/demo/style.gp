# Colours of Okabe and Ito, which colour-blind readers can tell apart; shapes differ too.
set linetype 1 linecolor rgb "#000000" linewidth 2 pointtype 4 pointsize 0.6
set linetype 2 linecolor rgb "#e69f00" linewidth 2 pointtype 6 pointsize 0.6
set linetype 3 linecolor rgb "#d55e00" linewidth 2 pointtype 8 pointsize 0.6
set linetype 4 linecolor rgb "#0072b2" linewidth 2 pointtype 5 pointsize 0.6
set linetype 5 linecolor rgb "#009e73" linewidth 2 pointtype 7 pointsize 0.6
set linetype 6 linecolor rgb "#cc79a7" linewidth 2 pointtype 9 pointsize 0.6
set grid ytics linecolor "gray85"
set border 3
set title offset 0, 0.4
set tics nomirror

# The three steps of the load, the heavy one shaded. Called with step (seconds), light, heavy (rates).
set object 1 rectangle from step, graph 0 to 2 * step, graph 1 behind \
  fillcolor rgb "#eeeeee" fillstyle solid noborder
set label 1 light . " requests/s" at 0.5 * step, graph 1.04 center
set label 2 heavy . " requests/s" at 1.5 * step, graph 1.04 center
set label 3 light . " requests/s" at 2.5 * step, graph 1.04 center
