# Jain's index over time, a column for each case; above of latency, below of batches. Needs: out,
# data, titles, policies (of each column), caption.
width = 1160
height = 740
load styles
set multiplot layout 2,words(data) columnsfirst title caption noenhanced font ",15"
set lmargin 10
set rmargin 3
set logscale x 2
set xrange [0.45:20]
set xtics (0.5, 1, 2, 4, 8, 16)
do for [column=1:words(data)] {
  file = word(data, column)
  of_column = word(policies, column)
  do for [row=2:3] {
    set title row == 2 ? word(titles, column) : "" noenhanced
    set ylabel column > 1 ? "" : row == 2 ? "Jain's index, latency" : "Jain's index, batches"
    set xlabel row == 3 ? "seconds after the start, the join" : ""
    set yrange [0:1.02]
    if (row == 3) { set key bmargin center horizontal maxcols 3 maxrows 2 } else { unset key }
    set bmargin row == 3 ? 7 : 2
    plot for [i=1:words(of_column)] p = word(of_column, i) file index p using 1:row \
      with linespoints linecolor rgb colour(p) linewidth thick(p) pointtype shape(p) \
      pointsize 0.7 title label(p)
  }
  set key default noenhanced samplen 2.5
}
unset multiplot
