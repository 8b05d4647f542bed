// Partitions by intervals of keys, and their names.

#include "stout/adapters/partition.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::string_view_literals;
using Catch::Matchers::Contains;

TEST_CASE("a range of an interval partition has the keys from its bound on", "[partition]") {
  const Partition partition = *ParseIntervals("range:b,c%00,%FF");
  CHECK(partition.ranges == 4);
  CHECK(partition.bounds == std::vector<std::string>{"b", std::string("c\0"sv), "\xff"});
  CHECK(partition.intervals());
  const std::vector<std::pair<std::string_view, RangeId>> expected = {
      {"", 0},      {"a\xff", 0}, {"b", 1},    {"b\0"sv, 1},   {"c", 1},
      {"c\0"sv, 2}, {"ca", 2},    {"\xff", 3}, {"\xff\xff", 3}};
  for (const auto& each : expected) {
    CAPTURE(each.first);
    CHECK(partition.RangeOf(each.first) == each.second);
    for (RangeId range = 0; range < partition.ranges; ++range)
      CHECK(partition.KeysOf(range)(each.first) == (range == each.second));
  }
  CHECK(SlotPartition(4).KeysOf(3)("foo") == (SlotPartition(4).RangeOf("foo") == 3));
  CHECK_FALSE(SlotPartition(4).intervals());
  CHECK(IntervalPartition({}).RangeOf("any") == 0);
}

TEST_CASE("the name of an interval partition has one spelling", "[partition]") {
  const Partition partition = *ParseIntervals("range:%61%25%2C%20,~%7e");
  CHECK(partition.name == "range:a%25%2C%20,~~");
  CHECK(IsPartitionName(partition.name));
  const auto again = ParseIntervals(partition.name);
  REQUIRE(again.has_value());
  CHECK(again->bounds == partition.bounds);
  CHECK(again->bounds == std::vector<std::string>{"a%, ", "~~"});
}

TEST_CASE("a partition that is wrong is refused with the reason", "[partition]") {
  const auto why = [](const std::string& name) {
    Diagnostics diagnostics;
    CHECK(ParseIntervals(name, &diagnostics).error() == Errc::kBadOptions);
    return diagnostics.message;
  };
  CHECK_THAT(why("range:"), Contains("it is slots, or range:KEY,KEY,..."));
  CHECK_THAT(why("other"), Contains("it is slots, or range:KEY,KEY,..."));
  CHECK_THAT(why("range:a,"), Contains("the key '' is empty"));
  CHECK_THAT(why("range:,a"), Contains("the key '' is empty"));
  CHECK_THAT(why("range:b,a"), Contains("the key 'a' comes after 'b': sort the keys"));
  CHECK_THAT(why("range:a,b,%62"), Contains("the key '%62' is there twice"));
  CHECK_THAT(why("range:a%2"), Contains("'%' without two hexadecimal digits"));
  CHECK_THAT(why("range:a%2g"), Contains("'%' without two hexadecimal digits"));
  CHECK_THAT(why("range:stout:x"), Contains("begins with 'stout:'"));
  CHECK_THAT(why("range:" + std::string(70'000, 'x')), Contains("at most 65536 bytes"));
  // Its name would be longer, and could not be read again.
  CHECK_THAT(why("range:" + std::string(30'000, ' ')), Contains("where %XX has three"));
}

}  // namespace
}  // namespace stout
