# A run over time, a column for each: rates, latency, what waits, bytes. Needs: out, data ("CSV CSV"),
# titles ("'first' 'second'"), caption, raw (bytes of values).
set terminal svg size 1080,1000 font "sans,13" background "white"
set output out
set encoding utf8
set datafile separator comma
set datafile columnheaders
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set multiplot layout 4,words(data) rowsfirst title caption noenhanced font ",15"
set lmargin 11
set rmargin 2
set key outside top right horizontal samplen 2 noenhanced
columns = words(data)
file(i) = word(data, i)
set yrange [0:*]
do for [i=1:columns] {
  set title word(titles, i) noenhanced
  set ylabel i == 1 ? "requests/s" : ""
  plot file(i) using "time_s":"offered_per_s" with lines linecolor "gray50" dashtype 2 title "offered", \
    "" using "time_s":"answered_per_s" with lines linecolor "#0072b2" linewidth 2 title "answered"
}
unset title
set logscale y
set yrange [0.05:*]
do for [i=1:columns] {
  set ylabel i == 1 ? "latency, ms" : ""
  plot file(i) using "time_s":"p99_ms" with lines linecolor "#d55e00" title "p99", \
    "" using "time_s":"p50_ms" with lines linecolor "#009e73" linewidth 2 title "p50"
}
set yrange [1:*]
at_least_1(n) = n < 1 ? 1 : n
do for [i=1:columns] {
  set ylabel i == 1 ? "requests that wait" : ""
  plot file(i) using "time_s":(at_least_1(column("under_way"))) with lines linecolor "#0072b2" linewidth 2 \
    title "for an answer", \
    "" using "time_s":(at_least_1(column("queue"))) with lines linecolor "#cc79a7" title "at the shard"
}
unset logscale y
set yrange [0:*]
set xlabel "seconds"
do for [i=1:columns] {
  set ylabel i == 1 ? "bytes / bytes of values" : ""
  plot file(i) using "time_s":((column("compressed_bytes") + column("layer_bytes")) / raw) \
    with steps linecolor "#3c3c3c" linewidth 2 title "with layers", \
    "" using "time_s":(column("compressed_bytes") / raw) with steps linecolor "gray60" \
    title "compressed"
}
unset multiplot
