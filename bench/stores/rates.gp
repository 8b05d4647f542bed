# The highest rate of each contender, a panel for each store and number of documents. Needs: styles,
# out, data ("FILE FILE"), titles ("'first panel' 'second panel'").
panels = words(data)
columns = panels == 1 ? 1 : 2
rows = (panels + columns - 1) / columns
width = 640 * columns
height = 60 + 380 * rows
load styles
set multiplot layout rows,columns title "Durable changes per second with a p99 within the bound" \
  font ",15"
set logscale y
set yrange [50:2e6]
set format y "%.0s%c"
set style fill solid 0.9
set boxwidth 0.75
set xtics rotate by -40 noenhanced font ",11"
set lmargin 9
set bmargin 7
set rmargin 14
unset key
do for [panel=1:panels] {
  set title word(titles, panel) noenhanced
  # Without libstout grey, with it green.
  plot word(data, panel) using 0:($2 == 1 ? $3 : NaN):xtic(1) with boxes linecolor rgb "#969696", \
    "" using 0:($2 == 0 ? $3 : NaN) with boxes linecolor rgb "#009e73", \
    "" using 0:3:(gprintf($3 < 1e4 ? "%.1s%c" : "%.0s%c", $3)) \
      with labels rotate by 90 left offset 0,0.4 font ",10"
}
unset multiplot
