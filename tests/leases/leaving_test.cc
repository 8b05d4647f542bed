// Datalets that are removed while they are in for ranges, or are lazy.

#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "datalets.h"
#include "known_datalets.h"
#include "registration.h"
#include "registry_test_support.h"
#include "stout/adapters/memory_store.h"
#include "stout/in_process_leases.h"
#include "tests/support/scripted_store.h"

namespace stout::test {
namespace {

constexpr TimePoint kBegin{1h};
const Datalet kLeaving{.url = "redis://h:1", .leaving = true};

TEST_CASE("a datalet that is leaving loses its place, and gets it back", "[members]") {
  using Ids = std::vector<std::string>;
  KnownDatalets known(15min);
  const RangeRecord both{.members = {{"a", true}, {"x", true}}};
  Datalet x = kLeaving;
  known.Learn({{"a", {{.url = "redis://h:2"}, 1}}, {"x", {x, 2}}}, kBegin);
  CHECK(known.Wanted(0, both, 2, kBegin) == Ids{"a"});
  x.leaving = false;
  known.Learn({{"a", {{.url = "redis://h:2"}, 1}}, {"x", {x, 3}}}, kBegin);
  Ids wanted = known.Wanted(0, both, 2, kBegin);
  std::sort(wanted.begin(), wanted.end());
  CHECK(wanted == Ids{"a", "x"});
}

TEST_CASE("the record of a datalet that is leaving goes once it is in for no range", "[members]") {
  boost::asio::thread_pool pool(1);
  InProcessLeases leases(pool.get_executor());
  Registration registration(*leases.registry());
  const SessionId session = Join(leases, "n:1");
  const Epoch epoch = Take(leases, session, 3);
  Make(leases, ChangeConfig({}, 0));
  Make(leases, AddDatalet("x", kLeaving, 0));
  const Revision set =
      Make(leases, ChangeSet(3, epoch, {.members = {{"a", true}, {"x", true}}}, 0));
  const auto tick = [&](const RegistryTable& records, Duration after) {
    registration.Tick(records, session, kBegin + after);
    return Read(leases).datalets.contains("x");
  };
  // A node that brings it does not undo the removal.
  registration.Bring({{.id = "x", .datalet = {.url = "redis://h:1"}}});
  CHECK(tick(Read(leases), 0s));
  CHECK(tick(Read(leases), 1h));
  CHECK(Read(leases).datalets.at("x").value.leaving);
  Make(leases, ChangeSet(3, epoch, {.members = {{"a", true}, {"x", false}}}, set));
  RegistryTable records = Read(leases);
  SECTION("after a pause, for ever") {
    CHECK(tick(records, 2h));
    CHECK_FALSE(tick(records, 2h + 2s));
    CHECK_FALSE(tick(Read(leases), 3h));
  }
  SECTION("not if it is in again meanwhile") {
    CHECK(tick(records, 2h));
    RegistryTable again = records;
    again.sets[3].value.members[1].in = true;
    CHECK(tick(again, 2h + 2s));
    CHECK(tick(records, 2h + 4s));
    CHECK_FALSE(tick(records, 2h + 6s));
  }
  SECTION("not if a set cannot be read") {
    records.damaged["set/7"] = {"damaged", 4};
    CHECK(tick(records, 2h));
    CHECK(tick(records, 2h + 2s));
  }
  SECTION("not if a command has taken it back") {
    RegistryChange back = AddDatalet("x", {.url = "redis://h:1"}, 0);
    back.read = records.datalets.at("x").revision;
    Make(leases, std::move(back));
    CHECK(tick(records, 2h));  // it has not heard of that yet
    CHECK(tick(records, 2h + 2s));
    CHECK(tick(Read(leases), 3h));
    CHECK(tick(Read(leases), 4h));
  }
  pool.stop();  // The session's timer would hold it for as long as a session lives.
  pool.join();
}

TEST_CASE("a lazy datalet that answers does not hide that no other does", "[members]") {
  boost::asio::thread_pool pool(1);
  MemoryStore copy(pool.get_executor());
  ScriptedStore silent;
  Datalets datalets([](const std::string&, Diagnostics*) -> Result<std::unique_ptr<Store>> {
    return Errc::kTransient;
  });
  datalets.Add("a", silent, "n:1");
  datalets.Add("copy", copy, "");
  std::map<std::string, Recorded<Datalet>> present;
  present["copy"].value.lazy = true;
  datalets.Learn(present);
  (void)datalets.Poll(1h);
  CHECK(Eventually([&] { return datalets.InVain() > 100ms; }));
  pool.join();
}

}  // namespace
}  // namespace stout::test
