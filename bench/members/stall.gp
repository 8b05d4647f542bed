# Answered writes around the failure of a node, a line for each run. Needs: out, data (files
# DATA-EVENT-RUN: seconds from the event, SETs/s in ranges of other owners, in those of the node),
# runs, mode.
set terminal svg size 1000,620 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set key off
set xrange [-2:6]
set yrange [0:*]
set arrow 1 from 0, graph 0 to 0, graph 1 nohead dashtype 2 linecolor "gray40"
events = "kill stop"
failed = "'kill -9' 'SIGSTOP'"
whose = "'ranges of other owners' 'ranges that the node owned'"
limits = "1.3 4"
colours = "#0072b2 #d55e00"
set multiplot layout 2,2 columnsfirst
set bmargin 3.2
set lmargin 11
do for [e=1:2] {
  do for [r=1:2] {
    set title word(failed, e) . ": " . word(whose, r) font ",12"
    set ylabel (e == 1 ? "answered SETs/s" : "")
    set xlabel (r == 2 ? "seconds from the event" : "")
    set object 1 rectangle from 0, graph 0 to real(word(limits, r)), graph 1 behind \
      fillcolor rgb "#eeeeee" fillstyle solid noborder
    set label 1 "limit " . word(limits, r) . " s" at real(word(limits, r)), graph 0.94 left \
      offset 0.5, 0 font ",11" textcolor rgb "gray30"
    if (mode eq "aa+ec" || e == 2 && r == 2) { unset object 1; unset label 1 }
    plot for [i=1:runs] sprintf("%s-%s-%d", data, word(events, e), i) using 1:(column(1 + r)) \
      with lines linewidth 1.2 linecolor rgb word(colours, r)
  }
}
unset multiplot
