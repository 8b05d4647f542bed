// The tables of a deployment, which every registry lists (stout/registry.h).

#include <memory>
#include <optional>
#include <string>

#include "lease_fixtures.h"
#include "registry_test_support.h"

namespace stout::test {

TEMPLATE_TEST_CASE("a table is listed, has leases and records of its own, and is dropped with them",
                   "[registry]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  RecordWatch watch(world.second());
  const ClusterConfig config{.replicas = 1};
  const Revision created = Make(world.first(), CreateTable("orders", config));
  CHECK(Judge(world.second(), CreateTable("orders", {})) ==
        ChangeAnswer{ChangeOutcome::kChanged, created});
  RegistryTable expected;
  expected.tables["orders"] = {config, created};
  CHECK(watch.Until(expected));
  const auto open = [](LeaseService& deployment, const std::string& name) {
    Diagnostics why;
    auto table = deployment.registry()->OpenTable(name, &why);
    CAPTURE(why.message);
    REQUIRE(table);
    return *std::move(table);
  };
  Epoch last = 0;
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    auto first = open(world.first(), "orders");
    auto second = open(world.second(), "orders");
    CHECK(Read(*first) == RegistryTable{});
    CHECK(CheckSuccessiveOwners(*first, *second).empty());
    CHECK(Read(*second).sets.size() == 1);
    CHECK(Read(world.first()).sets.empty());
    const SessionId a = Join(*first, "a:1");
    const Epoch epoch = Take(*first, a, 0);
    CHECK(epoch > last);
    last = epoch;
    REQUIRE_FALSE(Leave(*first, a));
    first.reset();
    second.reset();
    Make(world.second(), DropTable("orders", expected.tables["orders"].revision));
    CHECK(watch.Until(RegistryTable{}));
    expected.tables["orders"].revision = Make(world.first(), CreateTable("orders", config));
  }
  CHECK(Change(world.first(), CreateTable("Orders", {})).ec == Errc::kBadOptions);
  Diagnostics why;
  CHECK(world.first().registry()->OpenTable("Orders", &why).error() == Errc::kBadUrl);
  CHECK_THAT(why.message, Catch::Contains("'Orders'"));
}

TEMPLATE_TEST_CASE("a table is not dropped while a session of it lives", "[registry]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  const Revision created = Make(world.first(), CreateTable("orders", {}));
  const auto table = world.first().registry()->OpenTable("orders");
  REQUIRE(table);
  const SessionId a = Join(**table, "a:1");
  const Epoch epoch = Take(**table, a, 3);
  const Revision set = Make(**table, ChangeSet(3, epoch, OnlyIn("one"), 0));
  CHECK(Judge(world.second(), DropTable("orders", created)) ==
        ChangeAnswer{ChangeOutcome::kInUse, created});
  CHECK(Read(world.first()).tables.at("orders").revision == created);
  CHECK_FALSE(KeepAlive(**table, a));
  CHECK(Read(**table).sets.at(3) == Recorded<RangeRecord>{OnlyIn("one"), set});
  CHECK(Acquire(**table, a, 3).epoch == epoch);

  REQUIRE_FALSE(Leave(**table, a));
  Make(world.second(), DropTable("orders", created));
  CHECK(Read(world.first()) == RegistryTable{});
  // An object of the former table cannot be a second owner of the next one.
  Make(world.first(), CreateTable("orders", {}));
  const auto next = world.second().registry()->OpenTable("orders");
  REQUIRE(next);
  const SessionId b = Join(**next, "b:1");
  CHECK(Take(**next, b, 3) > epoch);
  CHECK(Acquire(**table, a, 3).ec);
  const SessionId late = Join(**table, "a:1");
  CHECK(Acquire(**table, late, 3).epoch == std::nullopt);
}

TEMPLATE_TEST_CASE("a drop that is refused or repeated leaves the next table alone", "[registry]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  const Revision former = Make(world.first(), CreateTable("orders", {}));
  Make(world.first(), DropTable("orders", former));
  Make(world.first(), DropTable("orders", former));  // its answer was lost
  const Revision created = Make(world.second(), CreateTable("orders", {}));
  const auto table = world.second().registry()->OpenTable("orders");
  REQUIRE(table);
  const Revision config = Make(**table, ChangeConfig({}, 0));
  CHECK(Judge(world.first(), DropTable("orders", former)) ==
        ChangeAnswer{ChangeOutcome::kChanged, created});
  CHECK(Read(world.first()).tables.at("orders").revision == created);
  CHECK(Read(**table).config == Recorded<ClusterConfig>{{}, config});
  Make(world.second(), DropTable("orders", created));
  CHECK(Judge(world.first(), DropTable("orders", created)) ==
        ChangeAnswer{ChangeOutcome::kDone, 0});
}

TEMPLATE_TEST_CASE("a table that is listed after it was opened is dropped", "[registry]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  const auto table = world.first().registry()->OpenTable("t17");
  REQUIRE(table);
  const SessionId a = Join(**table, "a:1");
  Make(**table, ChangeConfig({}, 0));
  const Revision created = Make(world.second(), CreateTable("t17", {}));
  CHECK(Judge(world.second(), DropTable("t17", created)) ==
        ChangeAnswer{ChangeOutcome::kInUse, created});
  REQUIRE_FALSE(Leave(**table, a));
  Make(world.second(), DropTable("t17", created));
  CHECK(Read(world.first()) == RegistryTable{});
  const auto next = world.first().registry()->OpenTable("t17");
  REQUIRE(next);
  CHECK(Read(**next) == RegistryTable{});
}

TEMPLATE_TEST_CASE("a table that nobody opened is dropped", "[registry]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  const Revision created = Make(world.first(), CreateTable("a_b", {}));
  Make(world.second(), DropTable("a_b", created));
  CHECK(Read(world.first()) == RegistryTable{});
}

}  // namespace stout::test
