# Figure 8 of BlowFish. Needs: out, loads: lines of a shard and its load; needed, carried: lines of a load (or
# bytes), then BlowFish, replicas, zstd, hash.
set terminal svg size 1360,440 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid xtics ytics linecolor "gray88" linetype 1
set logscale xy
set datafile missing "null"
array names[4] = ["BlowFish: replicas with layers", "replicas without layers", "zstd and an inverted index", "not compressed"]
array colours[4] = ["#0072b2", "#56b4e9", "#d55e00", "gray40"]
set multiplot layout 1,3 title "BlowFish figure 8: 100 shards whose loads follow Zipf's law (.99)" font ",15"
set title "(a) skew"
set xlabel "shard"
set ylabel "load / load of the idlest shard"
set key top right samplen 2 font ",11"
plot loads using 1:2 with points pointtype 7 pointsize 0.3 linecolor rgb "black" notitle, \
  for [i=1:4] NaN with linespoints pointtype 7 pointsize 0.5 linecolor rgb colours[i] title names[i]
unset key
set title "(b) load in a memory"
set xlabel "bytes of memory / bytes of values"
set ylabel "highest load of the busiest shard"
plot for [i=1:4] carried using 1:(column(i + 1)) with linespoints pointtype 7 pointsize 0.5 linecolor rgb colours[i]
set title "(c) memory for a load"
set xlabel "load of the busiest shard"
set ylabel "bytes of memory / bytes of values"
plot for [i=1:4] needed using 1:(column(i + 1)) with linespoints pointtype 7 pointsize 0.5 linecolor rgb colours[i]
unset multiplot
