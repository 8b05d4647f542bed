# Prints each example of C++ in the given headers and documents as a function that compiles within
# given.h. An example is a block of `///     ` lines with a line that ends with ";", or a ```cpp block
# of a document. Every "..." is dropped. A block with #include is a source of its own, and goes to a
# file that begins with STEM.

function Flush() {
  if (block ~ /#include/) {
    printf "#line %d \"%s\"\n%s", first, file, block >(STEM "." ++sources ".cc")
  } else if (is_code) {
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
  next
}
/^ *\/\/\/     / { sub(/^ *\/\/\/     /, ""); Add($0); next }
{ Flush() }
END { Flush(); print "// " examples " examples"; exit examples < 10 || sources < 1 }
