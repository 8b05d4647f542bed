// The child of a process with threads must not allocate between fork and exec: see Launch.

#include <unistd.h>

#include <cstddef>

#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"

namespace stout::test {
namespace {

pid_t parent = 0;

TEST_CASE("a program starts without an allocation between fork and exec") {
  parent = ::getpid();
  OnAllocation([](std::size_t) {
    if (::getpid() != parent) ::_exit(1);
  });
  CHECK(RunToEnd({"true"}).empty());
  CHECK(RunToEnd({"true"}, "nobody").empty());
  OnAllocation(nullptr);
}

}  // namespace
}  // namespace stout::test
