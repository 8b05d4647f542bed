#include <string>

#include "blowfish/load/progress.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

TEST_CASE("the bar shows what is known", "[load]") {
  CHECK(FormatBar({.read = 47'500'000,
                   .of_bytes = 100'000'000,
                   .records = 1'000'000,
                   .bytes = 123'000'000,
                   .seconds = 10}) ==
        "[=========>          ]  47 %    12.3 MB/s  100000 records/s  0:12 left");
  CHECK(FormatBar({.read = 100, .of_bytes = 100, .records = 2, .bytes = 100, .seconds = 1}) ==
        "[====================] 100 %     0.0 MB/s  2 records/s  0:00 left");
  CHECK(FormatBar({.read = 1, .of_bytes = 10'000, .seconds = 1}) ==
        "[>                   ]   0 %     0.0 MB/s  0 records/s  2:46:39 left");
  CHECK(FormatBar({.of_bytes = 0}) == "0 records     0.0 MB/s  0 records/s");
  CHECK(FormatBar({.read = 7, .records = 500, .bytes = 50'000'000, .seconds = 10}) ==
        "500 records     5.0 MB/s  50 records/s");
  // A file may grow while it is read.
  CHECK(FormatBar({.read = 200, .of_bytes = 100, .seconds = 1}) ==
        "[====================] 100 %     0.0 MB/s  0 records/s  0:00 left");
}

TEST_CASE("the totals are one line", "[load]") {
  CHECK(FormatTotals({.records = 1500, .bytes = 2'500'000, .seconds = 10}) ==
        "1500 records, 2.5 MB in 10.0 s: 0.2 MB/s, 150 records/s");
  CHECK(FormatTotals({}) == "0 records, 0.0 MB in 0.0 s: 0.0 MB/s, 0 records/s");
}

}  // namespace
}  // namespace stout::blowfish
