# Latency and interval over time, a column for each step of the load. Needs: out, data, titles,
# policies (of each column), caption, before_s, after_s (how much is drawn). With latency_only, the
# interval is not drawn.
last_row = exists("latency_only") ? 2 : 3
width = 1160
height = last_row == 3 ? 720 : 480
load styles
set multiplot layout last_row-1,words(data) columnsfirst title caption noenhanced font ",15"
set lmargin 10
set rmargin 3
set logscale y
set xrange [-before_s:after_s]
set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead linecolor "gray60" dashtype 3
do for [column=1:words(data)] {
  file = word(data, column)
  of_column = word(policies, column)
  do for [row=2:last_row] {
    set title row == 2 ? word(titles, column) : "" noenhanced
    set ylabel column > 1 ? "" : row == 2 ? "mean write latency, ms" : "interval, ms"
    set xlabel row == last_row ? "seconds after the step" : ""
    set yrange [row == 2 ? 5 : 10 : row == 2 ? 3000 : 300]
    if (row == last_row) { set key bmargin center horizontal maxcols 3 maxrows 2 } else { unset key }
    set bmargin row == last_row ? 7 : 2
    plot for [i=1:words(of_column)] p = word(of_column, i) file index p \
      using 1:row with lines linecolor rgb colour(p) linewidth thick(p) title label(p)
  }
  set key default noenhanced samplen 2.5
}
unset multiplot
