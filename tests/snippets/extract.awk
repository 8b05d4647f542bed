# Prints each example of C++ in the given headers and documents as a function that compiles within
# given.h. An example is a block of `///     ` lines with a line that ends with ";", or a ```cpp block
# of a document without #include. (tests/consumer builds and runs the README's whole program.) Every
# "..." is dropped.

function Flush() {
  if (is_code) {
    printf "%s Example%d() {\n#line %d \"%s\"\n%s}\n", \
           block ~ /co_await/ ? "asio::awaitable<void>" : "void", ++examples, first, file, block
  }
  block = ""; is_code = 0
}

function Add(line) {
  if (block == "") { first = FNR; file = FILENAME }
  if (line ~ /;[ \t]*(\/\/.*)?$/) is_code = 1
  gsub(/\.\.\./, "", line)
  block = block line "\n"
}

FNR == 1 { Flush(); fenced = 0 }
FILENAME ~ /\.md$/ {
  if (/^```/) { Flush(); fenced = $0 == "```cpp" } else if (fenced) { Add($0) }
  if (block ~ /#include/) { block = ""; fenced = 0 }
  next
}
/^ *\/\/\/     / { sub(/^ *\/\/\/     /, ""); Add($0); next }
{ Flush() }
END { Flush(); print "// " examples " examples"; exit examples < 10 }
