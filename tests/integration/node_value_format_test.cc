// How stout-node stores a value with a deadline.

#include <cstdint>
#include <limits>
#include <string>

#include "node/value_format.h"
#include "tests/support/catch.h"

namespace stout::node {
namespace {

using namespace std::string_literals;

constexpr std::int64_t kSomeTime = 1'700'000'000'000;

TEST_CASE("a value without a deadline is stored bare, and any other behind its deadline",
          "[node][expiry]") {
  CHECK(EncodeValue("v", kNoDeadline) == "v");
  CHECK(EncodeValue("v", 0x0102030405060708) == "\0stx1\1\2\3\4\5\6\7\10v"s);
  CHECK(EncodeValue("\0stx1"s, kNoDeadline) == "\0stx1\0\0\0\0\0\0\0\0\0stx1"s);
  CHECK(EncodeValue("\0stx"s, kNoDeadline) == "\0stx"s);
  const std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t deadline : {kNoDeadline, std::int64_t{1}, kSomeTime, last}) {
    for (const std::string& value : {""s, "v"s, "\0stx1"s, "\0stx1 a long value behind it"s}) {
      CAPTURE(deadline, value);
      const std::string stored = EncodeValue(value, deadline);
      CHECK(DecodeValue(stored) == DatedValue{value, deadline});
      const std::string twice = EncodeValue(stored, kNoDeadline);
      CHECK(DecodeValue(twice) == DatedValue{stored});
    }
  }
}

TEST_CASE("bytes that no node can have written are a bare value", "[node][expiry]") {
  for (const std::string& stored :
       {""s, "\0"s, "\0stx"s, "\0stx1"s, "\0stx1\0\0\0\0\0\0\1"s, "\0stx2\0\0\0\0\0\0\0\1v"s,
        "\0stx1\x80\0\0\0\0\0\0\0v"s, "stx1\0\0\0\0\0\0\0\1v"s}) {
    CAPTURE(stored);
    CHECK(DecodeValue(stored) == DatedValue{stored});
  }
  CHECK_FALSE(DatedValue{"v"}.expired(kSomeTime));
  CHECK_FALSE(DatedValue{"v", kSomeTime}.expired(kSomeTime));
  CHECK(DatedValue{"v", kSomeTime}.expired(kSomeTime + 1));
}

}  // namespace
}  // namespace stout::node
