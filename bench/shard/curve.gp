# What a store can do by what it takes, a panel for each workload. Needs: out, caption, data: lines
# of family, name, bytes over bytes of values, gets, searches, both; a family's lines stand together,
# by their bytes, and its blocks are parted by two empty lines; others come first.
set terminal svg size 1080,460 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid xtics ytics linecolor "gray88" linetype 1
set logscale xy
set xtics ("0.2" 0.2, "0.3" 0.3, "0.5" 0.5, "1" 1, "2" 2, "4" 4)
set xrange [0.2:10]
set yrange [100:8e6]
set format y "%.0s%c"
set datafile missing "null"
set multiplot layout 1,3 title caption noenhanced font ",15"
set xlabel "bytes / bytes of values"
set key bottom right noenhanced samplen 2
array titles[3] = ["gets/s", "searches/s", "half gets, half searches/s"]
do for [i=1:3] {
  set title titles[i]
  plot data index 0 using 3:(column(3 + i)) with points pointtype 7 linecolor "gray50" notitle, \
    "" index 0 using 3:(column(3 + i)):2 with labels left offset 0.6,0.3 font ",10" textcolor rgb "gray30" notitle, \
    "" index 1 using 3:(column(3 + i)) with points pointtype 7 linecolor "#0072b2" title "records", \
    "" index 2 using 3:(column(3 + i)) with points pointtype 9 linecolor "#d55e00" title "bytes"
}
unset multiplot
