#include "stout/error.h"

#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
namespace {

const std::vector<Errc> kAll = {
    Errc::kOk,       Errc::kPushedBack, Errc::kDraining, Errc::kClosed,
    Errc::kFenced,   Errc::kRefused,    Errc::kTooLarge, Errc::kNotSerialized,
    Errc::kDeadline, Errc::kTransient,  Errc::kUnknown,  Errc::kBadOptions,
    Errc::kBadUrl,   Errc::kCorrupt,    Errc::kLost,     Errc::kTooFewMembers};

TEST_CASE("an Errc becomes an error code by itself", "[error]") {
  const ErrorCode ec = Errc::kFenced;
  CHECK(ec == Errc::kFenced);
  CHECK(ec != Errc::kClosed);
  CHECK(ec.failed());
  CHECK(ec.category() == ErrorCategory());
  CHECK(std::string(ec.category().name()) == "stout");
}

TEST_CASE("kOk is no error", "[error]") {
  const ErrorCode ec = Errc::kOk;
  CHECK_FALSE(ec.failed());
  CHECK(ec == Errc::kOk);
}

TEST_CASE("each error has a line of its own for people", "[error]") {
  std::set<std::string> lines;
  for (const Errc errc : kAll) {
    const std::string line = make_error_code(errc).message();
    CAPTURE(static_cast<int>(errc), line);
    CHECK(line == Describe(errc));
    CHECK_FALSE(line.empty());
    CHECK(line.back() != '.');
    CHECK(line.find('\n') == std::string::npos);
    CHECK(lines.insert(line).second);
  }
}

TEST_CASE("a code that is no Errc is described too", "[error]") {
  CHECK_FALSE(ErrorCode(12345, ErrorCategory()).message().empty());
}

TEST_CASE("a result is a value or an error", "[error]") {
  const Result<int> value = 7;
  const Result<int> error = make_error_code(Errc::kTooLarge);
  CHECK(value.value() == 7);
  CHECK_FALSE(error.has_value());
  CHECK(error.error() == Errc::kTooLarge);
}

}  // namespace
}  // namespace stout
