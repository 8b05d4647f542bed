# Latency against load, a panel for each data file. Needs: styles, out, caption, data ("FILE FILE"),
# titles ("'first panel' 'second panel'"), policies (of each panel, likewise), xlabel, xmax (of each
# panel, the last for all that follow); with logx, the load too is on a log scale.
panels = words(data)
columns = panels == 4 ? 2 : panels < 3 ? panels : 3
rows = panels / columns
width = columns == 1 ? 720 : columns == 2 ? 1080 : 1320
height = rows == 1 ? 480 : 900
load styles
set multiplot layout rows,columns title caption noenhanced font ",15"
set logscale y
set yrange [(exists("logx") ? 0.2 : 0.8):1000]
if (exists("logx")) { set logscale x }
set format x "%.0s%c"
set xlabel xlabel offset 0,0.4 noenhanced
set lmargin 9
set rmargin 3
set bmargin 7.5
set key bmargin center horizontal maxcols 3
do for [panel=1:panels] {
  file = word(data, panel)
  of_panel = word(policies, panel)
  set xrange [(exists("logx") ? 200 : 0):word(xmax, panel > words(xmax) ? words(xmax) : panel) + 0]
  set title word(titles, panel) noenhanced
  set ylabel (panel - 1) % columns == 0 ? "mean write latency, ms" : ""
  plot for [i=1:words(of_panel)] p = word(of_panel, i) file index p using 1:2 with linespoints \
    linecolor rgb colour(p) linewidth thick(p) pointtype shape(p) pointsize 0.6 title label(p)
}
unset multiplot
