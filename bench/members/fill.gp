# A fill over time, a column for each kind of member. Needs: out, data (files DATA-KIND-load:
# seconds from its begin, SETs/s, p99 in ms; DATA-KIND-ranges: seconds, ranges with the member).
set terminal svg size 1000,760 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set key off
set xrange [-2:*]
kinds = "rocksdb redis"
titles = "'A node with an empty RocksDB' 'An empty Redis'"
set multiplot layout 3,2 rowsfirst
set lmargin 11
set arrow 1 from 0, graph 0 to 0, graph 1 nohead dashtype 2 linecolor "gray40"
set yrange [0:*]
do for [k=1:2] {
  set title word(titles, k)
  set ylabel k == 1 ? "answered SETs/s" : ""
  plot sprintf("%s-%s-load", data, word(kinds, k)) using 1:2 with lines linewidth 2 \
    linecolor rgb "#0072b2"
}
unset title
set logscale y
set yrange [*:*]
do for [k=1:2] {
  set ylabel k == 1 ? "highest p99 of 100 ms, ms" : ""
  plot sprintf("%s-%s-load", data, word(kinds, k)) using 1:3 with lines linewidth 2 \
    linecolor rgb "#d55e00"
}
unset logscale y
set yrange [0:*]
set xlabel "seconds from the begin of the fill"
do for [k=1:2] {
  set ylabel k == 1 ? "ranges with it" : ""
  plot sprintf("%s-%s-ranges", data, word(kinds, k)) using 1:2 with steps linewidth 2 \
    linecolor rgb "#009e73"
}
unset multiplot
