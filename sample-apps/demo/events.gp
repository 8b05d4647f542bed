# For plots of demos over time: colours, and each line of events.dat in the directory `data` as a
# vertical line.
set terminal svg size 900,860 font "sans,13" background "white"
set output out
set linetype 1 linecolor rgb "#0072b2" linewidth 2 pointtype 5 pointsize 0.6
set linetype 2 linecolor rgb "#d55e00" linewidth 2 pointtype 8 pointsize 0.6
set linetype 3 linecolor rgb "#009e73" linewidth 2 pointtype 7 pointsize 0.6
set grid ytics linecolor "gray85"
set border 3
set tics nomirror
events = data . "/events.dat"
stats events using 1 nooutput
count = STATS_records
when(i) = system(sprintf("awk 'NR == %d { print $1 }' '%s'", i, events))
event(i) = system(sprintf("awk -F'\"' 'NR == %d { print $2 }' '%s'", i, events))
do for [i=1:count] {
  set arrow i from real(when(i)), graph 0 to real(when(i)), graph 1 nohead dashtype 3 linecolor "gray40"
  set label i event(i) at real(when(i)), graph 1.03 rotate by 20 left font "sans,11"
}
set lmargin 9
set rmargin 14
set key outside right top
