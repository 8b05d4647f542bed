# Answers per second and writes per batch over time, a curve per policy.
# Called with data (directory of `docstore-load report --plot-data`), runs, labels, out, and what style.gp
# needs.
set terminal svg size 900,720 font "sans,13" background "white"
set output out
load sprintf("%s/style.gp", ARG0[1:strlen(ARG0)-strlen("throughput.gp")-1])

set multiplot layout 2,1
set xlabel "seconds"
set logscale y
set key outside right top
set ylabel "requests/s"
set title "Answered, and due"
plot sprintf("%s/run-0.dat", data) using 1:2 with lines dashtype 2 linecolor "gray40" title "due", \
  for [i=0:runs-1] sprintf("%s/run-%d.dat", data, i) using 1:3 \
  with linespoints linetype (i + 1) title word(labels, i + 1)
set ylabel "writes"
set title "Writes per batch"
plot for [i=0:runs-1] sprintf("%s/run-%d.dat", data, i) using 1:6 \
  with linespoints linetype (i + 1) title word(labels, i + 1)
unset multiplot
