# A run of several shards over time: rates, queues, layers, and what these take of the budget. Needs:
# out, data (a CSV), shards, turn (seconds in which one shard is the hottest), caption, budget (bytes).
set terminal svg size 900,1000 font "sans,13" background "white"
set output out
set encoding utf8
set datafile separator comma
set datafile columnheaders
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set multiplot layout 4,1 title caption noenhanced font ",15"
set lmargin 11
set rmargin 14
set key outside right top samplen 2 noenhanced
# Colours of Okabe and Ito, one for each shard.
colours = "#0072b2 #d55e00 #009e73 #cc79a7"
colour(shard) = word(colours, shard % words(colours) + 1)
do for [shard=1:shards - 1] {
  set arrow shard from first shard * turn, graph 0 to first shard * turn, graph 1 nohead \
    linecolor "gray60" dashtype 3
}
set yrange [0:*]
set ylabel "requests/s"
plot data using "time_s":"offered_per_s" with lines linecolor "gray50" dashtype 2 title "offered", \
  "" using "time_s":"answered_per_s" with lines linecolor "#3c3c3c" linewidth 2 title "answered"
set ylabel "requests at the shard"
plot for [shard=0:shards - 1] data using "time_s":sprintf("queue%d", shard) with lines \
  linecolor rgb colour(shard) title sprintf("shard %d", shard)
set ylabel "layers"
set yrange [0:*]
plot for [shard=0:shards - 1] data using "time_s":sprintf("layers%d", shard) with steps \
  linecolor rgb colour(shard) linewidth 2 title sprintf("shard %d", shard)
set ylabel "MB"
set xlabel "seconds"
plot data using "time_s":((column("compressed_bytes") + column("layer_bytes")) / 1e6) with steps \
  linecolor "#3c3c3c" linewidth 2 title "in use", \
  "" using "time_s":(budget / 1e6) with lines linecolor "gray50" dashtype 2 title "budget"
unset multiplot
