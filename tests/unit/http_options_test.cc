#include "http/http_options.h"

#include <chrono>
#include <cstdint>
#include <limits>

#include "tests/support/catch.h"

namespace stout::http {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a body has the time that the minimum rate gives its bytes, and a grace", "[http]") {
  HttpOptions options{.min_body_rate = 1000, .body_grace = 10s};
  CHECK(options.BodyTime(0) == 10s);
  CHECK(options.BodyTime(10'000) == 10s);
  CHECK(options.BodyTime(12'500) == 12500ms);
  CHECK(options.BodyTime(std::numeric_limits<std::uint64_t>::max()) > 24h);
  options.min_body_rate = 0;
  CHECK(options.BodyTime(0) == std::chrono::nanoseconds::max());
}

}  // namespace
}  // namespace stout::http
