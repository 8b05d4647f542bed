#include "stout/adapters/error_log.h"

#include <chrono>
#include <string>

#include "tests/support/catch.h"

namespace stout::test {

using namespace std::chrono_literals;

TEST_CASE("the first error of a kind is logged, and then one a minute", "[error-log]") {
  ErrorLog log;
  const ErrorLog::TimePoint start{};
  CHECK(log.Line("full", "disk full", start) == "disk full");
  for (int i = 0; i < 60; ++i) {
    CHECK_FALSE(log.Line("full", "disk full", start + i * 999ms).has_value());
  }
  CHECK(log.Line("memory", "no memory", start + 1s) == "no memory");
  CHECK(log.Line("full", "disk full", start + 60s) == "disk full (60 more like it)");
  CHECK_FALSE(log.Line("full", "disk full", start + 61s).has_value());
  CHECK(log.Line("full", "disk full", start + 121s) == "disk full (1 more like it)");
  CHECK(log.Line("full", "disk full", start + 181s) == "disk full");
}

TEST_CASE("kinds without end cost the log no memory without end", "[error-log]") {
  ErrorLog log;
  const ErrorLog::TimePoint start{};
  int lines = 0;
  for (int i = 0; i < 1000; ++i) {
    lines += log.Line("kind " + std::to_string(i), "m", start).has_value() ? 1 : 0;
  }
  CHECK(lines == 101);
  CHECK(log.Line("kind 0", "m", start + 60s).has_value());
}

}  // namespace stout::test
