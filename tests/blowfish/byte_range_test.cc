#include "blowfish/index/byte_range.h"

#include <cstdint>
#include <string>

#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Part = ByteRange::Part;

TEST_CASE("a range counts from the beginning of a value, or from its end", "[byte_range]") {
  CHECK(ByteRange{0, 3}.In(10) == Part{0, 4});
  CHECK(ByteRange{-3, -1}.In(10) == Part{7, 3});
  CHECK(ByteRange{2, -2}.In(10) == Part{2, 7});
  CHECK(ByteRange{}.In(10) == Part{0, 10});
}

TEST_CASE("a range of places that a value lacks is cut, or empty", "[byte_range]") {
  CHECK(ByteRange{5, 100}.In(10) == Part{5, 5});
  CHECK(ByteRange{-100, 2}.In(10) == Part{0, 3});
  CHECK(ByteRange{10, 20}.In(10) == Part{});
  CHECK(ByteRange{5, 4}.In(10) == Part{});
  CHECK(ByteRange{-1, -3}.In(10) == Part{});
  CHECK(ByteRange{0, -1}.In(0) == Part{});
  CHECK(ByteRange{0, -100}.In(10) == Part{0, 1});  // as redis does
  CHECK(ByteRange{INT64_MIN, INT64_MAX}.In(10) == Part{0, 10});
}

}  // namespace
}  // namespace stout::blowfish
