#include "resp/server/glob.h"

#include <string>
#include <string_view>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::resp {
namespace {

// The rules of redis, at any cost: each '*' tries everything.
bool Model(std::string_view pattern, std::string_view text);

// Returns true if the brackets at the front of `pattern` describe `c`. Removes them from `pattern`.
bool ModelBrackets(std::string_view& pattern, char c) {
  const auto byte = [](char x) { return static_cast<unsigned char>(x); };
  pattern.remove_prefix(1);
  const bool negated = pattern.starts_with('^');
  if (negated) pattern.remove_prefix(1);
  bool found = false;
  while (!pattern.empty() && pattern[0] != ']') {
    std::size_t taken = 1;
    if (pattern[0] == '\\' && pattern.size() > 1) {
      found = found || pattern[1] == c;
      taken = 2;
    } else if (pattern.size() > 2 && pattern[1] == '-') {
      const auto low = byte(pattern[0]);
      const auto high = byte(pattern[2]);
      found = found || (low <= byte(c) && byte(c) <= high) || (high <= byte(c) && byte(c) <= low);
      taken = 3;
    } else {
      found = found || pattern[0] == c;
    }
    pattern.remove_prefix(taken);
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return found != negated;
}

bool Model(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return Model(pattern.substr(1), text) || (!text.empty() && Model(pattern, text.substr(1)));
  }
  if (text.empty()) return false;
  const std::string_view rest = text.substr(1);
  if (pattern[0] == '?') return Model(pattern.substr(1), rest);
  if (pattern[0] == '[') return ModelBrackets(pattern, text[0]) && Model(pattern, rest);
  if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  return pattern[0] == text[0] && Model(pattern.substr(1), rest);
}

std::string RandomText(SplitMix64& random, std::string_view letters, std::size_t longest) {
  std::string text(random.Below(longest + 1), 0);
  for (char& c : text) c = letters[random.Below(letters.size())];
  return text;
}

TEST_CASE("globs match what their rules say", "[glob]") {
  const std::uint64_t seed = GENERATE(range(1, 11));
  SplitMix64 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    const std::string pattern = RandomText(random, "ab*?[]^-\\\xe0", 9);
    const std::string text = RandomText(random, "ab]^-\\\xff", 6);
    CAPTURE(seed, pattern, text);
    REQUIRE(GlobMatch(pattern, text) == Model(pattern, text));
    // Letters that differ only in case are equal.
    std::string upper = text;
    for (char& c : upper) c = c == 'a' ? 'A' : c;
    REQUIRE(GlobMatch(pattern, upper, GlobCase::kIgnore) == Model(pattern, text));
  }
}

TEST_CASE("globs as people use them", "[glob]") {
  CHECK(GlobMatch("*", ""));
  CHECK(GlobMatch("user:*:name", "user:17:name"));
  CHECK_FALSE(GlobMatch("user:*:name", "user:17:names"));
  CHECK(GlobMatch("h[a-e]llo", "hello"));
  CHECK_FALSE(GlobMatch("h[^a-e]llo", "hello"));
  CHECK(GlobMatch("h\\*llo", "h*llo"));
  CHECK_FALSE(GlobMatch("h\\*llo", "hello"));
  CHECK_FALSE(GlobMatch("Max*", "maxmemory"));
  CHECK(GlobMatch("Max*", "maxmemory", GlobCase::kIgnore));
}

TEST_CASE("a glob of many stars does not take for ever", "[glob]") {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  CHECK_FALSE(GlobMatch(pattern + "*b", std::string(1000, 'a')));
  CHECK(GlobMatch(pattern, std::string(1000, 'a')));
}

}  // namespace
}  // namespace stout::resp
