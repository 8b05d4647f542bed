# Hit rates of a popular tenant as bars. Needs: out, data (lines: scenario, default, static,
# S3-FIFO, adaptive, records).
set terminal svg size 900,420 font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set key outside top horizontal
set style data histograms
set style fill solid 0.9 noborder
set boxwidth 0.9
set yrange [0:1]
set ylabel "hit rate of the popular tenant"
set xlabel "what reads beside it"
plot data using 2:xtic(1) title "all may fill the cache" linecolor rgb "#999999", \
     '' using 3 title "best static share" linecolor rgb "#e69f00", \
     '' using 4 title "S3-FIFO" linecolor rgb "#cc79a7", \
     '' using 5 title "adaptive" linecolor rgb "#0072b2", \
     '' using 6 title "adaptive, records" linecolor rgb "#009e73"
