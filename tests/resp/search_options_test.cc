#include "resp/server/search_options.h"

#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace stout::resp {
namespace {

using Words = std::vector<std::string_view>;

Words Behind(Words front, const Words& options) {
  front.insert(front.end(), options.begin(), options.end());
  return front;
}

Parsed<SearchOptions> Search(const Words& options) {
  return ParseSearchOptions(Behind({"SEARCH", "LIMIT", "COUNT"}, options));
}

Parsed<SearchOptions> Grep(const Words& options) {
  return ParseGrepOptions(Behind({"GREP", "COUNT"}, options));
}

std::string_view Refusal(const Parsed<SearchOptions>& parsed) {
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
  CHECK(*Grep({"LIMIT", "1000000", "hashtag", "7"}) ==
        SearchOptions{.limit = 1'000'000, .hash_tag = "7"});
  CHECK(Refusal(Search({"LIMIT"})) == "ERR syntax error");
  CHECK(Refusal(Search({"PREFIXES"})) == "ERR syntax error");
  CHECK(Refusal(Grep({"PREFIX"})) == "ERR syntax error");
  CHECK(Refusal(Grep({"LIMIT", "x"})) == "ERR value is not an integer or out of range");
  CHECK(Refusal(Grep({"HASHTAG"})) == "ERR syntax error");
  CHECK(Refusal(Grep({"HASHTAG", ""})) == "ERR a hash tag is not empty and has no '}'");
  CHECK(Refusal(Grep({"HASHTAG", "a}b"})) == "ERR a hash tag is not empty and has no '}'");
  CHECK(Refusal(Grep({"LIMIT", "1000001"})) == "ERR LIMIT must be at most 1000000");
  CHECK(Refusal(Grep({"LIMIT", "-1"})) == "ERR value is out of range, must be positive");
}

}  // namespace
}  // namespace stout::resp
