// Wanted owners: the record of every registry, and the managers that place ranges by it.

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lease_fixtures.h"
#include "registry_test_support.h"
#include "stout/leases.h"

namespace stout::test {
namespace {

// Hands over what should go to another server, at once.
LeaseHandlers Ready() {
  return {.on_acquired = [](RangeId, Epoch) {},
          .on_release = [](RangeId, LeaseHandlers::Done done) { done(); },
          .on_lost = [](RangeId) {}};
}

}  // namespace

TEMPLATE_TEST_CASE("every server may name the wanted owner of a range, and the last one counts",
                   "[registry]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  RecordWatch watch(world.second());
  RegistryTable expected;
  const Revision first = Make(world.first(), WantOwner(3, "a:1"));
  expected.wanted_owners[3] = {{"a:1"}, first};
  CHECK(watch.Until(expected));
  const Revision second = Make(world.second(), WantOwner(3, "b:1"));
  CHECK(second > first);
  expected.wanted_owners[3] = {{"b:1"}, second};
  expected.wanted_owners[7] = {{"a:1"}, Make(world.first(), WantOwner(7, "a:1"))};
  CHECK(watch.Until(expected));
  CHECK(Read(world.first()) == expected);
  for (int i = 0; i < 2; ++i) Make(world.first(), WantOwner(3, std::nullopt));
  expected.wanted_owners.erase(3);
  CHECK(watch.Until(expected));
  CHECK(Change(world.first(), WantOwner(3, "")).ec == Errc::kBadOptions);
  CHECK(Read(world.second()) == expected);
}

TEMPLATE_TEST_CASE("a range is at its wanted owner while that is a member", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  boost::asio::thread_pool pool(1);
  TableWatch watch(world.first());
  const auto until_at = [&](const std::string& owner) {
    return watch.Until([&](const LeaseTable& table) {
      return table.ranges.size() == kRanges && table.ranges[5] && table.ranges[5]->address == owner;
    });
  };
  const auto member = [&](LeaseService& service, const std::string& address) {
    return std::make_unique<LeaseManager>(pool.get_executor(), service,
                                          LeaseMember{address, kRanges, 10s}, Ready());
  };
  const std::vector<std::string> members = {"a:1", "b:1"};
  const std::size_t owner = RightfulOwners(members, kRanges).at(5);
  const std::string usual = members[owner];
  const std::string other = members[1 - owner];
  auto stays = member(world.first(), usual);
  auto goes = member(world.second(), other);
  Make(world.first(), WantOwner(5, other));
  stays->Start();
  CHECK(until_at(usual));
  goes->Start();
  CHECK(until_at(other));
  const auto leave = [](LeaseManager& manager) {
    Answer<Done> left;
    manager.Leave([done = left.template Handler<ErrorCode>()]() mutable { done({}); });
    left.Get();
  };
  leave(*goes);
  CHECK(until_at(usual));
  auto again = member(world.second(), other);
  again->Start();
  CHECK(until_at(other));
  Make(world.second(), WantOwner(5, std::nullopt));
  CHECK(until_at(usual));
  leave(*again);
  leave(*stays);
  pool.stop();
  pool.join();
}

}  // namespace stout::test
