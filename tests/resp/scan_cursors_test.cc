#include "resp/server/scan_cursors.h"

#include <cstdint>
#include <string>

#include "tests/support/catch.h"

namespace stout::resp {
namespace {

std::string At(const ScanCursors& cursors, std::uint64_t cursor) {
  const auto* const place = cursors.Find(cursor);
  return place == nullptr ? "forgotten" : place->after.value_or("the beginning");
}

TEST_CASE("the newest cursors are kept, up to a number", "[resp]") {
  ScanCursors cursors(2);
  const std::uint64_t first = cursors.Keep({});
  const std::uint64_t second = cursors.Keep({0, "b"});
  CHECK(first != 0);
  CHECK(At(cursors, first) == "the beginning");
  const std::uint64_t third = cursors.Keep({0, "c"});
  CHECK(At(cursors, first) == "forgotten");
  CHECK(At(cursors, second) == "b");
  CHECK(At(cursors, third) == "c");
}

TEST_CASE("the newest cursors are kept, up to a number of bytes", "[resp]") {
  ScanCursors cursors(100, 10);
  const std::uint64_t first = cursors.Keep({0, "aaaa"});
  const std::uint64_t second = cursors.Keep({0, "bbbb"});
  const std::uint64_t third = cursors.Keep({0, "ccc"});
  CHECK(At(cursors, first) == "forgotten");
  CHECK(At(cursors, second) == "bbbb");
  CHECK(At(cursors, third) == "ccc");
  const std::string larger(11, 'x');
  const std::uint64_t large = cursors.Keep({0, larger});
  CHECK(At(cursors, third) == "forgotten");
  CHECK(At(cursors, large) == larger);
  const std::uint64_t last = cursors.Keep({0, "d"});
  CHECK(At(cursors, large) == "forgotten");
  CHECK(At(cursors, last) == "d");
}

}  // namespace
}  // namespace stout::resp
