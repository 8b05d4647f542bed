#include "blowfish/server/commands/search_options.h"

#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Arguments = std::vector<std::string_view>;

Arguments Behind(Arguments front, const Arguments& options) {
  front.insert(front.end(), options.begin(), options.end());
  return front;
}

resp::Parsed<SearchOptions> Search(const Arguments& options) {
  return ParseSearchOptions(Behind({"SEARCH", "LIMIT", "COUNT"}, options));
}

resp::Parsed<SearchOptions> Grep(const Arguments& options) {
  return ParseGrepOptions(Behind({"GREP", "COUNT"}, options));
}

std::string_view Refusal(const resp::Parsed<SearchOptions>& parsed) {
  REQUIRE(parsed.has_error());
  return parsed.error();
}

TEST_CASE("options of SEARCH and GREP", "[options]") {
  CHECK(*Search({}) == SearchOptions{});
  CHECK(*Search({"prefix"}) == SearchOptions{.prefix = true});
  CHECK(*Search({"Count", "LIMIT", "7", "PREFIX"}) ==
        SearchOptions{.limit = 7, .count = true, .prefix = true});
  CHECK(*Grep({"limit", "0"}) == SearchOptions{.limit = 0});
  CHECK(*Grep({"COUNT"}) == SearchOptions{.count = true});
  CHECK(Refusal(Search({"LIMIT"})) == "ERR syntax error");
  CHECK(Refusal(Search({"PREFIXES"})) == "ERR syntax error");
  CHECK(Refusal(Grep({"PREFIX"})) == "ERR syntax error");
  CHECK(Refusal(Grep({"LIMIT", "x"})) == "ERR value is not an integer or out of range");
  CHECK(Refusal(Grep({"LIMIT", "-1"})) == "ERR value is out of range, must be positive");
}

}  // namespace
}  // namespace stout::blowfish
