# Figure 8 of BlowFish. Needs: out, needed, carried: lines of a load (or bytes), then BlowFish, replicas,
# zstd, hash.
set terminal svg size 980,440 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid xtics ytics linecolor "gray88" linetype 1
set logscale xy
set datafile missing "null"
array names[4] = ["BlowFish: replicas with layers", "replicas without layers", "zstd and an inverted index", "not compressed"]
array colours[4] = ["#0072b2", "#56b4e9", "#d55e00", "gray40"]
set multiplot layout 1,2 title "BlowFish figure 8: 100 shards whose loads follow Zipf's law (.99)" font ",15"
set xlabel "load of the busiest shard / capacity of a shard without layers"
set ylabel "bytes of memory / bytes of values"
set key top left samplen 2
plot for [i=1:4] needed using 1:(column(i + 1)) with linespoints pointtype 7 pointsize 0.5 linecolor rgb colours[i] title names[i]
set xlabel "bytes of memory / bytes of values"
set ylabel "highest load of the busiest shard"
unset key
plot for [i=1:4] carried using 1:(column(i + 1)) with linespoints pointtype 7 pointsize 0.5 linecolor rgb colours[i]
unset multiplot
