#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "blowfish/load/line_cutter.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// "?" stands for a line that is too long.
using Lines = std::vector<std::string>;

std::string TextOf(const LineCutter::Line& line) {
  return line.too_long ? "?" : std::string(line.text);
}

Lines Model(const std::string& stream, std::size_t max_line) {
  Lines lines;
  std::string line;
  const auto end_line = [&] {
    lines.push_back(line.size() > max_line ? "?" : line);
    line.clear();
  };
  for (const char byte : stream) {
    if (byte == '\n') {
      end_line();
    } else {
      line += byte;
    }
  }
  if (!line.empty()) end_line();
  return lines;
}

template <typename NextSize>
Lines Cut(const std::string& stream, std::size_t max_line, NextSize next_size) {
  Lines lines;
  LineCutter cutter(max_line);
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t room = next_size();
    const std::size_t size = std::min<std::size_t>(room, stream.size() - at);
    std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), size,
                cutter.Prepare(room).begin());
    cutter.Commit(size);
    at += size;
    while (const auto line = cutter.Next()) lines.push_back(TextOf(*line));
  }
  if (const auto line = cutter.Finish()) lines.push_back(TextOf(*line));
  return lines;
}

TEST_CASE("lines are what stands between newlines", "[load]") {
  const auto cut = [](const std::string& stream) {
    return Cut(stream, 3, [&] { return stream.size(); });
  };
  CHECK(cut("").empty());
  CHECK(cut("a\nb\n") == Lines{"a", "b"});
  CHECK(cut("a\nb") == Lines{"a", "b"});
  CHECK(cut("\n\n") == Lines{"", ""});
  CHECK(cut("a\r\nb\r") == Lines{"a\r", "b\r"});
  CHECK(cut("abcd\nabc\nabcd") == Lines{"?", "abc", "?"});
}

TEST_CASE("lines are the same however their stream is cut", "[load]") {
  const std::uint64_t seed = GENERATE(range(0, 200));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::size_t max_line = 1 + random.Below(12);
  std::string stream;
  for (std::uint64_t i = random.Below(300); i > 0; --i) {
    stream += std::string_view("\n\n\r\0ab", 6)[random.Below(6)];
  }
  CHECK(Cut(stream, max_line, [&] { return 1 + random.Below(9); }) == Model(stream, max_line));
}

}  // namespace
}  // namespace stout::blowfish
