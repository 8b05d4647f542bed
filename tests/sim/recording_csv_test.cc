// Recordings as CSV, plain and packed, and what may be wrong with them.

#include "stout/sim/recording_csv.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <sstream>
#include <string>
#include <string_view>

#include "stout/core/lease_table.h"
#include "tests/support/catch.h"
#include "tests/support/packed.h"

namespace stout::sim {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;
using Changes = std::deque<RecordedChange>;
using stout::internal::NameHash;

constexpr std::string_view kHeader = "time,key,bytes\n";

Parsed<Recording> Read(const std::string& text) {
  std::istringstream in(text);
  return ReadRecording(in);
}

Changes ChangesIn(const std::string& text) {
  auto recording = Read(text);
  if (!recording) FAIL(recording.error().what);
  return recording->changes;
}

std::string Problem(const std::string& text) {
  const auto recording = Read(text);
  return recording ? "none" : recording.error().what;
}

/// The error of the lines behind the header.
std::string LineProblem(const std::string& lines) { return Problem(std::string(kHeader) + lines); }

TEST_CASE("a recording has a time and a key for each line", "[recording]") {
  const Changes expected = {{0s, NameHash("doc/s/one")},
                            {1500us, NameHash("doc/s/two")},
                            {1500us, NameHash("doc/s/one")},
                            {86'400s, NameHash("")}};
  const std::string text =
      "time,key,bytes\n0,doc/s/one,10\n0.001500,doc/s/two,0\n1.5e-3,doc/s/one,7\n86400,,1\n";
  CHECK(ChangesIn(text) == expected);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(ChangesIn(crlf) == expected);
  CHECK(ChangesIn(text.substr(0, text.size() - 1)) == expected);  // no end of the last line
  CHECK(ChangesIn("\xEF\xBB\xBF" + text) == expected);
}

TEST_CASE("a key in quotes may have commas, quotes and line ends", "[recording]") {
  CHECK(ChangesIn("\"time\",\"key\",bytes\r\n"
                  "0,\"a,b\",1\n"
                  "1,\"say \"\"yes\"\"\",2\r\n"
                  "2,\"two\r\nlines\",\"3\"\n"
                  "3,\"\",4\n") == Changes{{0s, NameHash("a,b")},
                                           {1s, NameHash("say \"yes\"")},
                                           {2s, NameHash("two\r\nlines")},
                                           {3s, NameHash("")}});
  // Lines in quotes count.
  CHECK_THAT(LineProblem("0,\"a\nb\nc\",1\nx,a,1\n"), Contains("line 5: the time is \"x\""));
}

TEST_CASE("a packed recording is read as a plain one, whatever its size", "[recording]") {
  std::string text(kHeader);
  for (int i = 0; i < 50'000; ++i) text += fmt::format("{}.25,\"doc/{}\",{}\n", i / 7, i % 1000, i);
  const Changes expected = ChangesIn(text);
  REQUIRE(expected.size() == 50'000);
  CHECK(expected.back() == RecordedChange{7142s + 250ms, NameHash("doc/999")});
  CHECK(ChangesIn(test::Gzip(text)) == expected);
  CHECK(ChangesIn(test::Zstd(text)) == expected);
  const std::size_t half = text.find('\n', text.size() / 2) + 1;
  CHECK(ChangesIn(test::Gzip(text.substr(0, half)) + test::Gzip(text.substr(half))) == expected);
}

TEST_CASE("a packed recording that is cut off or damaged is refused", "[recording]") {
  std::string text(kHeader);
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},key {},1\n", i, i * 7919 % 1000);
  for (const std::string& packed : {test::Gzip(text), test::Zstd(text)}) {
    CHECK(Problem(packed.substr(0, packed.size() - 1)) ==
          "the packed file is cut off; copy it again");
    CHECK_THAT(Problem(packed + "rubbish"), Contains("it cannot be unpacked: "));
  }
}

TEST_CASE("a line that is no change is refused with its number", "[recording]") {
  CHECK(Problem("") == "line 1: the file is empty; it must begin with time,key,bytes");
  CHECK(Problem("0,a,1\n") == "line 1: the header is \"0,a,1\"; it must be time,key,bytes");
  CHECK(Problem("time,key,size\n0,a,1\n") ==
        "line 1: the header is \"time,key,size\"; it must be time,key,bytes");
  CHECK(LineProblem("") == "line 2: there is no change; a recording needs one");
  CHECK(LineProblem("0,a,1\n1,a\n2,a,1\n") ==
        "line 3: the number of fields is 2; it must be 3: time,key,bytes");
  CHECK_THAT(LineProblem("0,a,1,1\n"), Contains("line 2: the number of fields is 4"));
  CHECK_THAT(LineProblem("\n"), Contains("line 2: the number of fields is 1"));
  CHECK(LineProblem("0,a,1\n" + std::string(1000, ',')) ==
        "line 3: there are more than 100 fields; is a line end missing?");
  CHECK(LineProblem("0,a,1\n2,a,1\n1.5,a,1\n") ==
        "line 4: the time is 1.5, before that of the preceding change; sort the file by time");
  for (const char* const time : {"", "x", "1s", " 1", "-1", "nan", "inf", "1764000000"}) {
    CHECK(LineProblem(fmt::format("0,a,1\n{},a,1\n", time)) ==
          fmt::format("line 3: the time is \"{}\"; it must be a number of seconds since the start "
                      "of the recording, from 0 to 1000000",
                      time));
  }
  for (const char* const bytes : {"", "x", "-1", "1.5", "1KiB"}) {
    CHECK(LineProblem(fmt::format("0,a,{}\n", bytes)) ==
          fmt::format("line 2: the bytes are \"{}\"; they must be a whole number", bytes));
  }
}

TEST_CASE("a recording that ends within a line says how to mend it", "[recording]") {
  CHECK_THAT(LineProblem("0,a,1\n1,a"), Contains("line 3: the number of fields is 2") &&
                                            Contains("The file ends within this line: delete"));
}

TEST_CASE("quotes that do not go together are refused with their line", "[recording]") {
  CHECK_THAT(LineProblem("0,a,1\n1,\"a,1\n2,b,1\n"),
             Contains("line 3: a field begins with a quote that has no partner"));
  CHECK_THAT(LineProblem("0,a\"b,1\n"), Contains("line 2: a quote is inside a field"));
  CHECK_THAT(LineProblem("0,\"a\"b,1\n"), Contains("line 2: a field goes on behind its closing"));
  std::string lines = "0,\"a,1\n";
  for (int i = 0; i < 10'000; ++i) lines += "1,abcdef,1\n";
  CHECK_THAT(LineProblem(lines), Contains("line 2: a field is longer than 65536 bytes"));
}

}  // namespace
}  // namespace stout::sim
