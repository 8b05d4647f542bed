#include <optional>
#include <utility>
#include <vector>

#include "http/body_budget.h"
#include "tests/support/catch.h"

namespace stout::http {
namespace {

TEST_CASE("bodies that find no room wait in one line", "[http]") {
  BodyBudget budget(100);
  std::vector<std::pair<int, BodyBudget::Share>> got;
  const auto wait = [&](int who, std::size_t bytes) {
    return budget.Wait(
        bytes, [&, who](BodyBudget::Share share) { got.emplace_back(who, std::move(share)); });
  };
  std::optional<BodyBudget::Share> first = budget.TryTake(80);
  REQUIRE(first);
  CHECK_FALSE(budget.TryTake(21));
  const auto large = wait(1, 60);
  const auto small = wait(2, 10);
  CHECK_FALSE(budget.TryTake(1));  // it does not jump the line
  CHECK(got.empty());              // nor does the small one
  CHECK(budget.used() == 80);
  CHECK(budget.waiting() == 2);
  first->Shrink(30);
  REQUIRE(got.size() == 2);
  CHECK(got[0].first == 1);
  CHECK(got[1].first == 2);
  CHECK(budget.used() == 100);
  first.reset();
  got.clear();
  CHECK(budget.used() == 0);
  CHECK(budget.TryTake(100));
}

TEST_CASE("a body that gives its place up lets those behind it pass", "[http]") {
  BodyBudget budget(100);
  std::vector<BodyBudget::Share> got;
  const auto keep = [&](BodyBudget::Share share) { got.push_back(std::move(share)); };
  const auto first = budget.TryTake(80);
  {
    const auto large = budget.Wait(60, keep);
    const auto small = budget.Wait(20, keep);
    auto moved = std::optional(budget.Wait(1, keep));
    CHECK(got.empty());
    CHECK(budget.waiting() == 3);
  }
  CHECK(budget.waiting() == 0);
  CHECK(got.empty());  // places are given up in the opposite order
  std::optional<BodyBudget::Place> large = budget.Wait(60, keep);
  const auto small = budget.Wait(20, keep);
  large.reset();
  REQUIRE(got.size() == 1);
  CHECK(budget.used() == 100);
}

TEST_CASE("a share outlives the budget's owner", "[http]") {
  std::optional<BodyBudget::Share> share;
  {
    BodyBudget budget(10);
    share = budget.TryTake(10);
  }
  CHECK(share);
}

}  // namespace
}  // namespace stout::http
