// A ladder is climbed up and down, and says beforehand what a step takes and gives back.

#include "blowfish/store/layer_ladder.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "build_record_index.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// Records of this number of attributes, each a number.
struct Indexed {
  RecordIndexParts parts;
  RecordIndex index;

  Indexed(std::size_t attributes, std::uint32_t records)
      : parts(Build(attributes, records)), index(parts.index.View(), parts.tokens.alphabet()) {}

  static RecordIndexParts Build(std::size_t attributes, std::uint32_t records) {
    std::vector<std::string> names;
    for (std::size_t a = 0; a < attributes; ++a) names.push_back("a" + std::to_string(a));
    std::vector<std::string> values(records);
    for (std::uint32_t r = 0; r < records; ++r) {
      for (std::size_t a = 0; a < attributes; ++a) {
        values[r] += (a > 0 ? "|" : "") + std::to_string(r * a % 7);
      }
    }
    const std::vector<std::string_view> views(values.begin(), values.end());
    return BuildRecordIndex(Schema::Make(names, '|').value(), views);
  }
};

// R: the step was of records, P: of places.
std::string Climb(Indexed& indexed) {
  LayerLadder ladder(indexed.index.layers());
  std::string steps;
  while (true) {
    const std::uint64_t before = ladder.bytes();
    const std::uint64_t next = ladder.next_bytes();
    CHECK(ladder.next_bytes(2) >= next);
    CHECK((ladder.next_bytes(2) == next) == (ladder.next_bytes(100) == next));
    const std::uint32_t records = indexed.index.records_at().finest();
    if (!ladder.Add()) {
      CHECK(next == 0);
      return steps;
    }
    steps += indexed.index.records_at().finest() != records ? 'R' : 'P';
    CHECK(ladder.layers() == steps.size());
    CHECK(next >= ladder.bytes() - before);
    CHECK(next <= (ladder.bytes() - before) * 101 / 100 + 3 * 4096);
    indexed.index.FillLayers(0, indexed.index.records());
    CHECK(ladder.finest_bytes() <= ladder.bytes() - before);
    CHECK(ladder.finest_bytes() + 4096 > ladder.bytes() - before);
  }
}

TEST_CASE("a ladder has records first, then both in turn, and goes down as it went up",
          "[ladder]") {
  const auto [attributes, steps] = GENERATE(table<std::size_t, std::string>(
      {{1, "RP"}, {2, "RRPP"}, {3, "RRPP"}, {4, "RRPRPP"}, {15, "RRPRPRPP"}}));
  const std::uint32_t records = GENERATE(1, 1000, 40000);
  CAPTURE(attributes, records);
  Indexed indexed(attributes, records);
  LayerLadder ladder(indexed.index.layers());
  CHECK(ladder.layers() == 0);
  CHECK(ladder.bytes() == 0);
  CHECK(ladder.finest_bytes() == 0);
  CHECK(Climb(indexed) == steps);
  for (std::size_t left = steps.size(); left > 0; --left) {
    const std::uint64_t before = ladder.bytes();
    const std::uint64_t finest = ladder.finest_bytes();
    REQUIRE(ladder.Remove());
    CHECK(ladder.layers() == left - 1);
    CHECK(before - ladder.bytes() >= finest);
  }
  CHECK_FALSE(ladder.Remove());
  CHECK(ladder.bytes() == 0);
  CHECK(Climb(indexed) == steps);
}

TEST_CASE("an index without records has no layers", "[ladder]") {
  Indexed indexed(3, 0);
  LayerLadder ladder(indexed.index.layers());
  CHECK(ladder.next_bytes() == 0);
  CHECK_FALSE(ladder.Add());
  CHECK_FALSE(ladder.Remove());
  CHECK(ladder.layers() == 0);
}

}  // namespace
}  // namespace stout::blowfish
