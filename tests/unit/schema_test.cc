#include "stout/schema.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
namespace {

std::vector<std::string> SplitWith(const Schema& schema, std::string_view value) {
  std::vector<std::string> parts;
  schema.Split(value, [&](std::size_t attribute, std::string_view text) {
    CHECK(attribute == parts.size());
    CHECK(schema.Attribute(value, attribute) == text);
    parts.emplace_back(text);
  });
  for (std::size_t lacks = parts.size(); lacks < schema.size(); ++lacks) {
    CHECK_FALSE(schema.Attribute(value, lacks));
  }
  return parts;
}

using Parts = std::vector<std::string>;

TEST_CASE("a schema splits values at its delimiter", "[schema]") {
  const Schema schema = Schema::Make({"a", "b", "c"}, '|').value();
  CHECK(SplitWith(schema, "1|2|3") == Parts{"1", "2", "3"});
  CHECK(SplitWith(schema, "1|2|3|4") == Parts{"1", "2", "3|4"});
  CHECK(SplitWith(schema, "||") == Parts{"", "", ""});
  CHECK(SplitWith(schema, "1|") == Parts{"1", ""});
  CHECK(SplitWith(schema, "1") == Parts{"1"});
  CHECK(SplitWith(schema, "") == Parts{""});
  CHECK(schema.Find("b") == 1);
  CHECK_FALSE(schema.Find("d"));
}

TEST_CASE("without a schema a value is whole", "[schema]") {
  CHECK(SplitWith(Schema(), "1|2\n3") == Parts{"1|2\n3"});
}

TEST_CASE("a schema that cannot be is refused with the reason", "[schema]") {
  const auto why = [](const std::vector<std::string>& names) {
    Diagnostics diagnostics;
    CHECK(Schema::Make(names, '|', &diagnostics).error() == Errc::kBadOptions);
    return diagnostics.message;
  };
  CHECK(why({}) == "a schema needs at least one attribute");
  CHECK(why({"a", ""}) == "attribute 2 has no name");
  CHECK(why({"a", "b", "a"}) == "two attributes are named 'a'");
  CHECK(why(Parts(121, "a")) == "a schema has at most 120 attributes, not 121");
}

}  // namespace
}  // namespace stout
