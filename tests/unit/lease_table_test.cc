#include "stout/core/lease_table.h"

#include <algorithm>
#include <map>

#include "tests/support/catch.h"

namespace stout {
namespace {

TEST_CASE("the range of a name is the same for ever", "[leases]") {
  // Another answer in a later version would give one key two owners.
  STATIC_REQUIRE(RangeOf("", 16) == 11);
  STATIC_REQUIRE(RangeOf("document", 16) == 5);
  STATIC_REQUIRE(RangeOf("document", 1) == 0);
  CHECK(internal::NameHash("a") == internal::Mix(0xaf63dc4c8601ec8c));  // FNV's test vector
  CHECK(RangeOf(std::string_view("\xff\0", 2), 65536) < 65536);
}

TEST_CASE("names are spread over the ranges", "[leases]") {
  std::map<RangeId, int> names;
  for (int i = 0; i < 16000; ++i) ++names[RangeOf("doc-" + std::to_string(i), 16)];
  for (const auto& [range, count] : names) {
    CAPTURE(range);
    CHECK(count > 850);
    CHECK(count < 1150);
  }
  CHECK(names.size() == 16);
}

TEST_CASE("a member that comes or goes moves only what it gets or had", "[leases]") {
  const std::vector<std::string> few = {"10.0.0.1:80", "10.0.0.2:80", "10.0.0.4:80"};
  std::vector<std::string> more = few;
  more.insert(more.begin() + 2, "10.0.0.3:80");
  int moved = 0;
  for (RangeId range = 0; range < 256; ++range) {
    const std::string& before = *RightfulOwner(few, range);
    const std::string& after = *RightfulOwner(more, range);
    if (before == after) continue;
    ++moved;
    CHECK(after == "10.0.0.3:80");
  }
  CHECK(moved > 40);
  CHECK(moved < 90);
  CHECK(RightfulOwner({}, 0) == nullptr);
}

}  // namespace
}  // namespace stout
