#include "resp/server/command_options.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "resp/server/integer.h"
#include "resp/server/search_options.h"
#include "tests/support/catch.h"

namespace stout::resp {
namespace {

constexpr std::string_view kSyntax = "ERR syntax error";
constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
constexpr std::string_view kBadExpiry = "ERR invalid expire time in 'set' command";

using Texts = std::vector<std::string_view>;

Texts Behind(Texts front, const Texts& options) {
  front.insert(front.end(), options.begin(), options.end());
  return front;
}

Parsed<SetOptions> Set(const Texts& options) {
  return ParseSetOptions(Behind({"SET", "EX", "NX"}, options));  // A key and a value like any.
}

Parsed<ScanOptions> Scan(std::string_view cursor, const Texts& options = {}) {
  const Texts arguments = Behind({"SCAN", cursor}, options);
  return ParseScanOptions(arguments);
}

Parsed<SearchOptions> Search(const Texts& options) {
  return ParseSearchOptions(Behind({"SEARCH", "LIMIT", "COUNT"}, options));
}

Parsed<SearchOptions> Grep(const Texts& options) {
  return ParseGrepOptions(Behind({"GREP", "COUNT"}, options));
}

template <typename T>
std::string_view Refusal(const Parsed<T>& parsed) {
  REQUIRE(parsed.has_error());
  return parsed.error();
}

TEST_CASE("integers are spelled in one way only", "[options]") {
  CHECK(ParseInteger("0") == 0);
  CHECK(ParseInteger("-10") == -10);
  CHECK(ParseInteger("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(ParseInteger("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK(ParseUnsigned("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  for (const char* const text : {"", "-", "-0", "00", "01", "-01", "+1", " 1", "1 ", "1x", "0x1",
                                 "1.0", "--1", "9223372036854775808", "-9223372036854775809"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseInteger(text));
  }
  for (const char* const text : {"", "-1", "-0", "00", "+1", " 1", "1 ", "18446744073709551616"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseUnsigned(text));
  }
}

TEST_CASE("options of SET", "[options]") {
  using Condition = SetOptions::Condition;
  using From = Expiry::From;
  CHECK(*Set({}) == SetOptions{});
  CHECK(*Set({"nx"}) == SetOptions{.condition = Condition::kIfAbsent});
  CHECK(*Set({"XX", "Get", "xx"}) == SetOptions{.condition = Condition::kIfPresent, .get = true});
  CHECK(*Set({"KEEPTTL"}) == SetOptions{.keep_ttl = true});
  CHECK(*Set({"EX", "10"}) == SetOptions{.expiry = Expiry{From::kNow, 10'000}});
  CHECK(*Set({"px", "10"}) == SetOptions{.expiry = Expiry{From::kNow, 10}});
  CHECK(*Set({"EXAT", "10"}) == SetOptions{.expiry = Expiry{From::kEpoch, 10'000}});
  CHECK(*Set({"NX", "PXAT", "10"}) ==
        SetOptions{.condition = Condition::kIfAbsent, .expiry = Expiry{From::kEpoch, 10}});
  CHECK(*Set({"EX", "9223372036854775"}) ==
        SetOptions{.expiry = Expiry{From::kNow, 9'223'372'036'854'775'000}});
  CHECK(*Set({"EX", "1", "EX", "2"}) == SetOptions{.expiry = Expiry{From::kNow, 2000}});
}

TEST_CASE("options of SET that are none, or exclude each other", "[options]") {
  const std::vector<Texts> wrong = {{"NX", "XX"},
                                    {"XX", "NX"},
                                    {"EX"},
                                    {"PX", "1", "EX"},
                                    {"EX", "1", "PX", "1"},
                                    {"EXAT", "1", "PXAT", "1"},
                                    {"KEEPTTL", "EX", "1"},
                                    {"EX", "1", "KEEPTTL"},
                                    {"NXX"},
                                    {""},
                                    {"GET", "1"},
                                    {"EX", "x", "NXX"}};
  for (const Texts& options : wrong) {
    CAPTURE(options);
    CHECK(Refusal(Set(options)) == kSyntax);
  }
  for (const char* const number : {"", "x", "01", "1.5", "9223372036854775808"}) {
    CAPTURE(number);
    CHECK(Refusal(Set({"EX", number})) == kNotAnInteger);
  }
  CHECK(Refusal(Set({"EX", "0"})) == kBadExpiry);
  CHECK(Refusal(Set({"PXAT", "-1"})) == kBadExpiry);
  CHECK(Refusal(Set({"EX", "9223372036854776"})) == kBadExpiry);
}

TEST_CASE("options of GETEX", "[options]") {
  using From = Expiry::From;
  const auto getex = [](const Texts& options) {
    return ParseGetexOptions(Behind({"GETEX", "EX"}, options));
  };
  CHECK(*getex({}) == GetexOptions{});
  CHECK(*getex({"persist", "PERSIST"}) == GetexOptions{.persist = true});
  CHECK(*getex({"ex", "10"}) == GetexOptions{.expiry = Expiry{From::kNow, 10'000}});
  CHECK(*getex({"PXAT", "1", "PXAT", "2"}) == GetexOptions{.expiry = Expiry{From::kEpoch, 2}});
  for (const Texts& options : std::vector<Texts>{{"PERSIST", "EX", "1"},
                                                 {"EX", "1", "PERSIST"},
                                                 {"EX", "1", "PX", "1"},
                                                 {"KEEPTTL"},
                                                 {"NX"},
                                                 {"EX"}}) {
    CAPTURE(options);
    CHECK(Refusal(getex(options)) == kSyntax);
  }
  CHECK(Refusal(getex({"EX", "x"})) == kNotAnInteger);
  CHECK(Refusal(getex({"PX", "0"})) == "ERR invalid expire time in 'getex' command");
  CHECK(Refusal(ParseExpiry("0", From::kNow, 1, "bad")) == "bad");
}

TEST_CASE("options of SCAN", "[options]") {
  CHECK(*Scan("0") == ScanOptions{});
  CHECK(*Scan("18446744073709551615", {"match", "a*", "COUNT", "5", "Type", "string"}) ==
        ScanOptions{.cursor = std::numeric_limits<std::uint64_t>::max(),
                    .count = 5,
                    .match = "a*",
                    .type = "string"});
  CHECK(Refusal(Scan("x")) == "ERR invalid cursor");
  CHECK(Refusal(Scan("-1")) == "ERR invalid cursor");
  CHECK(Refusal(Scan("0", {"MATCH"})) == kSyntax);
  CHECK(Refusal(Scan("0", {"a*"})) == kSyntax);
  CHECK(Refusal(Scan("0", {"COUNT", "0"})) == kSyntax);
  CHECK(Refusal(Scan("0", {"COUNT", "x"})) == kNotAnInteger);
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
