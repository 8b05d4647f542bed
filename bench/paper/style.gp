# The common style of the paper's figures. A policy has the same style in all of them.
# Needs: out, width, height.
set terminal svg size width,height font "sans,13" background "white"
set output out
set encoding utf8
set border 3 linecolor "gray40"
set tics nomirror
set grid ytics linecolor "gray88" linetype 1
set key noenhanced samplen 2.5 spacing 1.1

# Colours of Okabe and Ito, which colour-blind readers can tell apart, for what adapts; fixed
# intervals are grey, long ones darker.
name(p) = strstrt(p, ":") ? p[:strstrt(p, ":") - 1] : p
argument(p) = strstrt(p, ":") ? p[strstrt(p, ":") + 1:] : ""
grey(p) = argument(p) eq "20ms" ? "#bdbdbd" : argument(p) eq "40ms" ? "#969696" : \
          argument(p) eq "80ms" ? "#6b6b6b" : "#3c3c3c"
colour(p) = name(p) eq "adaptive" ? "#d55e00" : name(p) eq "stout" ? "#0072b2" : \
            name(p) eq "natural" ? "#009e73" : name(p) eq "unbatched" ? "#cc79a7" : grey(p)
shape(p) = name(p) eq "adaptive" ? 7 : name(p) eq "stout" ? 5 : name(p) eq "natural" ? 9 : \
           name(p) eq "unbatched" ? 3 : argument(p) eq "20ms" ? 4 : argument(p) eq "40ms" ? 6 : \
           argument(p) eq "80ms" ? 8 : 10
thick(p) = name(p) eq "adaptive" ? 3 : 2
# "tick:20ms" is told apart from "fixed:20ms"; "stout:start=1ms" is "stout" here.
label(p) = name(p) eq "tick" || name(p) eq "fixed" ? name(p) . " " . argument(p) : name(p)
